"""Forecasts of a learned system along rows that are known, and how far off they usually are."""

from __future__ import annotations

import numpy as np

from graftviz.dynamics.system import LinearSystem, frozen
from graftviz.errors import InputError


def one_step(system: LinearSystem, values: np.ndarray) -> np.ndarray:
    """Return what is expected for rows 1, 2, … of `values`, each from the row before.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
        A row per time; at least two.

    Returns
    -------
    float array, shape (rows - 1, n), read-only
        Row t is the forecast of ``values[t + 1]``.

    Raises
    ------
    InputError
        When there is no row to be forecast, or the array is of other series.
    """
    return several_steps(system, values, 1)


def several_steps(system: LinearSystem, values: np.ndarray, horizon: int) -> np.ndarray:
    """Return what is expected `horizon` steps later, beginning at each row but the last ones.

    Each forecast sees the row it begins at and nothing that came after.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
        A row per time; more than `horizon`.
    horizon : int
        Time steps ahead, at least 1.

    Returns
    -------
    float array, shape (rows - horizon, n), read-only
        Row t is the forecast of ``values[t + horizon]``.

    Raises
    ------
    InputError
        When the rows do not reach that far, or the array is of other series.
    """
    known = np.asarray(values, dtype=np.float64)
    if known.ndim != 2 or known.shape[1] != system.n_series:
        raise InputError(
            f"Forecasts of {system.n_series} series need an array of times × {system.n_series} "
            f"series; got one of shape {known.shape}."
        )
    reach = len(known) - 1
    if not 1 <= horizon <= reach:
        raise InputError(
            f"{len(known)} rows allow forecasts of 1 to {reach} steps; asked were {horizon}."
        )
    return frozen(np.ascontiguousarray(system.predict(known[:-horizon], horizon)))


def residual_deviation(system: LinearSystem, values: np.ndarray, horizon: int = 1) -> np.ndarray:
    """Return how far forecasts of each series are off: the root mean square of their errors.

    For an error band, take it over the rows the system was learned from and draw the forecast
    ± 2 deviations: that holds about 95 % of these rows where errors are normal. The band is as wide
    at all times, and may be too narrow for rows that were not learned from. It is measured at the
    horizon itself, since errors grow by no simple rule from step to step. The mean error is not
    subtracted, as a band has to cover it too.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
    horizon : int

    Returns
    -------
    float array, shape (n,), read-only
        In the units of the series.
    """
    errors = several_steps(system, values, horizon) - np.asarray(values)[horizon:]
    return frozen(np.sqrt(np.mean(errors**2, axis=0)))
