"""The records of the Budget page's player agree with the run: trees, widths, places, points."""

from __future__ import annotations

from collections import deque

import pytest

from graftviz.learners.bounded_inference import BoundedInference
from graftviz.learners.nodewise_l1 import NodewiseL1
from graftviz.player.budget_records import BoundedProgress
from graftviz.runs import Run
from graftviz.ui.budget.state import BudgetMaterial, dense_material, pathing, run_progress


@pytest.fixture(scope="module")
def source() -> BudgetMaterial:
    return dense_material(1, variables=7, rows=200)


@pytest.fixture(scope="module")
def progress(source: BudgetMaterial) -> BoundedProgress:
    found: BoundedProgress = deque(
        run_progress(source, BoundedInference("treewidth", 2.0)), maxlen=1
    )[0]
    return found


def test_the_records_follow_the_run(source: BudgetMaterial, progress: BoundedProgress) -> None:
    run = Run(source.material.train, BoundedInference("treewidth", 2.0), seed=0)
    while run.advance():
        pass
    assert [tuple(step["edge"]) for step in progress.steps[1:]] == [
        step.activated[0][:2] for step in run.steps
    ]
    for record, step in zip(progress.steps[1:], run.steps, strict=True):
        complexity = step.complexity
        assert complexity is not None
        assert record["value"] == complexity.value <= 2
        assert len(record["cliques"][record["lit"]]) == record["width"] + 1
        assert record["infeasible"] == complexity.infeasible
        names = source.material.train.names
        assert all(names[i] in record["words"] for i in record["edge"])
    assert run.outcome is not None
    assert progress.infeasible == run.outcome.infeasible
    assert progress.point is not None
    assert progress.point.edges == len(progress.steps) - 1
    assert progress.stop


def test_a_tree_holds_every_edge_and_stays_connected_for_every_variable(
    source: BudgetMaterial, progress: BoundedProgress
) -> None:
    edges: list[list[int]] = []
    for before, record in zip(progress.steps, progress.steps[1:], strict=False):
        edges.append(record["edge"])
        cliques = [set(clique) for clique in record["cliques"]]
        assert all(any(set(edge) <= clique for clique in cliques) for edge in edges)
        assert set(record["edge"]) <= cliques[record["lit"]] or not any(
            len(clique) == len(cliques[record["lit"]]) and set(record["edge"]) <= clique
            for clique in cliques
        )
        for i in range(7):
            holders = {c for c, clique in enumerate(cliques) if i in clique}
            joined = sum(a in holders and b in holders for a, b in record["links"])
            assert joined == len(holders) - 1
        for clique, kin in zip(record["cliques"], record["from"], strict=True):
            shared = [len(set(clique) & set(other)) for other in before["cliques"]]
            assert shared[kin] == max(shared)


def test_the_path_begins_with_the_truth_and_goes_down_in_lambda(source: BudgetMaterial) -> None:
    path = deque(pathing(source, 0.0, "exact"), maxlen=1)[0]
    first, *rest = path.points
    assert first.family == "truth"
    assert source.model is not None
    assert first.edges == len(source.model.edges)
    lams = [point.setting for point in rest]
    assert lams == sorted(lams, reverse=True)
    assert all(point.family == "l1" for point in rest)
    assert NodewiseL1(lam=lams[-1])  # a λ that the learner would take
