"""Stable random systems and what they do: data whose truth is known."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from graftviz.dynamics.series import TimeSeries, Transitions, series_of
from graftviz.dynamics.system import LinearSystem, frozen
from graftviz.errors import InputError
from graftviz.table.discrete import default_names

_BURN_IN = 200  # time steps that are thrown away, so that the start is forgotten
_NILPOTENT = 1e-8  # a spectral radius that rescaling could only blow up


def random_system(
    n: int, *, entries: int | None = None, density: float = 0.1, radius: float = 0.9, seed: int = 0
) -> LinearSystem:
    """Return a random sparse system of a given spectral radius.

    Parameters
    ----------
    n : int
        Number of series.
    entries : int, optional
        How many entries of A are not zero, spread uniformly (1,000 in the thesis's experiments).
        Default: `density` times n².
    density : float
        Share of entries that are not zero, above 0 and at most 1.
    radius : float
        Spectral radius; below 1, so that the system is stable. All entries are scaled to reach it.
    seed : int

    Raises
    ------
    InputError
        When sizes make no sense, or the entries drawn form no cycle, so that every power of A dies
        out by itself and no scale gives the radius asked.
    """
    wanted = round(density * n * n) if entries is None else entries
    if n < 1 or not 1 <= wanted <= n * n:
        raise InputError(f"A system of {n} series has 1 to {n * n} entries; asked were {wanted}.")
    if not 0.0 < radius < 1.0:
        raise InputError(
            f"The spectral radius of a stable system is between 0 and 1, not {radius}."
        )
    random = np.random.default_rng(seed)
    cells = np.sort(random.choice(n * n, size=wanted, replace=False))
    flat = np.zeros(n * n)
    # Away from zero: an entry that is as good as absent could not be recovered by anyone.
    flat[cells] = random.uniform(0.5, 1.0, wanted) * random.choice([-1.0, 1.0], wanted)
    matrix = flat.reshape(n, n)
    largest = np.abs(np.linalg.eigvals(matrix)).max()
    if largest < _NILPOTENT:
        raise InputError(
            f"The {wanted} entries drawn among {n} series form no cycle; ask for more entries or "
            "take another seed."
        )
    return LinearSystem(
        default_names(n), csr_array(matrix * (radius / largest)), frozen(np.zeros(n))
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
    """Return one long run: z(t + 1) = A z(t) + c + process noise, x(t) = z(t) + observation noise.

    Parameters
    ----------
    system : LinearSystem
    rows : int
        How many time steps are kept, at least 2.
    process_noise, observation_noise : float
        Standard deviations of independent normal noise. Without process noise a stable system
        comes to rest, so give a `start` then.
    start : float array, shape (n,), optional
        z at the first row kept. Default: what 200 steps from a random state lead to.
    seed : int
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
    return series_of(values, system.names)


def simulate_transitions(
    system: LinearSystem, rows: int, *, noise: float = 0.0, seed: int = 0
) -> Transitions:
    """Return independent transitions as in the thesis: X′ standard normal, X″ = A X′, X‴ = A X″.

    Normal noise of standard deviation `noise` is added to X″ and X‴ when they are observed; none
    carries over from one to the other.
    """
    random = np.random.default_rng(seed)
    before = random.standard_normal((rows, system.n_series))
    after, later = system.predict(before), system.predict(before, 2)
    after = after + noise * random.standard_normal(after.shape)
    later = later + noise * random.standard_normal(later.shape)
    kept = (frozen(np.ascontiguousarray(part)) for part in (before, after, later))
    return Transitions(system.names, *kept)
