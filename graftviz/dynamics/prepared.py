"""Series prepared for learning: training rows, held-out rows, and their neighbours in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.samples import load_sample
from graftviz.dynamics.simulation import random_system, simulate
from graftviz.dynamics.system import LinearSystem

_NEIGHBOURS = 2  # of the series that follow a series most closely, for its place


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """Series with a division of their rows.

    Attributes
    ----------
    identity : str
        Equal for equal series with an equal division.
    title : str
    series, train, test : TimeSeries
        All rows, the first of them, and the last.
    positions : int array, shape (n, 2), or None
        Known positions in a picture, 0 … 10000, y downwards.
    truth : LinearSystem or None
    parents : tuple of n tuples of int, or None
        From a file.
    own : object
        Cache of results for uploaded series; None if their results are shared.
    """

    identity: str
    title: str
    series: TimeSeries
    train: TimeSeries
    test: TimeSeries
    positions: np.ndarray | None
    truth: LinearSystem | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    own: Any = None

    @property
    def n(self) -> int:
        """The number of series."""
        return self.series.n_series

    @property
    def neighbours(self) -> np.ndarray:
        """Pairs that a picture shows beside each other, shape (k, 2).

        They are the series that drive a series, or else those that it follows most closely.
        """
        if self.truth is None:
            pairs = _followers(self.train)
        else:
            pairs = np.argwhere(self.truth.matrix != 0.0)
        return pairs[pairs[:, 0] != pairs[:, 1]]


def prepare_series(
    identity: str,
    title: str,
    series: TimeSeries,
    test_fraction: float,
    positions: np.ndarray | None = None,
    **more: Any,
) -> PreparedSeries:
    """Hold out rows; `more` are further attributes.

    Raises
    ------
    InputError
        If too few rows are left to learn from.
    """
    train, test = series.split(test_fraction)
    places = None if positions is None else np.rint(positions).astype(np.int64)
    identity = f"{identity}:{test_fraction}"
    return PreparedSeries(identity, title, series, train, test, places, **more)


def generated_series(
    size: int, density: float, rows: int, noise: float, *, seed: int, test_fraction: float
) -> PreparedSeries:
    """Return a simulation of a stable random sparse system, prepared.

    Parameters
    ----------
    size : int
        Number of series.
    density : float
        Share of non-zero coefficients.
    rows : int
    noise : float
        Standard deviation of the observation noise.
    seed : int
    test_fraction : float
        Share of the rows to hold out.
    """
    truth = random_system(size, density=density, seed=seed)
    series = simulate(truth, rows, observation_noise=noise, seed=seed)
    title = f"Random system · {size} series, {rows:,} rows"
    identity = f"random:{(size, density, rows, noise, seed)}"
    return prepare_series(identity, title, series, test_fraction, truth=truth)


def sampled_series(key: str, test_fraction: float) -> PreparedSeries:
    """Return a sample of ``sample_data``, prepared."""
    sample = load_sample(key)
    return prepare_series(key, sample.title, sample.series, test_fraction, sample.positions)


def _followers(train: TimeSeries) -> np.ndarray:
    """Return pairs of each series and those that correlate most with it one step later."""
    values = train.values - train.values.mean(axis=0)
    sizes = np.linalg.norm(values, axis=0)
    values = values / np.where(sizes > 0.0, sizes, 1.0)
    strength = np.abs(values[1:].T @ values[:-1])
    np.fill_diagonal(strength, 0.0)
    n = len(strength)
    nearest = np.argsort(-strength, axis=1, kind="stable")[:, : min(_NEIGHBOURS, n - 1)]
    return np.column_stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()])
