"""Runs of a session: credit, feeds, records, questions about them, and failures."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import Idle, finished_run
from learner_cases import followers_table
from record_checks import PLAYER, check_types, documented_keys, strict
from waiting import wait_until

from graftviz import (
    BestChoice,
    ChowLiu,
    DiscreteTable,
    EdgeGrafting,
    FeatureGrafting,
    FirstHit,
    InputError,
    NodewiseL1,
    PairwiseMRF,
    Run,
)
from graftviz.app import runs
from graftviz.app.jobs import Executor
from graftviz.app.material import prepare
from graftviz.app.runs import PlayerRun, SessionRun, to_json
from graftviz.data.sets.dataset import DataSet
from graftviz.data.synthetic.potentials import joint_probabilities, joint_states
from graftviz.inference.local.local_model import CUTS
from graftviz.learning.base import Learner
from graftviz.reports.layout import GrowingLayout
from graftviz.reports.replay.records import answer, recorded_run, run_header, step_record
from graftviz.reports.words import regions
from graftviz.reports.words.regions import certified_region, region_settings


class CountingRun(SessionRun):
    """Run of `total` steps that stores the numbers of recorded steps."""

    def __init__(self, scheduler: Executor, total: int = 30, broken_at: int = -1) -> None:
        super().__init__(None, None, "r1", scheduler.queue())  # type: ignore[arg-type]
        self.total = total
        self.broken_at = broken_at
        self.steps = 0
        self.recorded: list[int] = []

    def advance(self) -> bool:
        if self.steps == self.broken_at:
            raise KeyError("a bug")
        if self.steps == self.total:
            return False
        self.steps += 1
        return True

    def header(self) -> Mapping[str, Any]:
        assert self.steps or self.total == 0
        return {"run": "r1", "names": ["α", "</script>"]}

    def record(self, t: int) -> Mapping[str, Any]:
        self.recorded.append(t)
        return {"t": t, "words": f"step {t}"}

    def outcome(self) -> Mapping[str, Any]:
        return {"steps": self.steps}

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        if question["i"] > 5:
            raise InputError("There is no variable 6.")
        return {"t": self.steps}


@pytest.fixture
def scheduler() -> Iterator[Executor]:
    pool = Executor(threads=2)
    yield pool
    pool.close()


def feed(run: SessionRun, start: int = 1, count: int = 1000) -> dict[str, Any]:
    return dict(json.loads(run.feed_json(start, count)))


def test_credit_limits_computed_steps(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    run.grant(12)
    assert run.wait(12, 60)
    assert not run.wait(13, 0.05)
    assert run.recorded == list(range(1, 13))
    run.grant(5)
    assert not run.wait(13, 0.05)
    run.grant(20)
    assert run.wait(20, 60)
    assert not run.ended
    assert feed(run)["outcome"] is None


def test_unlimited_credit_reaches_the_outcome(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    run.grant()
    assert run.wait_for_end(60)
    whole = feed(run)
    assert [record["t"] for record in whole["records"]] == list(range(1, 31))
    assert whole["outcome"] == {"steps": 30}
    assert json.loads(str(run.header_json))["names"] == ["α", "</script>"]


def test_a_run_without_steps_has_header_and_outcome(scheduler: Executor) -> None:
    run = CountingRun(scheduler, total=0)
    run.grant(1)
    assert run.wait(1, 60)
    assert run.header_json is not None
    assert feed(run) == {"run": "r1", "from": 1, "records": [], "outcome": {"steps": 0}}


def test_feeds_start_at_any_step_and_can_be_repeated(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    run.grant()
    run.wait_for_end(60)
    part = feed(run, 11, 5)
    assert [record["t"] for record in part["records"]] == [11, 12, 13, 14, 15]
    assert part["from"] == 11
    assert part["outcome"] is None
    assert feed(run, 11, 5) == part
    beyond = feed(run, 31, 10)
    assert beyond["records"] == []
    assert beyond["outcome"] == {"steps": 30}
    assert feed(run, -3, 2)["from"] == 1
    assert feed(run, 1, -2)["records"] == []


def test_a_feed_is_bounded_in_size(scheduler: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_FEED_CHARACTERS", 100)
    run = CountingRun(scheduler)
    run.grant()
    run.wait_for_end(60)
    collected: list[int] = []
    while len(collected) < 30:
        part = feed(run, len(collected) + 1)
        assert 0 < len(part["records"]) < 10
        collected += [record["t"] for record in part["records"]]
    assert collected == list(range(1, 31))


@pytest.mark.parametrize("ends", ["with a step", "with an error"])
def test_forget_does_not_wait_for_the_current_step(scheduler: Executor, ends: str) -> None:
    begun, gate = threading.Event(), threading.Event()

    class Slow(CountingRun):
        def advance(self) -> bool:
            if self.steps == 3:
                begun.set()
                assert gate.wait(60)
            return super().advance()

    run = Slow(scheduler, broken_at=-1 if ends == "with a step" else 3)
    run.grant()
    assert begun.wait(60)
    waited = threading.Thread(target=run.wait, args=(5, 60))
    waited.start()
    run.forget()
    waited.join(60)
    assert not waited.is_alive(), "the thread still waits for a step"
    assert run.failure == runs.FORGOTTEN
    assert run.steps == 3, "the current step ended too early"
    gate.set()
    assert run.feed_json(1, 9).count('"t"') == 0
    wait_until(lambda: run._queue.running is None)
    assert run.failure == runs.FORGOTTEN
    assert run.computed == run.memory_bytes == 0
    assert run.header_json is None
    assert json.loads(run.answer_json({"kind": "node"}))["answer"] == {"error": runs.FORGOTTEN}
    run.grant()
    assert not run.has_credit


def test_answers_and_refused_questions(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    good = json.loads(run.answer_json({"kind": "node", "i": 1, "t": 3}))
    assert good["question"]["i"] == 1
    assert good["answer"] == {"t": 0}
    refused = json.loads(run.answer_json({"kind": "node", "i": 6, "t": 3}))
    assert refused["answer"] == {"error": "There is no variable 6."}


def test_number_that_json_cannot_hold_is_an_error() -> None:
    with pytest.raises(ValueError):
        to_json({"objective": float("nan")})
    assert to_json({"objective": None, "name": "α"}) == '{"objective":null,"name":"α"}'


TRUTH = [(0, 1), (1, 2), (2, 3), (0, 4)]


TABLE = followers_table(30, 500)
TRAIN, TEST = TABLE.split(test_fraction=0.2, seed=0)


def finished(learner: Any = BestChoice(max_edges=60), **settings: Any) -> Run:  # noqa: B008
    return finished_run(settings.pop("table", TRAIN), learner, **settings)


LEARNERS = [
    BestChoice(max_edges=60),
    BestChoice(alpha=0.0),
    EdgeGrafting(max_edges=40),
    FirstHit(max_edges=40),
    FeatureGrafting(max_features=40),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("knows", [True, False], ids=["truth", "no truth"])
def test_records_are_strict_json_with_the_documented_keys(learner: Any, knows: bool) -> None:
    run = finished(learner, test=TEST if knows else None, truth=TRUTH if knows else None)
    header, records, outcome = recorded_run(run, title="Sample")
    for part in (header, *records, outcome):
        strict(part)
        check_types(part)
    assert set(header) | {"ghost", "objective", "penalty"} == documented_keys("Header")
    wanted = documented_keys("Record")
    for record in records:
        assert set(record) | {"layout", "threshold"} == wanted
        assert record["words"].endswith(".")
    assert outcome is not None
    outcome_keys = re.search(r"^`\{(.+)\}`\.\n", PLAYER.split("## Outcome")[1], re.MULTILINE)
    assert outcome_keys
    assert set(outcome) == set(re.sub(r": \{.*?\}", "", outcome_keys[1]).split(", "))
    assert (records[0]["nlpl"] is None) != knows
    assert (records[0]["recall"] is None) != knows
    assert header["start"]["objective"] == pytest.approx(run.steps[0].previous_objective, rel=1e-5)
    assert [record["t"] for record in records] == list(range(1, outcome["steps"] + 1))


def test_records_suffice_to_redraw_the_run() -> None:
    run = finished(BestChoice(alpha=0.25, max_edges=60))
    active: list[list[int]] = []
    norms: dict[tuple[int, int], float] = {}
    for step, record in zip(run.steps, recorded_run(run, title="")[1], strict=True):
        active += [[i, j] for i, j, _ in record["activated"]]
        norms.update({(i, j): norm for i, j, norm in record["weights"]})
        assert active == step.active_edges().tolist()
        assert len(active) == record["edges"]
        model = step.model()
        reply = [norms[i, j] for i, j in model.edges.tolist()]
        np.testing.assert_allclose(reply, model.edge_norms(), rtol=1e-5, atol=1e-9)


def test_reservoir_records_taken_and_skipped_edges() -> None:
    run = finished(BestChoice(alpha=0.0, max_edges=60))
    skipped = 0
    for step, record in zip(run.steps, recorded_run(run, title="")[1], strict=True):
        reservoir = record["reservoir"]
        taken = [reservoir["edges"][k] for k in reservoir["taken"]]
        assert taken == [[edge.source, edge.target] for edge in step.activated]
        passed = [reservoir["edges"][k] for k in reservoir["skipped"]]
        assert passed == step.skipped_adjacent.tolist()
        assert reservoir["scores"] == sorted(reservoir["scores"], reverse=True)
        skipped += len(passed)
    assert skipped > 0


def test_key_frames_become_less_frequent() -> None:
    run = finished(EdgeGrafting(max_edges=90, preset="paper", lam=1e-6))
    header, records, _ = recorded_run(run, title="")
    frames = [record["t"] for record in records if "layout" in record]
    assert frames[0] == 1
    assert frames[-1] == 90
    assert 40 <= len(frames) <= 80
    assert max(b - a for a, b in itertools.pairwise(frames)) <= 3
    for xy in (header["layout"], *(records[t - 1]["layout"] for t in frames)):
        assert len(xy) == 2 * 30
        assert all(type(value) is int and 0 <= value <= 10_000 for value in xy)


def test_unfinished_runs_end_without_outcome() -> None:
    run = Run(TRAIN, BestChoice())
    with pytest.raises(ValueError, match="before its first step"):
        run_header(run, title="")
    run.advance()
    run.advance()
    _, records, outcome = recorded_run(run, title="")
    assert outcome is None
    assert len(records) == 2


def test_runs_that_activate_nothing_have_header_and_outcome() -> None:
    header, records, outcome = recorded_run(finished(BestChoice(lam=0.9)), title="")
    assert records == []
    assert outcome["steps"] == 0
    assert header["start"]["objective"] == outcome["objective"]


def test_true_graph_is_skeleton_of_every_layout() -> None:
    first, records, _ = recorded_run(finished(truth=TRUTH), title="")
    second, _, _ = recorded_run(finished(FirstHit(max_edges=9), truth=TRUTH), title="")
    assert first["positions"] == second["positions"]
    assert first["layout"] is None
    assert first["truth"] == sorted(map(list, TRUTH))
    assert not any("layout" in record for record in records)
    # A given layout is used nevertheless.
    run = finished(truth=TRUTH)
    assert "layout" not in step_record(run, 1, GrowingLayout(30))


def test_given_positions_take_precedence() -> None:
    places = np.linspace(0, 10_000, 60).reshape(30, 2)
    header, records, _ = recorded_run(finished(truth=TRUTH), title="", positions=places)
    np.testing.assert_allclose(header["positions"], places, rtol=1e-5)
    assert not any("layout" in record for record in records)


def test_an_empty_truth_gives_no_skeleton() -> None:
    header, records, _ = recorded_run(finished(truth=np.zeros((0, 2), dtype=int)), title="")
    assert header["truth"] == []
    assert header["positions"] is None
    assert "layout" in records[0]


def test_first_record_of_branch_has_changed_lambda() -> None:
    options = {"max_edges": 20, "group_weight": "sqrt"}
    branch = (2, BestChoice(lam=0.004, **options))
    run = finished(BestChoice(lam=0.01, **options), branch=branch)
    records = [step_record(run, t) for t in range(1, len(run.steps) + 1)]
    changed = {
        record["t"]: record["threshold"]["value"] for record in records if "threshold" in record
    }
    assert changed == {3: 0.004}


def test_header_shows_the_options_in_force() -> None:
    branch = (2, BestChoice(alpha=0.125, max_edges=20, group_weight="sqrt", lam=0.01))
    run = finished(BestChoice(max_edges=20, group_weight="sqrt", lam=0.01), branch=branch)
    text = {"t": 2, "run": "before", "text": "α 0.125"}
    header = run_header(run, title="", token="after", branch=text)
    assert header["run"] == "after"
    assert header["branch"] == text
    assert header["learner"]["options"]["alpha"] == 0.125
    assert header["learner"]["options"]["group_weight"] == "sqrt"
    assert "penalise_nodes" not in header["learner"]["options"]
    assert header["lam"] == 0.01
    assert header["learner"]["pseudocode"][0] == branch[1].code_lines[0]._asdict()
    assert "α = 0.95" in step_record(run, 2)["words"]
    assert "α = 0.125" in step_record(run, 3)["words"]


def test_nan_becomes_null() -> None:
    run = finished()
    run.metrics[0] = run.metrics[0]._replace(nlpl_test=float("inf"))
    run.steps[0] = dataclasses.replace(run.steps[0], kkt_residual=float("nan"))
    record = strict(step_record(run, 1))
    assert record["nlpl"] is None
    assert record["kkt"] is None


def test_answers_have_the_documented_keys() -> None:
    run = finished(truth=TRUTH)
    i, j = run.steps[0].activated[0][:2]
    documented_questions = {
        "node": {"kind": "node", "i": i, "t": 3},
        "edge (active)": {"kind": "edge", "i": i, "j": j, "t": 3},
        "pair (inactive)": {"kind": "pair", "i": i, "j": j, "t": 0},
    }
    for title, question in documented_questions.items():
        reply = strict(answer(run, question))
        check_types(reply)
        listed = PLAYER.split(f"* {title}: `{{")[1].split("}`")[0]
        flat = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", listed))
        keys = {part.split(":")[0].strip() for part in flat.split(",")}
        assert set(reply) == keys | {"t"}
        assert reply["t"] == question["t"]


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"kind": "graph", "i": 0, "t": 1},
        {"kind": "node", "i": "0", "t": 1},
        {"kind": "node", "i": True, "t": 1},
        {"kind": "node", "i": 0},
        {"kind": "pair", "i": 0, "t": 1},
        {"kind": "pair", "i": 0, "j": 1.5, "t": 1},
        {"kind": "edge", "i": 0, "j": 10**9, "t": 1},
    ],
)
def test_invalid_questions_are_refused(question: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        answer(finished(), question)


N = 9
SLACK = 1e-9  # floating point


ASKED_LEARNERS: dict[str, Learner] = {
    "paper": BestChoice(preset="paper", lam=1e-3, lam2=0.03, max_edges=14),
    "strong": BestChoice(preset="paper", lam=1e-4, lam2=1e-4, max_edges=12),
    "best": BestChoice(),
    "rows": EdgeGrafting(preset="paper", objective="pseudo-likelihood", lam=2e-3, max_edges=8),
    "tree": ChowLiu(),
    "path": NodewiseL1(),
    "features": FeatureGrafting(),
}


def run_on(learner: Learner, table: DiscreteTable) -> Run:
    return finished_run(table, learner, seed=0)


@pytest.fixture(scope="module", params=ASKED_LEARNERS)
def asked_run(request: pytest.FixtureRequest) -> Run:
    return run_on(ASKED_LEARNERS[request.param], followers_table(N, 600))


def model_at(asked_run: Run, t: int) -> PairwiseMRF:
    """Return the model after a step of a finished run; after the last step, the final model."""
    history = asked_run.outcome.history
    return history.state_at(len(history.counts) if t == len(asked_run.steps) else t).model


def true_marginals(model: PairwiseMRF) -> list[np.ndarray]:
    states, weights = joint_states(model), joint_probabilities(model)
    return [
        np.bincount(codes, weights, minlength=int(size))
        for codes, size in zip(states, model.cardinalities, strict=True)
    ]


def some_steps(asked_run: Run) -> list[int]:
    last = len(asked_run.steps)
    return sorted({0, last // 2, last})


@pytest.mark.parametrize("cut", CUTS)
def test_error_of_answer_never_exceeds_its_bound(
    asked_run: Run, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, tolerance in ((3, 0.05), (16, 0.001)):
        monkeypatch.setattr(regions, "MAX_SIZE", most)
        for t in some_steps(asked_run):
            truth = true_marginals(model_at(asked_run, t))
            for i in range(N):
                reply = certified_region(asked_run, i, t, cut=cut, tolerance=tolerance)
                marginal = np.array(reply["marginal"])
                assert abs(marginal.sum() - 1.0) < 1e-9
                assert np.abs(marginal - truth[i]).max() <= reply["bound"] + SLACK
                assert len(reply["nodes"]) <= most
                assert reply["bound"] == reply["bounds"][reply["size"] - 1]
                assert reply["bound"] == min(reply["bounds"]) or reply["verdict"] == "none"
                assert (reply["verdict"] == "certified") == (reply["bound"] <= tolerance)
                assert np.allclose(reply["exact"], truth[i], atol=1e-6)


def test_region_depends_on_step(asked_run: Run) -> None:
    for t in some_steps(asked_run):
        edges = {tuple(edge) for edge in model_at(asked_run, t).edges.tolist()}
        for i in range(N):
            reply = certified_region(asked_run, i, t)
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
    asked_run = run_on(ASKED_LEARNERS["paper"], followers_table(N, 600))
    assert set(certified_region(asked_run, 0, 2)) == keys


def test_deterministic_variables_have_valid_regions() -> None:
    codes = np.tile(np.array([[0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1], [2, 2, 0, 0]]), (40, 1))
    asked_run = run_on(ChowLiu(), DiscreteTable.from_codes(codes))
    assert model_at(asked_run, len(asked_run.steps)).weights.min() < -9
    for t in range(len(asked_run.steps) + 1):
        truth = true_marginals(model_at(asked_run, t))
        for i in range(4):
            for cut in CUTS:
                reply = answer(asked_run, {"kind": "node", "i": i, "t": t, "region": {"cut": cut}})
                reply = json.loads(json.dumps(reply, allow_nan=False))["region"]
                error = np.abs(np.array(reply["marginal"]) - truth[i]).max()
                assert error <= reply["bound"] + 1e-5  # records have six digits


@pytest.mark.parametrize("wish", [None, [], {"cut": "saw"}, {"tolerance": "1"}, {"tolerance": 0}])
def test_invalid_region_settings_give_error_beside_the_answer(wish: Any) -> None:
    asked_run = run_on(ASKED_LEARNERS["paper"], followers_table(N, 600))
    reply = answer(asked_run, {"kind": "node", "i": 2, "t": 3, "region": wish})
    assert reply["region"]["error"].endswith(".")
    assert reply["name"] == asked_run.table.names[2]
    with pytest.raises(InputError):
        certified_region(asked_run, 2, 3, **region_settings(wish))


def test_regions_are_cached_until_final_fit_of_last_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grown: list[int] = []

    def counted(asked_run: Run, question: Any) -> Any:
        grown.append(question["t"])
        return answer(asked_run, question)

    monkeypatch.setattr(runs, "answer", counted)
    asked_run = Run(followers_table(N, 600), ASKED_LEARNERS["best"], seed=0)
    answers = PlayerRun(
        asked_run, prepare(DataSet("d", "d", asked_run.table, None, None, ""), 0), "t", Idle()
    )
    request = {"kind": "node", "i": 1, "t": 1, "region": {"cut": "drop"}}
    asked_run.advance()
    monkeypatch.setattr(runs, "compiled", _event(False))
    assert answers.answer(request)["region"]["again"]
    assert answers.answer(request)["name"] == asked_run.table.names[1]
    monkeypatch.setattr(runs, "compiled", _event(True))
    grown.clear()
    first = answers.answer(request)
    assert answers.answer(dict(request)) is first
    assert grown == [1]
    while asked_run.advance():
        pass
    answers.answer({**request, "t": len(asked_run.steps)})
    assert grown == [1, len(asked_run.steps)]
    assert answers.answer(request)["region"] == first["region"]


def _event(is_set: bool) -> Any:
    event = runs.threading.Event()
    if is_set:
        event.set()
    return event
