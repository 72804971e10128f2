"""Bounded inference: the bound holds, the edge is the best one, the fit is a maximum."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path

import naive_bounded
import networkx as nx
import numpy as np
import pytest
from fakes import finished_run
from inference_cases import random_edges
from learner_cases import drain, mixed_table, scale_free_table

from graftviz import BoundedInference, DiscreteTable, InputError, PairwiseMRF, infer, learn
from graftviz.inference.exact.ordering import (
    eliminated,
    greedy_elimination,
    junction_tree_of,
    neighbour_lists,
)
from graftviz.learning.bounded.clique_tables import EdgePenalty
from graftviz.learning.bounded.feasibility import (
    independent_gradients,
    is_too_dense,
    keeps_width,
    update_gradients,
)
from graftviz.learning.bounded.likelihood_fit import LikelihoodFit, Targets, match_moments
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.trace import Remark
from graftviz.reports.files.run_folder import result_json
from graftviz.reports.words.answers import why_not
from graftviz.reports.words.steps import outcome_words, step_words

MEASURES = {
    "treewidth": 2.0,
    "circuit-size": 400.0,
    "bp-sweeps": 9.0,
    "trbp-sweeps": 11.0,
    "seconds": 30.0,
}


def small_table(n: int = 6, rows: int = 400, seed: int = 4) -> DiscreteTable:
    """Return a ring of variables of two and three states in which neighbours depend."""
    rng = np.random.default_rng(seed)
    sizes = np.array([2, 3] * n)[:n]
    codes = np.cumsum(rng.random((rows, n)) < 0.4, axis=1) % sizes
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


# The bound.


@pytest.mark.parametrize("measure", MEASURES)
def test_no_step_exceeds_bound(measure):
    learner = BoundedInference(complexity=measure, bound=MEASURES[measure])
    run = drain(small_table(), learner)
    assert run.steps
    sizes = run.table.cardinalities.tolist()
    for step in run.steps:
        known, model = step.complexity, step.model()
        assert known.value <= known.bound == MEASURES[measure]
        order, edges = known.order.tolist(), model.edges.tolist()
        assert naive_bounded.width(len(sizes), edges, order) == known.width
        if measure == "circuit-size":
            assert naive_bounded.circuit_size(sizes, edges, order) == known.value
        elif measure.endswith("sweeps"):
            method = measure.removesuffix("-sweeps")
            found = infer(model, method, tolerance=1e-6, max_sweeps=int(known.bound))
            assert found.converged
            assert found.sweeps == known.value


@pytest.mark.parametrize("bound", [1, 2])
def test_count_of_infeasible_pairs_matches_stop_reason(bound):
    result = learn(scale_free_table(15, 3, 1000), BoundedInference(bound=bound))
    reason = result.trace.outcome.stop_reason
    assert reason.kind == "bounded.none_left"
    count = reason.values["refused"].values["count"]
    last = result.trace[-1].complexity
    assert result.trace.outcome.infeasible == count > last.infeasible
    assert json.loads(result_json(result))["complexity"]["infeasible"] == count


def test_pair_refused_after_fit_is_undone():
    """Check that a fit of the accepted edges alone gives the same objective."""
    learner = BoundedInference(complexity="trbp-sweeps", bound=11)
    run = drain(small_table(), learner)
    assert any(step.complexity.newly_infeasible for step in run.steps)
    targets = Targets(counted(run.table), 1.0)
    fit = LikelihoodFit(targets)
    for i, j in run.outcome.model().edges.tolist():
        fit.add_edge(i, j, greedy_elimination(np.vstack([fit.edges, [[i, j]]]), fit.cardinalities))
    assert fit.fit(1e-10).objective == pytest.approx(run.outcome.objective, abs=1e-9)


def sweeps_with(model: PairwiseMRF, pair: tuple[int, int], most: int) -> float:
    """R of algorithm 1: sweeps at the current weights, zero for one more edge."""
    size = int(model.cardinalities[list(pair)].prod())
    edges, weights = np.vstack([model.edges, [pair]]), np.append(model.weights, np.zeros(size))
    larger = PairwiseMRF(model.cardinalities, edges, weights)
    found = infer(larger, "trbp", tolerance=1e-6, max_sweeps=most + 1)
    return found.sweeps if found.converged else np.inf


@pytest.mark.parametrize("bound", [8, 10])
def test_literal_step_takes_largest_gradient_of_all_pairs_within_bound(bound):
    table = small_table()
    run = drain(
        table,
        BoundedInference(complexity="trbp-sweeps", bound=bound, literal=True, max_edges=9),
    )
    seen = naive_bounded.targets(table.codes, table.cardinalities.tolist(), 1.0)
    again = 0
    models = [run.outcome.history.state_at(0).model, *run.models]
    for k, model in enumerate(models):
        marginals = naive_bounded.pair_marginals(model)
        inside = set(map(tuple, model.edges.tolist()))
        outside = [
            p for p in itertools.combinations(range(table.n_variables), 2) if p not in inside
        ]
        outside.sort(key=lambda p: -np.linalg.norm(marginals[p] - seen[p]))
        feasible = (pair for pair in outside if sweeps_with(model, pair, bound) <= bound)
        chosen = next(feasible, None)
        if k < len(run.steps):
            assert run.steps[k].activated[0][:2] == chosen
            again += chosen != outside[0]
        elif len(inside) < 9:
            assert chosen is None
    assert again > 0  # pairs were refused


def test_fit_without_maximum_is_reported():
    codes = np.random.default_rng(7).integers(0, 2, size=(12, 8))
    table = DiscreteTable.from_codes(codes, cardinalities=[2] * 8)
    run = drain(table, BoundedInference(pseudo_count=0.0, bound=3))
    assert run.outcome.kkt_residual > 1e-7
    assert not run.outcome.converged
    assert run.outcome.stop_reason.kind == "bounded.unfitted"
    unfitted = {step.index for step in run.steps if step.kkt_residual > 1e-7}
    assert unfitted == {
        step.index for step in run.steps if "notes.unfitted" in {note.kind for note in step.notes}
    }
    fitted = drain(table, BoundedInference(bound=3))
    assert fitted.outcome.converged
    assert not any(note.kind == "notes.unfitted" for step in fitted.steps for note in step.notes)


def weight_norm(model: PairwiseMRF) -> float:
    return float(np.linalg.norm(model.weights[model.node_offsets[-1] :]))


def test_complexity_may_be_a_function_of_the_model():
    table, bound = small_table(), 5.0
    learner = BoundedInference(complexity=weight_norm, bound=bound)
    run = drain(table, learner)
    free = drain(table, BoundedInference(bound=5))
    assert 0 < len(run.steps) < len(free.steps)
    for step in run.steps:
        assert step.complexity.value == weight_norm(step.model()) <= bound
    assert run.outcome.infeasible
    reason = run.outcome.stop_reason
    assert reason.kind == "bounded.none_left"
    assert (reason.values["measure"], reason.values["bound"]) == ("weight_norm", 5.0)
    assert "keep the weight_norm at or below 5" in step_words(run.steps[0], learner, table.names)
    record = json.loads(result_json(learn(table, learner)))
    assert record["options"]["complexity"] == record["complexity"]["measure"] == "weight_norm"


def test_invalid_functions_are_refused():
    table = small_table()
    with pytest.raises(InputError, match="No bound is given for the complexity weight_norm"):
        learn(table, BoundedInference(complexity=weight_norm))
    for value in (None, "long", float("nan")):
        with pytest.raises(InputError, match=f"must be a number, not {value!r}"):
            learn(table, BoundedInference(complexity=lambda _, value=value: value, bound=1))
    with pytest.raises(InputError, match="must be one of treewidth, bp-sweeps"):
        BoundedInference(complexity="weight_norm")


def test_exact_inference_is_not_replaced_if_it_is_asked_for():
    learner = BoundedInference(bound=5, exact_limit=60, inference="exact")
    run = drain(small_table(), learner)
    assert {step.complexity.inference for step in run.steps} == {"exact"}
    assert all(
        eliminated(step.model().edges, run.table.cardinalities, step.complexity.order).entries <= 60
        for step in run.steps
    )
    assert run.outcome.infeasible


def test_example_of_the_documentation_runs(capsys, monkeypatch):
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "methods" / "bounded-inference.md").read_text(encoding="utf-8")
    source, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.S).groups()
    monkeypatch.chdir(root)
    exec(compile(source, "<bounded-inference.md>", "exec"), {})  # the project's own text
    assert capsys.readouterr().out == shown


# The choice.


@pytest.mark.parametrize(("bound", "seed"), [(1, 0), (2, 1), (2, 2), (3, 3)])
def test_chosen_edge_has_largest_gradient_among_feasible_edges(bound, seed):
    table = small_table(seed=seed)
    run = drain(table, BoundedInference(bound=bound))
    n, sizes = table.n_variables, table.cardinalities.tolist()
    seen = naive_bounded.targets(table.codes, sizes, 1.0)
    order = list(range(n))
    steps = [*run.steps, None]
    for k, step in enumerate(steps):
        before = run.steps[k - 1].model() if k else run.outcome.history.start
        edges = before.edges.tolist()
        marginals = naive_bounded.pair_marginals(before)
        norms = {
            pair: float(np.linalg.norm(marginals[pair] - seen[pair]))
            for pair in seen
            if list(pair) not in edges
        }
        feasible = [
            pair
            for pair, norm in norms.items()
            if norm > 1e-5
            and (
                naive_bounded.width(n, [*edges, pair], order) <= bound
                or naive_bounded.min_fill_fits(n, [*edges, pair], bound)
            )
        ]
        if step is None:
            assert feasible == []
            break
        best = max(feasible, key=norms.get)
        assert step.activated[0][:2] == best
        assert step.activated[0].score == pytest.approx(norms[best], abs=1e-6)
        order = step.complexity.order.tolist()


def test_feasible_pairs_are_those_within_treewidth():
    """Check that min-fill refuses nothing that an order allows, on small graphs."""
    run = drain(small_table(), BoundedInference(bound=2))
    edges, n = run.outcome.model().edges.tolist(), run.table.n_variables
    assert naive_bounded.treewidth(n, edges) == 2
    for pair in itertools.combinations(range(n), 2):
        if list(pair) not in edges:
            assert naive_bounded.treewidth(n, [*edges, pair]) > 2


def test_check_of_one_edge_matches_new_elimination():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 10))
        edges, order = random_edges(n, 0.3, rng), rng.permutation(n)
        found = eliminated(edges, np.full(n, 2), order)
        assert found.width == naive_bounded.width(n, edges.tolist(), order.tolist())
        starts, neighbours = neighbour_lists(n, edges)
        room, merged = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
        for i, j in itertools.combinations(range(n), 2):
            if [i, j] in edges.tolist():
                continue
            extended = [*edges.tolist(), (i, j)]
            wanted = naive_bounded.width(n, extended, order.tolist())
            limit = int(found.width + rng.integers(0, 2))
            place, scopes = found.place, found.scopes
            is_feasible = keeps_width(place, found.starts, scopes, i, j, limit, room, merged)
            assert is_feasible == (wanted <= limit)
            greedy = greedy_elimination(np.array(extended), np.full(n, 2), most=limit)
            assert (greedy is not None) == naive_bounded.min_fill_fits(n, extended, limit)
            assert greedy is None or greedy.width <= limit
            if is_too_dense(starts, neighbours, i, j, limit, room[:n], merged[:n]) and n <= 6:
                assert naive_bounded.treewidth(n, extended) > limit


# The fit.


def counted(table: DiscreteTable) -> PairCounts:
    counts = PairCounts(table)
    counts.count_all()
    return counts


@pytest.mark.parametrize("lam2", [0.0, 0.02])
def test_fit_is_maximum_and_gradients_match_enumeration(lam2):
    table = mixed_table(6)
    sizes, rng = table.cardinalities, np.random.default_rng(1)
    targets = Targets(counted(table), 1.0)
    seen = naive_bounded.targets(table.codes, sizes.tolist(), 1.0)
    fit, last = LikelihoodFit(targets, EdgePenalty(lam2)), np.inf
    gradients = independent_gradients(targets)
    for i, j in [(0, 1), (1, 2), (0, 4), (2, 4), (0, 2)]:
        edges = np.vstack([fit.edges, [[i, j]]])
        fit.add_edge(i, j, eliminated(edges, sizes.astype(np.int64), rng.permutation(6)))
        found = fit.fit(1e-9, around=i)
        assert found.objective <= last
        last = found.objective
        model = PairwiseMRF(sizes, fit.edges, np.concatenate([fit.node_weights, fit.edge_weights]))
        loss = naive_bounded.mean_loss(model, seen) + lam2 * float((fit.edge_weights**2).sum())
        assert found.objective == pytest.approx(loss, abs=1e-9)
        marginals = naive_bounded.pair_marginals(model)
        for e, pair in enumerate(map(tuple, fit.edges.tolist())):
            gap = marginals[pair] - seen[pair] + 2 * lam2 * model.edge_weights(e)
            assert np.linalg.norm(gap) <= 2e-9
        update_gradients(gradients, targets, fit.tables, int(fit.elimination.place[i]))
        for pair, marginal in marginals.items():
            norm = np.linalg.norm(marginal - seen[pair])
            assert gradients[pair] == gradients[pair[::-1]] == pytest.approx(norm, abs=1e-8)


def least_subgradient(gap, weights, lam2, lam1, norm):
    """Return the element of the subdifferential with the least norm, by its definition."""
    slope = gap + 2 * lam2 * weights
    if norm == "feature":
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - lam1, 0.0)
        return np.where(weights == 0.0, at_zero, slope + lam1 * np.sign(weights))
    size = np.linalg.norm(weights)
    if size > 0.0:
        return slope + lam1 * weights / size
    return slope * max(0.0, 1.0 - lam1 / max(np.linalg.norm(slope), 1e-300))


@pytest.mark.parametrize("norm", ["group", "feature"])
@pytest.mark.parametrize("lam2", [0.0, 0.01])
def test_l1_fit_meets_optimality_conditions_of_all_pairs(norm, lam2):
    table, lam1 = small_table(), 0.02
    learner = BoundedInference(bound=5, lam1=lam1, lam2=lam2, norm=norm)
    run = drain(table, learner)
    seen = naive_bounded.targets(table.codes, table.cardinalities.tolist(), 1.0)
    model = run.outcome.model()
    marginals = naive_bounded.pair_marginals(model)
    active = {pair: e for e, pair in enumerate(map(tuple, model.edges.tolist()))}
    assert 0 < len(active) < len(marginals)  # the penalty leaves pairs out; the bound does not
    assert run.outcome.infeasible == 0
    for pair, marginal in marginals.items():
        gap = marginal - seen[pair]
        weights = model.edge_weights(active[pair]) if pair in active else np.zeros(gap.shape)
        assert np.linalg.norm(least_subgradient(gap, weights, lam2, lam1, norm)) <= 2e-6
    if norm == "feature":
        assert (np.concatenate([model.edge_weights(e).ravel() for e in active.values()]) == 0).any()
    objectives = [step.objective for step in run.steps]
    assert (np.diff(objectives) <= 1e-9).all()
    free = drain(table, BoundedInference(bound=5, lam2=lam2))
    assert len(run.steps) < len(free.steps)


def test_small_steps_keep_active_gradients_at_gradient_of_new_edge():
    table = small_table()
    sizes = table.cardinalities.tolist()
    seen = naive_bounded.targets(table.codes, sizes, 1.0)
    run = drain(table, BoundedInference(bound=5, stage_step=0.02, max_edges=8))
    before = np.inf
    for step in run.steps:
        model = step.model()
        marginals = naive_bounded.pair_marginals(model)
        gradients = {pair: np.linalg.norm(marginals[pair] - seen[pair]) for pair in marginals}
        (i, j, score), *_ = step.activated
        edges = set(map(tuple, model.edges.tolist()))
        assert (i, j) in edges
        # The nodes are fitted last, which moves the gradients of edges a little.
        assert max(gradients[pair] for pair in edges) <= 1.02 * score
        assert step.kkt_residual == pytest.approx(max(gradients[pair] for pair in edges), rel=1e-6)
        for i, marginal in enumerate(infer(model, "exact").node):
            assert np.allclose(marginal, table.state_counts(i) / table.n_rows, atol=1e-7)
        assert step.objective == pytest.approx(naive_bounded.mean_loss(model, seen), abs=1e-9)
        assert step.objective < before
        before = step.objective
    # The model is close to that of the group-ℓ₁ penalty with the last gradient as λ₁.
    penalised = drain(table, BoundedInference(bound=5, lam1=float(score))).outcome.model()
    other = naive_bounded.pair_marginals(penalised)
    assert max(np.abs(marginals[pair] - other[pair]).max() for pair in marginals) < 0.01


def test_small_steps_and_a_penalty_are_not_combined():
    with pytest.raises(InputError, match="Use stage_step, or lam1 and lam2"):
        learn(small_table(), BoundedInference(stage_step=0.1, lam1=0.1))


@pytest.mark.parametrize("method", ["bp", "trbp"])
def test_matched_moments_equal_inferred_marginals(method):
    table = small_table(rows=2000)
    targets = Targets(counted(table), 1.0)
    edges = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)])
    found = match_moments(targets, edges, method)
    weights = np.concatenate([found.node_weights, found.edge_weights])
    beliefs = infer(PairwiseMRF(table.cardinalities, edges, weights), method, tolerance=1e-12)
    assert np.allclose(np.concatenate(beliefs.node), targets.nodes, atol=1e-8)
    for belief, (i, j) in zip(beliefs.edge, edges.tolist(), strict=True):
        assert np.allclose(belief, targets.pair(i, j), atol=1e-8)
    mean = found.node_weights @ targets.nodes + sum(
        float((targets.pair(i, j).reshape(-1) * w).sum())
        for (i, j), w in zip(edges.tolist(), split(found.edge_weights, table, edges), strict=True)
    )
    assert found.objective == pytest.approx(beliefs.log_partition - mean, abs=1e-8)


def split(flat: np.ndarray, table: DiscreteTable, edges: np.ndarray) -> list[np.ndarray]:
    sizes = table.cardinalities[edges].prod(axis=1)
    return np.split(flat, np.cumsum(sizes)[:-1])


@pytest.mark.parametrize(
    ("method", "name"), [("bp", "Bethe likelihood"), ("trbp", "tree-reweighted likelihood")]
)
def test_chosen_inference_replaces_exact_one_beyond_limit_with_a_note(method, name):
    learner = BoundedInference(bound=5, exact_limit=60, inference=method)
    run = drain(small_table(), learner)
    sources = [step.complexity.inference for step in run.steps]
    exact = sources.count("exact")
    assert 0 < exact < len(sources)
    assert sources == ["exact"] * exact + [method] * (len(sources) - exact)
    (note,) = [note for step in run.steps for note in step.notes]
    assert note == Remark("notes.not_exact", {"limit": 60, "objective": name})
    assert run.outcome.objective_name == name
    assert all(step.complexity.width <= 5 for step in run.steps)
    if method == "bp":
        assert all(step.objective <= step.previous_objective for step in run.steps)
    # With a penalty there is no closed form, so such pairs are refused.
    penalised = drain(small_table(), dataclasses.replace(learner, lam2=0.01))
    assert {step.complexity.inference for step in penalised.steps} == {"exact"}
    assert penalised.outcome.objective_name == "exact likelihood"


# Refusals and texts.


def test_bounds_that_allow_no_edges_are_reported():
    table = small_table()
    with pytest.raises(InputError, match="of a model without edges"):
        next(BoundedInference(complexity="circuit-size", bound=5).steps(table))
    with pytest.raises(InputError, match="bound"):
        BoundedInference(bound=-1.0)
    nothing = drain(table, BoundedInference(bound=0))
    assert nothing.steps == []
    assert nothing.outcome.stop_reason.kind == "bounded.zero"
    none = drain(table, BoundedInference(complexity="circuit-size", bound=15))
    assert none.steps == []
    assert none.outcome.stop_reason.kind == "bounded.no_order"
    assert none.outcome.stop_reason.values["bound"] == 15


def test_run_continues_with_changed_bound():
    table = small_table()
    steps = BoundedInference(bound=3).steps(table)
    first = [next(steps) for _ in range(10)][-1]
    assert first.complexity.width == 3
    with pytest.raises(StopIteration) as stop:
        steps.send(BoundedInference(bound=1))
    values = {"measure": "treewidth", "bound": 1.0}
    assert stop.value.value.stop_reason == Remark("bounded.exceeds", values)
    steps = BoundedInference(bound=1).steps(table)
    for _ in range(table.n_variables - 1):
        next(steps)
    grown = steps.send(BoundedInference(bound=2, lam2=0.01))
    assert grown.n_edges == table.n_variables
    assert grown.complexity.bound == 2
    assert grown.kkt_residual < 1e-6


def test_steps_pairs_and_results_are_described():
    table = small_table()
    learner = BoundedInference(bound=2, max_edges=8)
    run = finished_run(table, learner)
    assert not run.outcome.converged
    assert "edge budget of 8" in outcome_words(run.outcome)
    words = step_words(run.steps[-1], learner, table.names)
    assert "keep the treewidth at or below 2" in words
    model = run.steps[-1].model()
    marginals = naive_bounded.pair_marginals(model)
    seen = naive_bounded.targets(table.codes, table.cardinalities.tolist(), 1.0)
    outcomes = set()
    for i, j in itertools.combinations(range(table.n_variables), 2):
        if [i, j] in model.edges.tolist():
            continue
        answer = why_not(run, i, j, len(run.steps))
        norm = float(np.linalg.norm(marginals[i, j] - seen[i, j]))
        assert answer["score"] == pytest.approx(norm, abs=1e-8)
        order = run.steps[-1].complexity.order.tolist()
        fits = naive_bounded.width(6, [*model.edges.tolist(), (i, j)], order) <= 2
        passes = "above 2" in answer["words"]
        assert not (fits and passes)
        outcomes.add(passes)
    assert outcomes == {True, False}
    record = json.loads(result_json(learn(table, learner)))
    assert record["complexity"]["order"] == run.steps[-1].complexity.order.tolist()
    assert record["complexity"]["width"] <= record["complexity"]["bound"] == 2


def test_junction_tree_of_order_has_all_edges_and_connected_variables():
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(1, 9))
        edges = random_edges(n, 0.4, rng)
        cliques, links = junction_tree_of(n, edges, rng.permutation(n))
        sets = [set(clique.tolist()) for clique in cliques]
        assert all(not a <= b for a, b in itertools.permutations(sets, 2))
        assert all(any({i, j} <= clique for clique in sets) for i, j in edges.tolist())
        tree = nx.Graph()
        tree.add_nodes_from(range(len(sets)))
        tree.add_edges_from(links.tolist())
        assert nx.is_forest(tree)
        for i in range(n):
            assert nx.is_connected(tree.subgraph([k for k, c in enumerate(sets) if i in c]))
