"""Synthetic city: hourly counts in its blocks, with days, weeks, weather and traffic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from graftviz.data.series.series import TimeSeries
from graftviz.utils.errors import InputError

_START = "2024-01-01T00:00"  # a Monday
_DAY, _WEEK = 24, 168
_FLOWS = 4  # blocks to which the surplus of a block moves
_STAY, _MOVE = 0.3, 0.5  # shares of a surplus that stay and that move


def simulate_city(side: int, hours: int, *, seed: int = 0) -> TimeSeries:
    """Return hourly counts of arrivals and departures in all blocks of a city, from a Monday on.

    Every block has a mixture of three daily profiles (offices on weekdays, homes every day, bars on
    weekend nights), with larger counts near the centre. Deviations from the profile, random or
    caused by weather common to all blocks, partly stay and partly move to other blocks within the
    hour. Counts are Poisson distributed. Because of the external inputs there is no true A.

    Parameters
    ----------
    side : int
        Blocks along each side; there are side² series, named by row and column.
    hours : int
        At least 2.
    seed : int

    Raises
    ------
    InputError
        For no block, or less than two hours.

    Examples
    --------
    >>> dynamics.simulate_city(2, 24).names[:2]
    ('0-0', '0-1')
    """
    if side < 1 or hours < 2:
        raise InputError(
            f"A city needs at least one block per side and two hours; got {side} and {hours}."
        )
    random = np.random.default_rng(seed)
    n = side * side
    rows, columns = np.divmod(np.arange(n), side)
    middle = (side - 1) / 2.0
    distance = np.hypot(rows - middle, columns - middle) / max(side, 2)
    busy = 120.0 * np.exp(-4.0 * distance) * random.lognormal(0.0, 0.5, n)
    shares = random.dirichlet([0.6, 0.8, 0.4], n)
    usual = busy[:, None] * (shares @ _profiles(hours))
    flows = _flows(rows, columns, random)
    surplus, weather = np.zeros(n), 0.0
    counts = np.empty((hours, n))
    for t in range(hours):
        weather = 0.9 * weather + 0.03 * random.standard_normal()
        shock = usual[:, t] * (weather + 0.1 * random.standard_normal(n))
        surplus = flows @ surplus + shock
        counts[t] = random.poisson(np.maximum(usual[:, t] + surplus, 0.0))
    names = tuple(f"{row}-{column}" for row, column in zip(rows, columns, strict=True))
    times = pd.date_range(_START, periods=hours, freq="h").strftime("%Y-%m-%dT%H:%M")
    return replace(TimeSeries.from_array(counts, names), times=tuple(times), title="A made-up city")


def _profiles(hours: int) -> np.ndarray:
    """Return the three daily profiles, shape (3, hours)."""
    hour, day = np.arange(hours) % _DAY, np.arange(hours) % _WEEK // _DAY
    weekday = day < 5
    offices = np.where(weekday, _bump(hour, 8.5, 2.0) + _bump(hour, 18.0, 2.5), 0.15)
    homes = 0.6 * _bump(hour, 7.5, 2.0) + 0.8 * _bump(hour, 20.0, 3.0)
    free = (day == 4) | (day == 5) | ((day == 6) & (hour < 5))
    bars = np.where(free, 1.0, 0.25) * _bump(hour, 23.5, 3.0)
    return np.array([offices, homes, bars]) + 0.08


def _bump(hour: np.ndarray, centre: float, width: float) -> np.ndarray:
    """Return a bell curve around an hour of the day, periodic with period one day."""
    apart = np.abs(hour - centre)
    bell: np.ndarray = np.exp(-0.5 * (np.minimum(apart, _DAY - apart) / width) ** 2)
    return bell


def _flows(rows: np.ndarray, columns: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the matrix by which surplus moves, shape (n, n); columns sum to less than 1."""
    n = len(rows)
    flows = _STAY * np.eye(n)
    for block in range(n):
        near = np.exp(-0.7 * np.hypot(rows - rows[block], columns - columns[block]))
        near[block] = 0.0
        count = min(_FLOWS, n - 1)
        if count:
            to = random.choice(n, size=count, replace=False, p=near / near.sum())
            flows[to, block] += _MOVE * random.dirichlet(np.ones(count))
    return flows
