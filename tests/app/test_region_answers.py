"""Certified regions of selected nodes: bounds, steps and replies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import Idle, finished_run
from learner_cases import followers_table

from graftviz import (
    BestChoice,
    ChowLiu,
    DiscreteTable,
    EdgeGrafting,
    FeatureGrafting,
    InputError,
    NodewiseL1,
    PairwiseMRF,
    Run,
)
from graftviz.app import runs
from graftviz.app.material import prepare
from graftviz.app.runs import PlayerRun
from graftviz.data.sets.dataset import DataSet
from graftviz.data.synthetic.potentials import joint_probabilities, joint_states
from graftviz.inference.local.local_model import CUTS
from graftviz.learning.base import Learner
from graftviz.reports.replay.records import answer
from graftviz.reports.words import regions
from graftviz.reports.words.regions import certified_region, region_settings

N = 9
SLACK = 1e-9  # floating point


LEARNERS: dict[str, Learner] = {
    "paper": BestChoice(preset="paper", lam=1e-3, lam2=0.03, max_edges=14),
    "strong": BestChoice(preset="paper", lam=1e-4, lam2=1e-4, max_edges=12),
    "best": BestChoice(),
    "rows": EdgeGrafting(preset="paper", objective="pseudo-likelihood", lam=2e-3, max_edges=8),
    "tree": ChowLiu(),
    "path": NodewiseL1(),
    "features": FeatureGrafting(),
}


def finished(learner: Learner, table: DiscreteTable) -> Run:
    return finished_run(table, learner, seed=0)


@pytest.fixture(scope="module", params=LEARNERS)
def run(request: pytest.FixtureRequest) -> Run:
    return finished(LEARNERS[request.param], followers_table(N, 600))


def model_at(run: Run, t: int) -> PairwiseMRF:
    """Return the model after a step of a finished run; after the last step, the final model."""
    history = run.outcome.history
    return history.state_at(len(history.counts) if t == len(run.steps) else t).model


def true_marginals(model: PairwiseMRF) -> list[np.ndarray]:
    states, weights = joint_states(model), joint_probabilities(model)
    return [
        np.bincount(codes, weights, minlength=int(size))
        for codes, size in zip(states, model.cardinalities, strict=True)
    ]


def some_steps(run: Run) -> list[int]:
    last = len(run.steps)
    return sorted({0, last // 2, last})


@pytest.mark.parametrize("cut", CUTS)
def test_error_of_answer_never_exceeds_its_bound(
    run: Run, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, tolerance in ((3, 0.05), (16, 0.001)):
        monkeypatch.setattr(regions, "MAX_SIZE", most)
        for t in some_steps(run):
            truth = true_marginals(model_at(run, t))
            for i in range(N):
                reply = certified_region(run, i, t, cut=cut, tolerance=tolerance)
                marginal = np.array(reply["marginal"])
                assert abs(marginal.sum() - 1.0) < 1e-9
                assert np.abs(marginal - truth[i]).max() <= reply["bound"] + SLACK
                assert len(reply["nodes"]) <= most
                assert reply["bound"] == reply["bounds"][reply["size"] - 1]
                assert reply["bound"] == min(reply["bounds"]) or reply["verdict"] == "none"
                assert (reply["verdict"] == "certified") == (reply["bound"] <= tolerance)
                assert np.allclose(reply["exact"], truth[i], atol=1e-6)


def test_region_depends_on_step(run: Run) -> None:
    for t in some_steps(run):
        edges = {tuple(edge) for edge in model_at(run, t).edges.tolist()}
        for i in range(N):
            reply = certified_region(run, i, t)
            nodes = reply["nodes"]
            assert (reply["node"], reply["t"], nodes[0]) == (i, t, i)
            assert len(set(nodes)) == len(nodes) == len(reply["bounds"])
            # Every node is a neighbour of an earlier one.
            for at in range(1, len(nodes)):
                assert any((min(a, nodes[at]), max(a, nodes[at])) in edges for a in nodes[:at])
            if t == 0:
                assert reply["headline"].startswith("Exact: this variable has no edges")


def test_regions_have_the_documented_keys() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "player.md").read_text("utf-8")
    table = text.split("has an object `region`")[1].split("| --- | --- |")[1].split("\n\n")[0]
    keys = {key for line in table.splitlines() for key in re.findall(r"`(\w+)`", line[:40])}
    run = finished(LEARNERS["paper"], followers_table(N, 600))
    assert set(certified_region(run, 0, 2)) == keys


def test_deterministic_variables_have_valid_regions() -> None:
    codes = np.tile(np.array([[0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1], [2, 2, 0, 0]]), (40, 1))
    run = finished(ChowLiu(), DiscreteTable.from_codes(codes))
    assert model_at(run, len(run.steps)).weights.min() < -9
    for t in range(len(run.steps) + 1):
        truth = true_marginals(model_at(run, t))
        for i in range(4):
            for cut in CUTS:
                reply = answer(run, {"kind": "node", "i": i, "t": t, "region": {"cut": cut}})
                reply = json.loads(json.dumps(reply, allow_nan=False))["region"]
                error = np.abs(np.array(reply["marginal"]) - truth[i]).max()
                assert error <= reply["bound"] + 1e-5  # records have six digits


@pytest.mark.parametrize("wish", [None, [], {"cut": "saw"}, {"tolerance": "1"}, {"tolerance": 0}])
def test_invalid_region_settings_give_error_beside_the_answer(wish: Any) -> None:
    run = finished(LEARNERS["paper"], followers_table(N, 600))
    reply = answer(run, {"kind": "node", "i": 2, "t": 3, "region": wish})
    assert reply["region"]["error"].endswith(".")
    assert reply["name"] == run.table.names[2]
    with pytest.raises(InputError):
        certified_region(run, 2, 3, **region_settings(wish))


def test_regions_are_cached_until_final_fit_of_last_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grown: list[int] = []

    def counted(run: Run, question: Any) -> Any:
        grown.append(question["t"])
        return answer(run, question)

    monkeypatch.setattr(runs, "answer", counted)
    run = Run(followers_table(N, 600), LEARNERS["best"], seed=0)
    answers = PlayerRun(run, prepare(DataSet("d", "d", run.table, None, None, ""), 0), "t", Idle())
    request = {"kind": "node", "i": 1, "t": 1, "region": {"cut": "drop"}}
    run.advance()
    monkeypatch.setattr(runs, "compiled", _event(False))
    assert answers.answer(request)["region"]["again"]
    assert answers.answer(request)["name"] == run.table.names[1]
    monkeypatch.setattr(runs, "compiled", _event(True))
    grown.clear()
    first = answers.answer(request)
    assert answers.answer(dict(request)) is first
    assert grown == [1]
    while run.advance():
        pass
    answers.answer({**request, "t": len(run.steps)})
    assert grown == [1, len(run.steps)]
    assert answers.answer(request)["region"] == first["region"]


def _event(is_set: bool) -> Any:
    event = runs.threading.Event()
    if is_set:
        event.set()
    return event
