"""Baselines, standard errors and differences of time series."""

from __future__ import annotations

import io

import numpy as np
import pytest

from graftviz import InputError, dynamics
from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.system import baseline, coefficient_deviations, season


def seasonal(rows: int, period: int, noise: float, seed: int = 0) -> TimeSeries:
    """Return three series with a season and white noise."""
    random = np.random.default_rng(seed)
    pattern = random.standard_normal((period, 3))
    whole = pattern[np.arange(rows) % period]
    return TimeSeries.from_array(whole + noise * random.standard_normal((rows, 3)))


def test_baselines_predict_by_earlier_values() -> None:
    train, test = seasonal(200, 12, 0.3).split(0.25)
    for lag in (1, 12, 60):
        found = baseline(train, test, lag)
        values = np.concatenate([train.values, test.values])
        rows = range(train.n_rows + 1, len(values))
        gaps = [values[t] - values[t - lag] for t in rows]
        expected = np.linalg.norm(gaps) / np.linalg.norm([values[t] for t in rows])
        assert found.pred_error_test == pytest.approx(expected)
        own = [values[t] - values[t - lag] for t in range(lag, train.n_rows)]
        assert found.pred_error_train == pytest.approx(
            np.linalg.norm(own) / np.linalg.norm(train.values[lag:])
        )
    assert baseline(train, test, 12).pred_error_test < baseline(train, test, 1).pred_error_test


def test_season_is_found_if_there_is_one() -> None:
    assert season(seasonal(300, 12, 0.5)) == 12
    steps = np.cumsum(np.ones((60, 2)), axis=0)
    assert season(TimeSeries.from_array(steps)) is None  # a trend
    assert season(TimeSeries.from_array(steps[:6])) is None  # too few rows


def test_standard_errors_match_deviations_over_many_samples() -> None:
    system = dynamics.LinearSystem.from_dense(
        np.array([[0.6, 0.3, 0.0], [0.0, 0.5, 0.0], [0.2, 0.0, 0.4]])
    )
    parents = tuple(tuple(system.parents(i).tolist()) for i in range(3))
    learner = dynamics.SparsityEnforcing(adjacency=parents)
    found, errors, deviations, held_out = [], [], [], []
    for seed in range(60):
        series = dynamics.simulate(system, 400, seed=seed)
        learned = dynamics.learn(series, learner).system
        found.append(learned.coefficients.data)
        errors.append(coefficient_deviations(learned, series))
        held_out.append(dynamics.prediction_error(system, series))
        deviations.append(dynamics.prediction_deviation(system, series))
    assert np.allclose(np.std(found, axis=0), np.mean(errors, axis=0), rtol=0.3)
    assert np.std(held_out) == pytest.approx(np.mean(deviations), rel=0.4)


def test_series_are_read_as_differences() -> None:
    content = b"time,a,b\n" + b"".join(b"%d,%d,%d\n" % (t, t * t, 5 * t % 7) for t in range(9))
    series = dynamics.read_series(io.BytesIO(content), difference=2)
    assert series.values[:, 0].tolist() == [t * t - (t - 2) ** 2 for t in range(2, 9)]
    assert series.times == tuple(map(str, range(2, 9)))
    assert "The values are differences of lag 2." in series.notes
    with pytest.raises(InputError, match="constant"):
        dynamics.read_series(np.arange(12.0).reshape(6, 2), difference=1)
    with pytest.raises(InputError, match="at least 10 rows"):
        dynamics.read_series(io.BytesIO(content), difference=8)
    with pytest.raises(InputError, match="at least 0"):
        dynamics.read_series(io.BytesIO(content), difference=-1)
