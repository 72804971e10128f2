"""Scores of independent pairs and features due to sampling noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import inner_kernel

_CONSTANT = 1e-9  # impurity below which a variable counts as constant


def impurity_of(shares: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
    """Return 1 - ‖p‖² of every variable or row; 0 for those with one observed state.

    Unobserved states have a tiny share instead of zero, which is smaller than the share of a state
    observed once in a billion rows.

    Parameters
    ----------
    shares : float64 array
        Flat with `offsets`, otherwise with the states as last axis.
    offsets : int64 array, shape (n + 1,), optional
        Where the shares of each variable begin.
    """
    squares = shares**2
    totals = squares.sum(axis=-1) if offsets is None else np.add.reduceat(squares, offsets[:-1])
    impurity: np.ndarray = 1.0 - totals
    return np.where(impurity < _CONSTANT, 0.0, impurity)


def score_noise(margins: np.ndarray, offsets: np.ndarray, rows: float, *, root: bool) -> float:
    """Return the belief score of two independent variables due to sampling noise.

    The root mean square of ‖p_D(i, j) − p_D(i) p_D(j)‖₂ is √((1 − ‖p_i‖²)(1 − ‖p_j‖²) / N); the
    score divides it by d_e. The result is the mean over pairs of variables with more than one
    state; 0 if there is no such pair.

    Parameters
    ----------
    margins : array, flat
        Counts of the states, variable after variable; variable i begins at ``offsets[i]``.
    rows : float
        N.
    root : bool
        Whether d_e is the square root of the number of joint states instead of the number.
    """
    sizes = np.diff(offsets)
    shares = np.asarray(margins, dtype=np.float64) / rows
    units = np.sqrt(sizes) if root else sizes
    roots = (np.sqrt(impurity_of(shares, offsets)) / units)[sizes > 1]
    return float(roots.mean()) ** 2 / float(np.sqrt(rows)) if len(roots) else 0.0


class FeatureUnits(NamedTuple):
    """Units of the scores of features: that of the feature (a, b) is t + r_a r_b.

    Attributes
    ----------
    roots : float64 array, flat
        r of every state, variable after variable.
    constant : float
        t.
    """

    roots: np.ndarray
    constant: float

    def of_pair(self, offsets: np.ndarray, i: int, j: int) -> np.ndarray:
        """Return the units of all features of a pair, shape (s_i, s_j)."""
        of_i, of_j = (self.roots[offsets[k] : offsets[k + 1]] for k in (i, j))
        units: np.ndarray = self.constant + np.outer(of_i, of_j)
        return units


def plain_units(states: int) -> FeatureUnits:
    """Return units of 1 for features of variables with so many states in total."""
    return FeatureUnits(np.zeros(states), 1.0)


def feature_thresholds(
    margins: np.ndarray, offsets: np.ndarray, rows: float, significance: float
) -> tuple[float, FeatureUnits]:
    """Return the threshold of a typical feature and the units of all features.

    Unit times typical threshold is the score that a feature of two independent variables exceeds
    by chance at the level of κ standard deviations. The typical feature has the mean variance over
    all variables that vary; its threshold is rounded to two digits, and 0 if none varies. Margins,
    offsets and rows are those of :func:`score_noise`.

    Notes
    -----
    N (p_D(a, b) − p_D(a) p_D(b)) has the variance v = N p_a (1 − p_a) p_b (1 − p_b). The threshold
    is (κ √v + (κ² − 1) / 6) / N: the quantile of a Poisson variable of variance v to second order
    (Cornish and Fisher), so that it holds for rare states too.
    """
    shares = np.asarray(margins, dtype=np.float64) / rows
    spread = shares * (1.0 - shares)
    means = np.add.reduceat(spread, offsets[:-1]) / np.diff(offsets)
    if not (means > 0.0).any():
        return 0.0, plain_units(len(shares))
    constant = (significance**2 - 1.0) / (6.0 * rows)
    deviation = float(means[means > 0.0].mean() / np.sqrt(rows))
    typical = min(float(f"{constant + significance * deviation:.2g}"), 1.0)
    roots = np.sqrt(spread * significance / (np.sqrt(rows) * typical))
    return typical, FeatureUnits(roots, constant / typical)


@inner_kernel
def unit_of(units, a, b):
    """Return the unit of the feature of the states at the places a and b."""
    return units.constant + units.roots[a] * units.roots[b]
