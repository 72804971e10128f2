"""Dynamics page: state, link, and records."""

from __future__ import annotations

import dataclasses
import gc
import io
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fakes import Idle, clear_jobs

from docs.making.sample_city import PLACES, city_positions, city_series, positions_csv, series_csv
from graftviz import InputError, dynamics
from graftviz.app.dynamics import (
    TOO_LONG,
    DynamicsOptions,
    DynamicsState,
    judge_system,
    plan_of,
    run_progress,
    source,
    survey,
)
from graftviz.app.dynamics_panels import curves_csv, methods_csv
from graftviz.app.material import MOST_SERIES, uploaded_series
from graftviz.data.sets.registry import ROOT, folder_keys
from graftviz.dynamics.measuring import load_sample, measuring, regress_all, sample_keys


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


OPTIONS = DynamicsOptions(size=16, density=0.15, rows=200, parents=4, seeds=5, seed=2)


@pytest.fixture(scope="module")
def material():
    return source(OPTIONS, None)


def final_progress(material, options, name=None):
    return deque(run_progress(material, plan_of(options, material, name)), maxlen=1).pop()


@pytest.mark.parametrize("name", list(dynamics.LEARNERS))
def test_run_ends_with_learned_system(material, name) -> None:
    progress = final_progress(material, OPTIONS, name)
    plan = plan_of(OPTIONS, material, name)
    learner = plan.learner
    if name == "enforcing":
        wanted = [material.truth.parents(i) for i in range(16)]
        learner = dynamics.SparsityEnforcing(adjacency=wanted)
        assert "parents come from the true system" in progress.opening
    else:
        assert (plan.wiring, plan.source) == ("", None)
    expected = dynamics.learn(material.train, learner, seed=2, test=material.test)
    np.testing.assert_array_equal(progress.result.system.matrix, expected.system.matrix)
    assert f"{expected.pred_error_test:.3f}" in progress.closing
    measured = deque(measuring(material, plan), maxlen=1).pop()
    assert measured.pred_error_test == expected.pred_error_test
    assert measured.recall == dynamics.structure_recall(expected.system, material.truth)


def test_unknown_parents_are_replaced_by_those_of_inducing_learning() -> None:
    city = source(DynamicsOptions(data="city"), None)
    plan = plan_of(DynamicsOptions(data="city", parents=3), city, "enforcing")
    assert plan.wiring == "inducing"
    progress = final_progress(city, DynamicsOptions(data="city", parents=3), "enforcing")
    assert "come from sparsity inducing learning" in progress.opening
    found = progress.result
    expected = final_progress(city, DynamicsOptions(data="city", parents=3), "inducing").result
    np.testing.assert_array_equal(found.system.matrix, expected.system.matrix)


def test_large_systems_are_refused_or_need_confirmation() -> None:
    options = DynamicsOptions()
    scalable, dense = dynamics.ScalableStructure(seeds=6.0, parents=5), dynamics.Dense()
    assert judge_system(options.size, options.rows, scalable) == judge_system(30, 600, dense)
    assert "20 s" in judge_system(900, 50_000, dynamics.SparsityInducing(parents=5)).question
    assert "Too much to display" in judge_system(8_000, 10_000, dense).refusal
    many = dynamics.TimeSeries.from_array(
        np.random.default_rng(0).normal(size=(6, MOST_SERIES + 1))
    )
    with pytest.raises(InputError, match="1,001 series"):
        uploaded_series(many)(0.4)


# All regressions at once, predictions and the city.


@pytest.fixture(scope="module")
def series():
    truth = dynamics.random_system(20, density=0.12, seed=2)
    return dynamics.simulate(truth, 300, observation_noise=0.3, seed=5)


@pytest.mark.parametrize("solver", ["sgd", "coordinate"])
@pytest.mark.parametrize("centre", [False, True])
def test_regressions_at_once_match_separate_learning(series, solver, centre) -> None:
    learner = dynamics.ScalableStructure(parents=5, seeds=4.0, solver=solver, centre=centre)
    *waiting, regressions = regress_all(series, learner, seed=3)
    assert waiting == [None] * len(waiting)
    for k in (1, 6):
        expected = dynamics.learn(
            series, dynamics.SparsityInducing(parents=k, solver=solver, centre=centre), seed=3
        )
        check_system(regressions.inducing(k), expected.system)
        for seeds, uncovered in ((1.0, "graft"), (7.0, "common"), (20.0, "regress")):
            other = replace(learner, parents=k, seeds=seeds, uncovered=uncovered)
            check_system(regressions.scalable(other), dynamics.learn(series, other, seed=3).system)


def check_system(found, expected) -> None:
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=1e-12)


def test_error_of_predictions_matches_prediction_error(series) -> None:
    system = dynamics.learn(series, dynamics.SparsityInducing(parents=4, centre=True)).system
    for horizon in (1, 3):
        predicted = dynamics.predict(system, series.values, horizon)
        seen = series.values[horizon:]
        error = np.linalg.norm(predicted - seen) / np.linalg.norm(seen)
        assert error == pytest.approx(dynamics.prediction_error(system, series, horizon=horizon))
        assert not predicted.flags.writeable
    with pytest.raises(InputError, match="1 to 1 steps"):
        dynamics.predict(system, series.values[:2], 2)
    with pytest.raises(InputError, match="20 series"):
        dynamics.predict(system, series.values[:, :3])


def test_city_files_match_generator() -> None:
    city = city_series(seed=1)
    assert "city" in sample_keys()
    assert "city" not in folder_keys()  # no table of samples
    for name, text in (
        ("series.csv", series_csv(city)),
        ("positions.csv", positions_csv(city, city_positions())),
    ):
        assert (ROOT / "city" / name).read_text(encoding="utf-8") == text
    sample = load_sample("city")
    np.testing.assert_array_equal(sample.series.values, city.values)
    assert sample.series.times == city.times
    # North is up, and distances are to scale.
    expected = np.array([(place.east, -place.north) for place in PLACES])
    scale = np.ptp(sample.positions[:, 0]) / np.ptp(expected[:, 0])
    np.testing.assert_allclose(
        sample.positions - sample.positions.mean(axis=0),
        scale * (expected - expected.mean(axis=0)),
        atol=15,
    )


def test_missing_sample_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match="'nowhere'"):
        load_sample("nowhere", tmp_path)
