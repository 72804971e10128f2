"""Session state of the Dynamics page: choices, the shown run, comparisons."""

from __future__ import annotations

import dataclasses
import gc
import io
import weakref
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from fakes import Idle, clear_jobs

from graftviz import dynamics
from graftviz.app.dynamics import TOO_LONG, DynamicsState, survey
from graftviz.app.dynamics_panels import curves_csv, methods_csv
from graftviz.app.material import uploaded_series


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Idle]:
    """Executor that advances jobs on request, without jobs of other tests."""
    idle = Idle()
    monkeypatch.setattr("graftviz.app.session.executor", lambda: idle)
    clear_jobs()
    yield idle
    clear_jobs()


def opened(**query: str) -> DynamicsState:
    state = DynamicsState()
    state.follow({"size": "10", "rows": "90", "parents": "2", **query})
    state.refresh()
    return state


def test_counts_beyond_number_of_series_are_named_in_problem(scheduler: Idle) -> None:
    state = opened(parents="40", seeds="40")
    assert [words in state.notes()[k] for k, words in enumerate(("k = 40", "|S| = 40"))] == [
        True
    ] * 2
    state.choose("learner", "dense")
    state.refresh()
    assert state.notes() == ()


def test_comparisons_follow_the_run_one_method_at_a_time(scheduler: Idle) -> None:
    state = opened()
    assert state.run is not None
    state.compared()
    assert scheduler.waiting == [state.run]
    scheduler.work_all()
    for number in range(len(dynamics.LEARNERS)):
        assert len(state.compared().race) == number
        assert len(scheduler.waiting) == 1
        scheduler.work_all()
    assert state.compared().baselines == ()
    scheduler.work_all()
    assert state.compared().baselines[0].lag == 1
    assert not state.compared().is_complete  # the survey has begun
    scheduler.work_all()
    state.compared()  # the curves
    scheduler.work_all()
    known = state.compared()
    assert known.is_complete
    assert {one.parents for one in known.curves.by_parents} >= {1, 2, 10}
    assert {one.seeds for one in known.curves.by_seeds} >= {1, 2, 10}
    methods = pd.read_csv(io.StringIO(methods_csv(known)))
    assert methods["learner"].tolist()[: len(dynamics.LEARNERS)] == list(dynamics.LEARNERS)
    assert "persistence" in methods["learner"].tolist()
    assert (methods["standard_error"] > 0).all()
    assert len(pd.read_csv(io.StringIO(curves_csv(known.curves)))) > 10
    frame = state.coefficients.final
    assert (frame["standard_error"] > 0).all()
    # Another k uses the same survey.
    before = survey(state.shown.source, state.shown.plan.learner, 0)
    state.choose("parents", 4)
    state.refresh()
    for _ in range(8):
        state.compared()
        scheduler.work_all()
    assert state.compared().is_complete
    assert survey(state.shown.source, state.shown.plan.learner, 0) is before


def test_refused_choice_keeps_shown_run(scheduler: Idle) -> None:
    state = opened()
    shown = state.shown
    state.choose("path", 7)
    state.refresh()
    assert "solver=coordinate" in state.problem
    assert state.shown is shown
    state.choose("solver", "coordinate")
    state.refresh()
    assert state.problem == ""
    assert state.shown is not shown


def test_another_run_revokes_previous_run_and_resets_step(scheduler: Idle) -> None:
    state = opened(step="3", node="4")
    first = state.run
    assert first in scheduler.waiting
    assert state.node == 4
    state.choose("parents", 3)
    state.refresh()
    assert first not in scheduler.waiting
    assert state.run in scheduler.waiting
    assert (state.options.step, state.node) == (None, 4)  # the series is still the same
    state.choose("seed", 1)
    assert state.options.node is None
    state.refresh()
    state.jobs.leave()
    assert scheduler.waiting == []


def test_closed_visit_revokes_jobs_that_no_other_visit_uses(scheduler: Idle) -> None:
    one, other = opened(), opened()
    assert one.run is other.run
    scheduler.work_all()
    one.compared()
    other.compared()
    (shared,) = scheduler.waiting
    one.choose("parents", 3)
    one.refresh()
    own = one.run
    assert scheduler.waiting == [shared, own]
    one.jobs.leave()
    assert scheduler.waiting == [shared], "the job of another visit was revoked"
    other.jobs.leave()
    assert scheduler.waiting == []
    other.compared()
    assert scheduler.waiting == [shared], "the job was not resumed"


def test_released_upload_of_series_is_prepared_again(scheduler: Idle) -> None:
    state = DynamicsState()
    series = dynamics.TimeSeries.from_array(np.random.default_rng(0).normal(size=(40, 3)))
    state.choose("data", "upload")
    state.accept(uploaded_series(series))
    state.choose("parents", 2)
    state.refresh()
    link, identity = state.link(), state.shown.source.identity
    material = weakref.ref(state.shown.source)
    state.forget()
    gc.collect()
    assert material() is None
    state.refresh()
    assert (state.link(), state.shown.source.identity) == (link, identity)


def test_a_file_with_equal_values_replaces_title_and_times(scheduler: Idle) -> None:
    state = DynamicsState()
    state.choose("data", "upload")
    values = np.random.default_rng(0).normal(size=(40, 3))
    for title in ("first.csv", "second.csv"):
        series = dataclasses.replace(dynamics.TimeSeries.from_array(values), title=title)
        state.accept(uploaded_series(series))
        state.refresh()
        assert state.shown.source.title.startswith(title)


def test_slow_curves_are_left_out_with_a_note(
    scheduler: Idle, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = opened()
    for _ in range(6):
        state.compared()
        scheduler.work_all()
    monkeypatch.setattr("graftviz.app.dynamics.ASK_SECONDS", 1e-9)
    assert not state.compared().is_complete  # the standard errors have begun
    scheduler.work_all()
    known = state.compared()
    assert known.is_complete
    assert TOO_LONG in known.missing
    assert [one.learner for one in known.race] == ["scalable"]  # the learner that had begun


@pytest.mark.parametrize("n", [1, 2])
def test_upload_of_few_series(scheduler: Idle, n: int) -> None:
    series = dynamics.TimeSeries.from_array(np.random.default_rng(0).normal(size=(40, n)))
    state = opened(data="upload")
    assert state.shown is None
    assert state.problem == ""
    state.accept(uploaded_series(series))
    for _ in range(9):
        state.refresh()
        state.compared()
        scheduler.work_all()
    assert len(state.run.latest.steps) == n
    assert state.compared().is_complete
    assert len(state.compared().race) == len(dynamics.LEARNERS)
    assert set(state.link()) >= {"data", "fingerprint"}
