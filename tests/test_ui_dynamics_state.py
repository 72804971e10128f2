"""What a visitor of the Dynamics page has in hand: choices, the run on show, what is compared."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.dynamics.all_regressions import regress_all
from graftviz.ui.background import Background
from graftviz.ui.dynamics import jobs as dynamics_jobs
from graftviz.ui.dynamics.jobs import curving, measuring, run_progress
from graftviz.ui.dynamics.material import (
    DynamicsMaterial,
    UploadedSeries,
    fingerprint,
    generated,
    uploaded_material,
)
from graftviz.ui.dynamics.options import DynamicsOptions, seeds_of
from graftviz.ui.dynamics.state import RACE, TOO_LONG, DynamicsState, Work
from graftviz.ui.limits import Limits


class Idle:
    """Takes tasks and does nothing, so that a test can work them by hand."""

    def __init__(self) -> None:
        self._queue: list[Any] = []

    def withdraw(self, task: Any) -> None:
        if task in self._queue:
            self._queue.remove(task)

    def submit(self, task: Any) -> None:
        if task not in self._queue:
            self._queue.append(task)

    @property
    def waiting(self) -> list[Any]:
        return list(self._queue)

    def work_all(self) -> None:
        while self._queue:
            task = self._queue[0]
            if not task.work(float("inf")):
                self.withdraw(task)


class Engine:
    """The page's work without Streamlit: the same job when asked the same again."""

    def __init__(self) -> None:
        self.scheduler = Idle()
        self.jobs: dict[Any, Background[Any]] = {}
        self.materials: dict[Any, DynamicsMaterial] = {}

    def work(self) -> Work:
        return Work(self.source, self.run, self.measure, self.survey, self.curves)

    def source(
        self, options: DynamicsOptions, files: UploadedSeries | None
    ) -> DynamicsMaterial | None:
        if options.data == "upload":
            return None if files is None else uploaded_material(files, options.held_out)
        key = (options.size, options.rows, options.seed)
        if key not in self.materials:
            self.materials[key] = generated(options)
        return self.materials[key]

    def job(self, key: Any, values: Any) -> Background[Any]:
        if repr(key) not in self.jobs:
            self.jobs[repr(key)] = Background(values(), self.scheduler)
        return self.jobs[repr(key)]

    def run(self, material: DynamicsMaterial, plan: Any) -> Background[Any]:
        return self.job(("run", material.identity, plan), lambda: run_progress(material, plan))

    def measure(self, material: DynamicsMaterial, plan: Any) -> Background[Any]:
        return self.job(("measure", material.identity, plan), lambda: measuring(material, plan))

    def survey(self, material: DynamicsMaterial, learner: Any, seed: int) -> Background[Any]:
        plain = replace(learner, parents=None, seeds=1.0)
        return self.job(
            ("survey", material.identity, plain), lambda: regress_all(material.train, plain)
        )

    def curves(self, material: DynamicsMaterial, asked: Any, seed: int) -> Background[Any]:
        found = self.survey(material, asked.learner, seed).latest
        return self.job(
            ("curves", material.identity, asked), lambda: curving(material, found, asked)
        )


@pytest.fixture
def engine() -> Engine:
    return Engine()


def opened(engine: Engine, **query: str) -> DynamicsState:
    state = DynamicsState(engine.work())
    state.follow({"size": "10", "rows": "90", "parents": "2", **query})
    state.refresh()
    return state


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"node": "10"}, ["No series 10: the series are 0 … 9"]),
        ({"step": "11"}, ["No step 11: the run has 10 steps"]),
        ({"parents": "51"}, ["at most 50; got 51"]),
        ({"fingerprint": "0123456789abcdef"}, ["Invalid fingerprint"]),
        ({"data": "upload", "fingerprint": "x", "node": "999"}, ["Invalid fingerprint"]),
        ({"node": "77", "step": "88", "parents": "0"}, ["at least 1", "series 77", "step 88"]),
        ({"node": "9", "step": "10", "parents": "10"}, []),
    ],
)
def test_each_ignored_part_of_a_link_is_named(
    engine: Engine, link: dict[str, str], words: list[str]
) -> None:
    state = opened(engine, **link)
    state.refresh()
    assert len(state.complaints) == len(words)
    assert all(part in one for part, one in zip(words, state.complaints, strict=True))
    ignored = {"fingerprint", "step", "parents"} & set(link)
    assert not words or not ignored & set(state.link())
    state.choose("seed", 1)
    assert state.complaints == ()


def test_a_place_that_another_run_lacks_is_no_complaint(engine: Engine) -> None:
    state = opened(engine, size="12", node="11", step="12")
    assert state.complaints == ()
    state.choose("size", 8)
    state.values |= {"node": 11, "step": 12}  # a late message of the browser
    state.refresh()
    assert (state.node, state.complaints) == (None, ())


def test_counts_beyond_the_number_of_series_are_named_where_they_matter(engine: Engine) -> None:
    state = opened(engine, parents="40", seeds="40")
    assert [words in state.notes()[k] for k, words in enumerate(("k = 40", "|S| = 40"))] == [
        True
    ] * 2
    state.choose("learner", "dense")
    state.refresh()
    assert state.notes() == ()


def test_what_is_compared_comes_after_the_run_and_the_methods_one_by_one(engine: Engine) -> None:
    state = opened(engine)
    assert state.run is not None
    state.compared()
    assert engine.scheduler.waiting == [state.run]
    engine.scheduler.work_all()
    for number in range(len(RACE)):
        assert len(state.compared().race) == number
        assert len(engine.scheduler.waiting) == 1
        engine.scheduler.work_all()
    assert not state.compared().is_complete  # the survey has begun
    engine.scheduler.work_all()
    state.compared()  # and now the curves
    engine.scheduler.work_all()
    known = state.compared()
    assert known.is_complete
    assert {one.parents for one in known.curves.by_parents} >= {1, 2, 10}
    assert {one.seeds for one in known.curves.by_seeds} >= {1, 2, 10}
    # Another k needs no other survey.
    surveys = [key for key in engine.jobs if "survey" in key]
    state.choose("parents", 4)
    state.refresh()
    for _ in range(8):
        state.compared()
        engine.scheduler.work_all()
    assert state.compared().is_complete
    assert [key for key in engine.jobs if "'survey'" in key] == surveys


def test_a_choice_that_cannot_be_had_keeps_what_is_shown(engine: Engine) -> None:
    state = opened(engine)
    shown = state.shown
    state.choose("path", 7)
    state.refresh()
    assert "solver=coordinate" in state.problem
    assert state.shown is shown
    state.choose("solver", "coordinate")
    state.refresh()
    assert state.problem == ""
    assert state.shown is not shown


def test_another_run_revokes_the_last_and_forgets_its_place(engine: Engine) -> None:
    state = opened(engine, step="3", node="4")
    first = state.run
    assert first in engine.scheduler.waiting
    assert state.node == 4
    state.choose("parents", 3)
    state.refresh()
    assert first not in engine.scheduler.waiting
    assert state.run in engine.scheduler.waiting
    assert (state.options.step, state.node) == (None, 4)  # the series is still the same
    state.choose("seed", 1)
    assert state.options.node is None
    state.refresh()
    state.revoke()
    assert engine.scheduler.waiting == []


def test_who_leaves_stops_what_nobody_else_watches_and_makes_nothing(engine: Engine) -> None:
    one, other = opened(engine), opened(engine)
    assert one.run is other.run
    engine.scheduler.work_all()
    one.compared()
    other.compared()
    (shared,) = engine.scheduler.waiting
    known = set(engine.jobs)
    one.choose("parents", 3)
    one.refresh()
    own = one.run
    assert engine.scheduler.waiting == [shared, own]
    one.revoke()
    assert engine.scheduler.waiting == [shared], "somebody waits for it"
    other.revoke()
    assert engine.scheduler.waiting == []
    assert len(engine.jobs) == len(known) + 1, "what was never asked for is not asked for now"
    other.compared()
    assert engine.scheduler.waiting == [shared], "it goes on for who is back"


def test_what_is_forgotten_of_own_series_comes_back(engine: Engine) -> None:
    state = DynamicsState(engine.work()._replace(source=dynamics_jobs.source))
    series = dynamics.series_of(np.random.default_rng(0).normal(size=(40, 3)))
    state.choose("data", "upload")
    state.accept(UploadedSeries(series, None, None, fingerprint(series, None, None)))
    state.choose("parents", 2)
    state.refresh()
    assert state.shown is not None
    link, identity = state.link(), state.shown.material.identity
    material = weakref.ref(state.shown.material)
    engine.jobs.clear()
    state.forget()
    gc.collect()
    assert material() is None
    state.refresh()
    assert state.shown is not None
    assert (state.link(), state.shown.material.identity) == (link, identity)


def test_a_file_with_equal_values_replaces_title_and_times(engine: Engine) -> None:
    state = DynamicsState(engine.work()._replace(source=dynamics_jobs.source))
    state.choose("data", "upload")
    values = np.random.default_rng(0).normal(size=(40, 3))
    for title in ("first.csv", "second.csv"):
        series = dataclasses.replace(dynamics.series_of(values), title=title)
        state.accept(UploadedSeries(series, None, None, fingerprint(series, None, None)))
        state.refresh()
        assert state.shown is not None
        assert state.shown.material.title.startswith(title)


@pytest.mark.parametrize(("n", "seeds"), [(6, 6), (10, 10), (11, 2), (50, 10)])
def test_of_few_series_all_are_seeds(n: int, seeds: int) -> None:
    assert seeds_of(DynamicsOptions(), n) == seeds
    assert seeds_of(DynamicsOptions(seeds=3), n) == 3


def test_curves_that_would_take_too_long_are_said_to_be_left_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = opened(engine)
    for _ in range(6):
        state.compared()
        engine.scheduler.work_all()
    monkeypatch.setattr("graftviz.ui.dynamics.options.limits", lambda: Limits(ask_seconds=1e-9))
    known = state.compared()
    assert known.is_complete
    assert TOO_LONG in known.missing
    assert [one.learner for one in known.race] == ["scalable"]  # the one that was begun


@pytest.mark.parametrize("n", [1, 2])
def test_few_series_can_be_uploaded(engine: Engine, n: int) -> None:
    series = dynamics.series_of(np.random.default_rng(0).normal(size=(40, n)))
    state = opened(engine, data="upload")
    assert state.shown is None
    assert state.problem == ""
    state.accept(UploadedSeries(series, None, None, fingerprint(series, None, None)))
    for _ in range(9):
        state.refresh()
        state.compared()
        engine.scheduler.work_all()
    assert state.run is not None
    assert len(state.run.latest.steps) == n
    assert state.compared().is_complete
    assert len(state.compared().race) == len(RACE)
    assert set(state.link()) >= {"data", "fingerprint"}
