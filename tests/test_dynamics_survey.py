"""One survey of regressions against learning anew, predictions against the metrics, the city."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.datasets.folders import ROOT, folder_keys
from graftviz.dynamics.all_regressions import regress_all
from graftviz.dynamics.city import PLACES, city_positions, city_series
from graftviz.dynamics.samples import load_sample, positions_csv, sample_keys, series_csv
from graftviz.errors import InputError


@pytest.fixture(scope="module")
def series():
    truth = dynamics.random_system(20, density=0.12, seed=2)
    return dynamics.simulate(truth, 300, observation_noise=0.3, seed=5)


@pytest.mark.parametrize("solver", ["sgd", "coordinate"])
@pytest.mark.parametrize("centre", [False, True])
def test_a_survey_gives_the_systems_that_learning_anew_gives(series, solver, centre) -> None:
    learner = dynamics.ScalableStructure(parents=5, seeds=4.0, solver=solver, centre=centre)
    *waiting, survey = regress_all(series, learner, seed=3)
    assert waiting == [None] * len(waiting)
    for k in (1, 6):
        anew = dynamics.learn(
            series, dynamics.SparsityInducing(parents=k, solver=solver, centre=centre), seed=3
        )
        same(survey.inducing(k), anew.system)
        for seeds, unspoken in ((1.0, "graft"), (7.0, "common"), (20.0, "regress")):
            other = replace(learner, parents=k, seeds=seeds, unspoken=unspoken)
            same(survey.scalable(other), dynamics.learn(series, other, seed=3).system)


def same(found, expected) -> None:
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=1e-12)


def test_predictions_are_those_the_error_is_measured_on(series) -> None:
    system = dynamics.learn(series, dynamics.SparsityInducing(parents=4, centre=True)).system
    for horizon in (1, 3):
        predicted = dynamics.several_steps(system, series.values, horizon)
        seen = series.values[horizon:]
        error = np.linalg.norm(predicted - seen) / np.linalg.norm(seen)
        assert error == pytest.approx(dynamics.prediction_error(system, series, steps=horizon))
        assert not predicted.flags.writeable
    one = dynamics.one_step(system, series.values)
    np.testing.assert_array_equal(one, dynamics.several_steps(system, series.values, 1))
    with pytest.raises(InputError, match="1 to 1 steps"):
        dynamics.several_steps(system, series.values[:2], 2)
    with pytest.raises(InputError, match="20 series"):
        dynamics.one_step(system, series.values[:, :3])


def test_the_city_is_what_the_generator_writes() -> None:
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
    # North is up, and the places keep their distances.
    at = np.array([(place.east, -place.north) for place in PLACES])
    scale = np.ptp(sample.positions[:, 0]) / np.ptp(at[:, 0])
    np.testing.assert_allclose(
        sample.positions - sample.positions.mean(axis=0), scale * (at - at.mean(axis=0)), atol=15
    )


def test_a_sample_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match="'nowhere'"):
        load_sample("nowhere", tmp_path)
