"""Session state of the Prune page: records, ring, links, and refused settings."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from fakes import finished_run
from learner_cases import followers_table

from graftviz import DiscreteTable, ForcedPruning, Run
from graftviz.app import (
    prune,
    runs,
)
from graftviz.app.jobs import Executor
from graftviz.app.material import Material, prepare
from graftviz.app.prune import PruneRun, PruneState
from graftviz.data.sets.dataset import DataSet
from graftviz.learning.pruning.forced_pruning import HEURISTICS
from graftviz.learning.pruning.structure_fit import rows_of
from graftviz.reports.layout import ring_layout


@pytest.fixture(scope="module")
def table() -> DiscreteTable:
    return followers_table(7, 300)


@pytest.fixture(scope="module")
def scheduler() -> Executor:
    return Executor()


def material_of(table: DiscreteTable, key: str = "first") -> Material:
    return prepare(DataSet(key, "Some rows", table, None, None, ""), 0)


@pytest.fixture
def state(table: DiscreteTable, scheduler: Executor) -> PruneState:
    return PruneState(lambda key, _: material_of(table, key), scheduler.queue())


def finished(table: DiscreteTable, **options: object) -> Run:
    return finished_run(
        table, ForcedPruning(max_edges=9, exchange=2, clusters=4, **options), seed=1
    )


def test_ticks_are_evenly_chosen_from_many_parameters(
    table: DiscreteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "MOST_TICKS", 5)
    run = finished(table, exchanges=0)
    record = prune.prune_record(run, 1, rows_of(table))
    values = run.steps[0].exchange.values
    assert record["parameters"] == len(values) > 5 == len(record["values"])
    assert record["values"][0] == pytest.approx(values.min(), rel=1e-6)
    assert record["values"][-1] == pytest.approx(values.max(), rel=1e-6)
    assert sum(record["sizes"]) == record["parameters"]


def test_ring_layout_follows_tree_and_includes_components() -> None:
    places = ring_layout(6, np.array([[0, 3], [3, 1], [4, 5]]))
    assert len(np.unique(places, axis=0)) == 6
    radius = np.hypot(*(places - 5000.0).T)
    np.testing.assert_allclose(radius, 5000, atol=1)
    sides = {(i, j): np.hypot(*(places[i] - places[j])) for i in range(6) for j in range(i)}
    shortest = min(sides.values())
    for pair in ((3, 0), (3, 1), (5, 4)):
        assert sides[pair] == pytest.approx(shortest, abs=2)
    assert ring_layout(1, np.zeros((0, 2), dtype=int)).shape == (1, 2)


def test_three_runs_differ_in_the_rule_only(state: PruneState) -> None:
    state.refresh()
    assert list(state.runs) == list(HEURISTICS)
    assert all(run.wait_for_end(60) for run in state.runs.values())
    feeds = json.loads(runs.everything_so_far(state.runs.values()))
    starts = [feed["feed"]["records"][0] for feed in feeds]
    assert starts[0] == starts[1] == starts[2]
    before = dict(state.runs)
    state.choose("heuristic", "mcmc")
    state.refresh()
    assert state.link() == {"heuristic": "mcmc"}
    state.choose("clusters", 3)
    state.refresh()
    state.choose("clusters", None)
    state.refresh()
    assert all(state.runs[name] is before[name] for name in HEURISTICS)  # runs are reused


def test_automatic_settings_equal_those_of_the_learner(
    state: PruneState, table: DiscreteTable
) -> None:
    state.choose("max_edges", 12)
    state.refresh()
    learner = ForcedPruning(max_edges=12)
    assert state.automatic(state.choice)["exchange"] == learner.exchange_size(12) == 5
    for heuristic, run in state.runs.items():
        assert isinstance(run, PruneRun)
        own = dataclasses.replace(learner, heuristic=heuristic, exchanges=20)
        assert run.run.learner == own
