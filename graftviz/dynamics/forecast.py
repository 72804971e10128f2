"""What a system says will happen next, beside what did happen."""

from __future__ import annotations

import numpy as np

from graftviz.dynamics.system import LinearSystem, frozen
from graftviz.errors import InputError


def one_step(system: LinearSystem, values: np.ndarray) -> np.ndarray:
    """Return what is expected of every row but the first, each from the row before.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
        Consecutive states, in the units of the series.

    Returns
    -------
    float array, shape (rows − 1, n), read-only
        Row t stands beside ``values[t + 1]``.

    Raises
    ------
    InputError
        When the values are of other series, or there is only one row.
    """
    return several_steps(system, values, 1)


def several_steps(system: LinearSystem, values: np.ndarray, horizon: int) -> np.ndarray:
    """Return what is expected of every row from `horizon` on, each from `horizon` rows before.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
    horizon : int
        How many time steps ahead, at least 1.

    Returns
    -------
    float array, shape (rows − horizon, n), read-only
        Row t stands beside ``values[t + horizon]``.

    Raises
    ------
    InputError
        When the values are of other series, or have no more rows than the horizon.
    """
    known = np.asarray(values, dtype=np.float64)
    if known.ndim != 2 or known.shape[1] != system.n_series:
        raise InputError(
            f"The system is of {system.n_series} series, so values need as many columns; got an "
            f"array of shape {known.shape}."
        )
    if not 1 <= horizon < len(known):
        raise InputError(
            f"{len(known)} rows allow predictions of 1 to {len(known) - 1} steps; asked were "
            f"{horizon}."
        )
    return frozen(np.ascontiguousarray(system.predict(known[:-horizon], horizon)))
