"""Forecasts of a learned system for observed rows, and the deviation of their errors."""

from __future__ import annotations

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.system import LinearSystem
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError


def predict(system: LinearSystem, values: TimeSeries | np.ndarray, horizon: int = 1) -> np.ndarray:
    """Return forecasts of rows `horizon`, `horizon` + 1, … of `values`, each `horizon` steps ahead.

    A forecast uses only the row from which it starts. For the time after the last row use
    ``system.predict(values[-1:], horizon)``.

    Parameters
    ----------
    system : LinearSystem
    values : TimeSeries, or float array of shape (rows, n)
        One row per time; more than `horizon`.
    horizon : int
        Time steps ahead, at least 1.

    Returns
    -------
    float array, shape (rows - horizon, n), read-only
        Row t is the forecast of ``values[t + horizon]``.

    Raises
    ------
    InputError
        When there are too few rows, or the number of series differs from the system.

    Examples
    --------
    >>> dynamics.predict(system, series.values, 24).shape
    (476, 8)
    """
    if not isinstance(system, LinearSystem):
        raise InputError(
            "The first argument must be a LinearSystem, such as the attribute system of a result, "
            f"not an object of type {type(system).__name__}."
        )
    values = values.values if isinstance(values, TimeSeries) else values
    observed = system.checked_rows(values)
    reach = len(observed) - 1
    if not isinstance(horizon, int | np.integer) or not 1 <= horizon <= reach:
        raise InputError(
            f"{len(observed)} rows allow forecasts of 1 to {reach} steps; got {horizon}. For the "
            "time after the last row use system.predict(values[-1:], horizon)."
        )
    return read_only(np.ascontiguousarray(system.predict(observed[:-horizon], horizon)))


def residual_deviation(system: LinearSystem, values: np.ndarray, horizon: int = 1) -> np.ndarray:
    """Return the root mean square error of the forecasts of each series.

    For an error band, compute it on the training rows and use the forecast ± 2 deviations: for
    normal errors, the band contains about 95 % of these rows. The band has the same width at all
    times, and may be too narrow for held-out rows. The deviation is computed for each horizon,
    since there is no simple rule for its growth. The mean error is not subtracted, because the band
    has to cover it as well.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
    horizon : int

    Returns
    -------
    float array, shape (n,), read-only
        In the units of the series.

    Examples
    --------
    >>> dynamics.residual_deviation(system, series.values).round(1)
    array([1. , 1. , 0.9, 1. , 1. , 1. , 1. , 1. ])
    """
    errors = predict(system, values, horizon) - np.asarray(values)[horizon:]
    return read_only(np.sqrt(np.mean(errors**2, axis=0)))
