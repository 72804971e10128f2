"""Session state of the Race page: racers, refusals and runs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from learner_cases import followers_table

from graftviz import FirstHit
from graftviz.app import (
    material,
    race,
    state as state_module,
)
from graftviz.app.jobs import Executor
from graftviz.app.material import Material, prepare
from graftviz.app.race import EDGES_A_VARIABLE, LINE_UP, MOST_RACERS, RaceState
from graftviz.data.sets.dataset import DataSet
from graftviz.learning.base import Learner

REFUSED = "forced-pruning:exchange=500"


def load(key: str, seed: int) -> Material:
    table = followers_table(8, 300, len(key))
    truth = np.array([(0, 1), (0, 2), (1, 3)])
    return prepare(DataSet(key, key, table, truth, None, "", {"lam": 0.01}, 0.2), seed)


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[Learner]:
    learners: list[Learner] = []
    monkeypatch.setattr(race, "warm_up", learners.append)
    return learners


@pytest.fixture
def state(warmed: list[Learner]) -> Iterator[RaceState]:
    pool = Executor(threads=2)
    yield RaceState(load, pool.queue())
    pool.close()


def finish(state: RaceState) -> None:
    for entry in state.entries:
        if entry.run is not None:
            entry.run.grant()
            assert entry.run.wait_for_end(60)


def test_default_racers_run_to_the_end(state: RaceState, warmed: list[Learner]) -> None:
    state.refresh()
    assert [entry.problem for entry in state.entries] == [""] * MOST_RACERS
    finish(state)
    race = state.race()
    assert race.ended
    assert [course.name for course in race.courses] == state.names()
    assert len({course.yardstick for course in race.courses}) == 1
    assert all(course.moments[-1].edges <= EDGES_A_VARIABLE * 8 for course in race.courses)
    assert sorted(map(repr, warmed)) == sorted(
        repr(entry.run.run.learner) for entry in state.entries if entry.run
    ), "each learner is warmed up once, before its clock starts"
    header = json.loads(state.header_json)
    assert [racer["name"] for racer in header["racers"]] == state.names()
    assert len(header["positions"]) == 8
    state.refresh(), "nothing has changed"


def test_refused_racer_has_a_sentence_and_others_race(state: RaceState) -> None:
    state.follow({"r1": "first-hit", "r2": REFUSED, "r3": "edge-grafting"})
    state.refresh()
    assert state.problem == ""
    assert [bool(entry.trouble) for entry in state.entries] == [False, True, False]
    assert "exceeds the number of edges" in state.entries[1].trouble
    finish(state)
    race = state.race()
    assert [course.name for course in race.courses] == ["First hit", "Edge grafting"]


def test_shown_race_stays_if_all_racers_are_refused(state: RaceState) -> None:
    state.refresh()
    before = state.token
    state.follow({"r1": REFUSED})
    state.refresh()
    assert "exceeds the number of edges" in state.problem
    assert state.token == before
    assert len(state.entries) == MOST_RACERS
    assert "r1" not in state.link(), "the address differs from the shown race"


def test_only_changed_racers_are_run_again(state: RaceState) -> None:
    state.refresh()
    before = [entry.run for entry in state.entries]
    state.edit(5)
    state.choose("lam", 0.02)
    state.refresh()
    after = [entry.run for entry in state.entries]
    assert after[:5] == before[:5]
    assert after[5] is not before[5]
    state.race_again()
    state.refresh()
    assert not {entry.run for entry in state.entries} & {*before, *after}


def test_racers_of_old_races_are_released(
    state: RaceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "MOST_RUNS", MOST_RACERS)
    state.refresh()
    before = state.entries
    assert all(entry.run.wait(1, 60) for entry in before if entry.run is not None)
    state.choose("seed", 1)
    state.refresh()
    assert all("was released" in entry.trouble for entry in before)
    finish(state)  # racers of the new race run after the current step of a released one
    assert all(entry.run is not None and entry.run.memory_bytes == 0 for entry in before)
    assert not any(entry.trouble for entry in state.entries)
    monkeypatch.setattr(state_module, "MOST_MEGABYTES", 0.0)
    state.choose("edges", 3)
    state.refresh()
    assert set(state._runs.values()) == {entry.run for entry in state.entries}, (
        "only shown runs should be stored"
    )


def test_racers_are_added_and_removed(state: RaceState) -> None:
    assert len(state.racers) == MOST_RACERS
    state.add()
    assert len(state.racers) == MOST_RACERS, "a seventh racer was added"
    state.edit(4)
    state.remove()
    state.choose("learner", "chow-liu")
    assert [racer.learner for racer in state.racers][-1] == "chow-liu"
    state.add()
    assert state.chosen == 5
    assert state.names()[-2:] == ["Chow–Liu tree", "Chow–Liu tree (2)"]
    state.refresh()
    assert state.entries[-1].run is state.entries[-2].run, "equal racers should share a run"
    for _ in range(10):
        state.remove()
    assert len(state.racers) == 1
    state.line_up()
    assert state.racers == LINE_UP


def test_long_race_requires_confirmation_for_all_runs(
    state: RaceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = material.of_learner(load("karate", 0).train, FirstHit(preset="paper")).seconds
    monkeypatch.setattr(material, "ASK_SECONDS", 2.5 * one)
    state.follow({"r1": "first-hit"})
    state.refresh(), "one alone is within the budget"
    state.line_up()
    state.refresh()
    assert "6 runs" in state.question or "5 runs" in state.question
    assert len(state.entries) == 1, "the shown race was replaced"
    state.agree()
    state.refresh()
    assert state.question == ""
    assert len(state.entries) == MOST_RACERS
