"""Session state of the Prune page: records, ring, links, and refused settings."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from graftviz.datasets import DataSet
from graftviz.fitting.structure_fit import rows_of
from graftviz.layout import ring_layout
from graftviz.learners.forced_pruning import HEURISTICS, ForcedPruning
from graftviz.material import Material, prepare
from graftviz.player import prune_records
from graftviz.player.prune_records import prune_head, prune_outcome, prune_record
from graftviz.player.recorders import PruneRecorder, to_json
from graftviz.runs import Run
from graftviz.serving.scheduler import Scheduler
from graftviz.table import DiscreteTable
from graftviz.ui.frame import runs as session_runs
from graftviz.ui.prune.state import PruneState


@pytest.fixture(scope="module")
def table() -> DiscreteTable:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, size=(300, 7))
    for i in range(1, 7):
        copied = rng.random(300) < 0.6
        codes[copied, i] = codes[copied, i - 1]
    return DiscreteTable.from_codes(codes)


@pytest.fixture(scope="module")
def scheduler() -> Scheduler:
    return Scheduler()


def material_of(table: DiscreteTable, key: str = "first") -> Material:
    return prepare(DataSet(key, "Some rows", table, None, None, ""), 0)


@pytest.fixture
def state(table: DiscreteTable, scheduler: Scheduler) -> PruneState:
    return PruneState(lambda key, _: material_of(table, key), scheduler.share())


def finished(table: DiscreteTable, **options: object) -> Run:
    run = Run(table, ForcedPruning(edges=9, exchange=2, clusters=4, **options), seed=1)
    while run.advance():
        pass
    return run


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_records_rank_all_edges_and_tell_who_left(table: DiscreteTable, heuristic: str) -> None:
    run = finished(table, heuristic=heuristic, exchanges=4)
    rows = rows_of(table)
    present: set[tuple[int, int]] = set()
    for t, step in enumerate(run.steps, start=1):
        record = json.loads(to_json(prune_record(run, t, rows)))
        if record["kind"] == "exchange":
            worth = {(i, j): value for i, j, value in record["rank"]}
            assert set(worth) == present
            assert list(worth.values()) == sorted(worth.values())
            left = [worth[i, j] for i, j in record["removed"]]
            np.testing.assert_allclose(left, record["contributions"], rtol=1e-3, atol=2e-6)
            if heuristic == "greedy":
                assert left == list(worth.values())[: len(left)]
        present -= {(i, j) for i, j in record["removed"]}
        present |= {(i, j) for i, j in record["added"]}
        assert len(present) == record["edges"] == 9
        if record["kind"] != "exchange":  # those of the model of the step
            assert {(i, j) for i, j, _ in record["rank"]} == present
        assert record["values"] == sorted(record["values"])
        assert sum(record["sizes"]) == record["parameters"] == len(record["which"])
        assert record["which"] == sorted(record["which"])  # clusters on a line are intervals
        assert record["best"] >= record["after"]
        assert step.exchange is not None
    assert prune_head(run, "x")["before"] == pytest.approx(run.steps[0].exchange.before, rel=1e-6)
    outcome = prune_outcome(run)
    assert outcome["steps"] == len(run.steps)
    assert outcome["stop_reason"]


def test_of_very_many_parameters_evenly_chosen_ones_are_ticks(
    table: DiscreteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune_records, "MOST_TICKS", 5)
    run = finished(table, exchanges=0)
    record = prune_records.prune_record(run, 1, rows_of(table))
    values = run.steps[0].exchange.values
    assert record["parameters"] == len(values) > 5 == len(record["values"])
    assert record["values"][0] == pytest.approx(values.min(), rel=1e-6)
    assert record["values"][-1] == pytest.approx(values.max(), rel=1e-6)
    assert sum(record["sizes"]) == record["parameters"]


def test_a_ring_follows_the_tree_and_holds_parts_that_hang_apart() -> None:
    places = ring_layout(6, np.array([[0, 3], [3, 1], [4, 5]]))
    assert len(np.unique(places, axis=0)) == 6
    radius = np.hypot(*(places - 5000.0).T)
    np.testing.assert_allclose(radius, 5000, atol=1)
    sides = {(i, j): np.hypot(*(places[i] - places[j])) for i in range(6) for j in range(i)}
    shortest = min(sides.values())
    for pair in ((3, 0), (3, 1), (5, 4)):
        assert sides[pair] == pytest.approx(shortest, abs=2)
    assert ring_layout(1, np.zeros((0, 2), dtype=int)).shape == (1, 2)


def test_three_runs_differ_in_the_rule_and_in_nothing_else(state: PruneState) -> None:
    state.refresh()
    assert list(state.runs) == list(HEURISTICS)
    assert all(run.wait_for_end(60) for run in state.runs.values())
    feeds = json.loads(session_runs.everything_so_far(state.runs.values()))
    starts = [feed["feed"]["records"][0] for feed in feeds]
    assert starts[0] == starts[1] == starts[2]
    runs = dict(state.runs)
    state.choose("heuristic", "mcmc")
    state.refresh()
    assert state.link() == {"heuristic": "mcmc"}
    state.choose("clusters", 3)
    state.refresh()
    state.choose("clusters", None)
    state.refresh()
    assert all(state.runs[name] is runs[name] for name in HEURISTICS)  # nothing is learned twice


def test_what_is_left_automatic_is_what_the_learner_does(
    state: PruneState, table: DiscreteTable
) -> None:
    state.choose("edges", 12)
    state.refresh()
    learner = ForcedPruning(edges=12)
    assert state.automatic(state.choice)["exchange"] == learner.exchange_size(12) == 5
    for heuristic, run in state.runs.items():
        recorder = run.recorder
        assert isinstance(recorder, PruneRecorder)
        own = dataclasses.replace(learner, heuristic=heuristic, exchanges=20)
        assert recorder.run.learner == own


def test_recall_and_precision_are_recorded_where_the_true_edges_are_known(
    table: DiscreteTable, scheduler: Scheduler
) -> None:
    truth = np.array([[0, 1], [1, 2]])
    data = DataSet("first", "Some rows", table, truth, None, "")
    state = PruneState(lambda _key, _seed: prepare(data, 0), scheduler.share())
    state.refresh()
    run = state.runs["greedy"]
    assert run.wait_for_end(60)
    records = json.loads(session_runs.everything_so_far([run]))[0]["feed"]["records"]
    present: set[tuple[int, int]] = set()
    for record in records:
        present -= {(i, j) for i, j in record["removed"]}
        present |= {(i, j) for i, j in record["added"]}
        hits = len(present & {(0, 1), (1, 2)})
        assert record["recall"] == pytest.approx(hits / 2)
        assert record["precision"] == pytest.approx(hits / len(present), rel=1e-6)
