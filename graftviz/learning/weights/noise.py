"""Scores of independent pairs and features due to sampling noise."""

from __future__ import annotations

import numpy as np

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


def feature_noise(margins: np.ndarray, offsets: np.ndarray, rows: float) -> float:
    """Return the score of a feature of two independent variables due to sampling noise.

    p_D(i = a, j = b) − p_D(i = a) p_D(j = b) has the variance p_a (1 − p_a) p_b (1 − p_b) / N. The
    result is the root of its mean over the states of all variables that vary; 0 if none does. The
    parameters are those of :func:`score_noise`.
    """
    shares = np.asarray(margins, dtype=np.float64) / rows
    spread = shares * (1.0 - shares)
    varies = np.maximum.reduceat(spread, offsets[:-1]) > 0.0
    spread = spread[np.repeat(varies, np.diff(offsets))]
    return float(spread.mean()) / float(np.sqrt(rows)) if len(spread) else 0.0
