"""Simulated series: random systems with a known truth, and a synthetic city."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from graftviz.data.series.series import TimeSeries, Transitions
from graftviz.data.table import default_names
from graftviz.dynamics.system import LinearSystem
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

_BURN_IN = 200  # time steps discarded at the start
_NILPOTENT = 1e-8  # spectral radii below this are numerically zero and cannot be rescaled
_START = "2024-01-01T00:00"  # a Monday
_DAY, _WEEK = 24, 168
_FLOWS = 4  # blocks to which the surplus of a block moves
_STAY, _MOVE = 0.3, 0.5  # shares of a surplus that stay and that move


def random_system(
    n: int, *, entries: int | None = None, density: float = 0.1, radius: float = 0.9, seed: int = 0
) -> LinearSystem:
    """Return a random sparse system with a specified spectral radius.

    Parameters
    ----------
    n : int
        Number of series.
    entries : int, optional
        Number of non-zero entries of A, at uniformly random places (1,000 in the experiments of
        the thesis). Default: `density` times n².
    density : float
        Share of entries that are not zero, above 0 and at most 1.
    radius : float
        Spectral radius; below 1, so that the system is stable. All entries are scaled to reach it.
    seed : int

    Raises
    ------
    InputError
        For invalid sizes, or if the random entries form no cycle, so that A is nilpotent and cannot
        be scaled to the spectral radius.

    Examples
    --------
    >>> dynamics.random_system(5, density=0.4, seed=0).coefficients.nnz
    10
    """
    count = round(density * n * n) if entries is None else entries
    if n < 1 or not 1 <= count <= n * n:
        raise InputError(f"A system of {n} series has 1 to {n * n} entries; got {count}.")
    if not 0.0 < radius < 1.0:
        raise InputError(
            f"The spectral radius of a stable system is between 0 and 1, not {radius}."
        )
    random = np.random.default_rng(seed)
    cells = np.sort(random.choice(n * n, size=count, replace=False))
    flat = np.zeros(n * n)
    # Bounded away from zero, since no learner can recover negligible entries.
    flat[cells] = random.uniform(0.5, 1.0, count) * random.choice([-1.0, 1.0], count)
    matrix = flat.reshape(n, n)
    largest = np.abs(np.linalg.eigvals(matrix)).max()
    if largest < _NILPOTENT:
        raise InputError(
            f"The {count} entries drawn among {n} series form no cycle; use more entries or "
            "another seed."
        )
    return LinearSystem(
        default_names(n), csr_array(matrix * (radius / largest)), read_only(np.zeros(n))
    )


def simulate(
    system: LinearSystem,
    rows: int,
    *,
    process_noise: float = 1.0,
    observation_noise: float = 0.0,
    start: np.ndarray | None = None,
    seed: int = 0,
) -> TimeSeries:
    """Simulate z(t + 1) = A z(t) + c + process noise, x(t) = z(t) + observation noise.

    Parameters
    ----------
    system : LinearSystem
    rows : int
        Number of time steps, at least 2.
    process_noise, observation_noise : float
        Standard deviations of independent normal noise. Without process noise, a stable system
        converges to rest, so that `start` is necessary.
    start : float array, shape (n,), optional
        z at the first row. Default: the state after 200 steps from a random state.
    seed : int

    Examples
    --------
    >>> dynamics.simulate(system, 10, seed=0).values.shape
    (10, 8)
    """
    if rows < 2 or process_noise < 0.0 or observation_noise < 0.0:
        raise InputError("A simulation needs at least two rows, and noise that is not negative.")
    random = np.random.default_rng(seed)
    n = system.n_series
    burn_in = 0 if start is not None else _BURN_IN
    state = random.standard_normal(n) if start is None else np.array(start, dtype=np.float64)
    values = np.empty((rows, n))
    for t in range(burn_in + rows):
        if t > 0:
            noise = process_noise * random.standard_normal(n)
            state = system.coefficients @ state + system.intercept + noise
        if t >= burn_in:
            values[t - burn_in] = state
    if observation_noise > 0.0:
        values += observation_noise * random.standard_normal(values.shape)
    return TimeSeries.from_array(values, system.names)


def simulate_transitions(
    system: LinearSystem, rows: int, *, noise: float = 0.0, seed: int = 0
) -> Transitions:
    """Return independent transitions as in the thesis: X′ standard normal, X″ = A X′, X‴ = A X″.

    Independent normal noise of standard deviation `noise` is added to X″ and X‴ as observation
    noise.

    Examples
    --------
    >>> dynamics.simulate_transitions(system, 10).after.shape
    (10, 8)
    """
    random = np.random.default_rng(seed)
    before = random.standard_normal((rows, system.n_series))
    after, later = system.predict(before), system.predict(before, 2)
    after = after + noise * random.standard_normal(after.shape)
    later = later + noise * random.standard_normal(later.shape)
    arrays = (read_only(np.ascontiguousarray(part)) for part in (before, after, later))
    return Transitions(system.names, *arrays)


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
