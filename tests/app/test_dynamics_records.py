"""Records of the player of the Dynamics page: evidence for parents, bands, sentences."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from docs.making.sample_city import PLACES, city_positions, city_series, positions_csv, series_csv
from graftviz import InputError, dynamics
from graftviz.app.dynamics import DynamicsOptions, judge_system, plan_of, run_progress, source
from graftviz.app.material import MOST_SERIES, uploaded_series
from graftviz.data.sets.registry import ROOT, folder_keys
from graftviz.dynamics.measuring import load_sample, measuring, regress_all, sample_keys

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
