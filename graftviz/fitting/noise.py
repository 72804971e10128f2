"""Scores of independent pairs and features due to sampling noise: their mean and their tail."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, chdtri

_CONSTANT = 1e-9  # impurity below which a variable counts as constant
_VARIABLES_PER_ERROR = 50  # about one false edge among so many variables
_FEW_FREEDOMS = 0.1  # quantile of degrees of freedom: few make a heavy tail
_LEAST_SIGNIFICANCE = 2.0
_LOWEST_SIGNIFICANCE = 1.5  # where many weak edges are found
_STEP = 0.1
_CLEAR_EXCESS = 3.0  # of edges over chance, in standard deviations of chance
_NO_SIGNIFICANCE = 3.0  # if no variable varies


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


def usual_significance(margins: np.ndarray, offsets: np.ndarray, rows: float) -> float:
    """Return κ such that about one pair per 50 variables exceeds κ times its noise by chance.

    Of n variables the chance of each of n² / 2 pairs is then 1 / (25 n). The tail is heavy if
    variables have two states and light if they have many of similar frequency: κ suits the tenth of
    the variables with the heaviest tails.

    Parameters
    ----------
    margins, offsets, rows
        See :func:`score_noise`.
    """
    freedoms = degrees_of_freedom(margins, offsets, rows)
    freedoms = freedoms[freedoms > 0.0]
    if len(freedoms) == 0:
        return _NO_SIGNIFICANCE
    freedom = np.quantile(freedoms, _FEW_FREEDOMS) ** 2
    chance = 2.0 / (_VARIABLES_PER_ERROR * max(len(freedoms) - 1, 1))
    return max(float(np.sqrt(chdtri(freedom, chance) / freedom)), _LEAST_SIGNIFICANCE)


def degrees_of_freedom(margins: np.ndarray, offsets: np.ndarray, rows: float) -> np.ndarray:
    """Return the degrees of freedom d_i of every variable, 0 if it does not vary, shape (n,).

    If two variables are independent, the squared ratio of a norm to its noise is distributed about
    as χ² with d_i d_j degrees of freedom, divided by d_i d_j (Satterthwaite 1946).

    Parameters
    ----------
    margins, offsets, rows
        See :func:`score_noise`.
    """
    shares = np.asarray(margins, dtype=np.float64) / rows
    squares, cubes = (np.add.reduceat(shares**power, offsets[:-1]) for power in (2, 3))
    # Σ = diag(p) - p pᵀ is the covariance of the indicators of the states of a variable, and
    # d = (tr Σ)² / tr Σ². That of a pair is the product of both.
    trace, square = impurity_of(shares, offsets), squares - 2.0 * cubes + squares**2
    freedoms = np.zeros(len(trace))
    np.divide(trace**2, square, out=freedoms, where=trace > 0.0)
    return freedoms


def lower_significance(multiples: np.ndarray, freedoms: np.ndarray, significance: float) -> float:
    """Return the κ that separates edges from chance best, at most `significance`.

    Chance explains a number of the pairs between a lower κ and `significance`, which follows from
    the pairs below the median of chance (Storey 2002); the others are edges. The result is the κ
    with the largest excess of edges over chance among the additional pairs: the last of them are
    edges with a probability of about a half. It is `significance` if the excess is less than three
    times what chance varies by, as on data without many weak edges.

    Parameters
    ----------
    multiples : float64 array, shape (k,)
        Norm of each of a random sample of inactive pairs as a multiple of its noise.
    freedoms : float64 array, shape (k,)
        Degrees of freedom of each pair, above 0.
    significance : float
        κ of the run, which none of the pairs exceeds.
    """
    if len(multiples) == 0:
        return significance
    is_below_median = chdtrc(freedoms, freedoms * multiples**2) > 0.5
    error = 1.0 / np.sqrt(len(multiples))  # of twice that share
    no_edges = min(2.0 * float(is_below_median.mean()) + 2.0 * error, 1.0)
    lower = np.arange(significance - _STEP, _LOWEST_SIGNIFICANCE - 1e-9, -_STEP)
    # Conditional distributions have fewer degrees of freedom than margins, hence heavier tails.
    few = np.full_like(freedoms, np.quantile(freedoms, _FEW_FREEDOMS))
    expected = no_edges * np.maximum(
        *(_between(lower, significance, freedom) for freedom in (freedoms, few))
    )
    observed = (multiples[:, np.newaxis] > lower).sum(axis=0)
    excess = observed - 2.0 * expected
    excess[excess <= _CLEAR_EXCESS * np.sqrt(np.maximum(expected, 1.0))] = -np.inf
    if not np.isfinite(excess).any():
        return significance
    return float(f"{lower[np.argmax(excess)]:.2g}")


def _between(lower: np.ndarray, upper: float, freedoms: np.ndarray) -> np.ndarray:
    """Return the number of pairs that chance puts between each lower multiple and `upper`."""
    above = np.array([chdtrc(freedoms, freedoms * kappa**2).sum() for kappa in (upper, *lower)])
    return above[1:] - above[0]


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
