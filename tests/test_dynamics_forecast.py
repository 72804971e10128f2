"""Forecasts along known rows, and the bands around them."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.errors import InputError


@pytest.fixture(scope="module")
def truth():
    return dynamics.random_system(6, density=0.4, seed=2)


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_a_forecast_sees_its_row_and_nothing_later(truth, horizon):
    values = np.random.default_rng(1).standard_normal((30, 6))
    predicted = dynamics.several_steps(truth, values, horizon)
    assert predicted.shape == (30 - horizon, 6)
    assert not predicted.flags.writeable
    power = np.linalg.matrix_power(truth.matrix, horizon)
    for t in (0, 3, 29 - horizon):
        assert np.allclose(predicted[t], power @ values[t])
    changed = values.copy()
    changed[11:] = 0.0
    assert np.array_equal(dynamics.several_steps(truth, changed, horizon)[:11], predicted[:11])


def test_one_step_is_several_of_one(truth):
    values = np.random.default_rng(1).standard_normal((9, 6))
    assert np.array_equal(
        dynamics.one_step(truth, values), dynamics.several_steps(truth, values, 1)
    )


def test_forecasts_follow_the_intercept(truth):
    series = dynamics.series_of(5.0 + dynamics.simulate(truth, 4000, seed=3).values)
    learned = dynamics.learn(series, dynamics.Dense(centre=True)).system
    far = dynamics.several_steps(learned, series.values, 200)
    assert np.allclose(far, series.values.mean(axis=0), atol=0.3)  # a stable system forgets


def test_a_band_of_two_deviations_holds_most_of_what_happens(truth):
    train, test = (dynamics.simulate(truth, 3000, seed=seed).values for seed in (4, 5))
    widths = []
    for horizon in (1, 3):
        width = 2.0 * dynamics.residual_deviation(truth, train, horizon)
        gap = np.abs(dynamics.several_steps(truth, test, horizon) - test[horizon:])
        held = (gap <= width).mean(axis=0)
        assert np.all((held > 0.93) & (held < 0.975))
        widths.append(width)
    assert np.all(widths[1] >= 0.95 * widths[0])  # further ahead, less is known


@pytest.mark.parametrize(
    ("values", "horizon", "sentence"),
    [
        (np.ones((4, 6)), 4, "4 rows allow forecasts of 1 to 3 steps; got 4."),
        (np.ones((4, 6)), 0, "allow forecasts of 1 to 3 steps"),
        (np.ones((4, 5)), 1, "shape \\(4, 5\\)"),
        (np.ones(6), 1, "shape \\(6,\\)"),
    ],
)
def test_what_cannot_be_forecast_is_refused(truth, values, horizon, sentence):
    with pytest.raises(InputError, match=sentence):
        dynamics.several_steps(truth, values, horizon)
