"""Test of a pair: whether its counts differ from what a model expects by more than chance.

One level holds for all pairs, and each pair has its own threshold, which follows from its numbers
of states and from how rare they are. The usual level lets about one of the pairs of 50 variables
pass by chance, and is lowered where many weak edges are left.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfc, gammaincc, gammainccinv, ndtri

from graftviz.learning.counts.packed import seen_states
from graftviz.learning.weights.noise import impurity_of
from graftviz.utils.arrays import read_only
from graftviz.utils.compiling import inner_kernel, kernel

_VARIABLES_PER_ERROR = 50  # about one false edge among so many variables
_HIGHEST_LEVEL = 0.01  # of a pair among few variables
_LOWEST_SIGNIFICANCE = 1.5  # where many weak edges are found
_STEP = 0.1
_CLEAR_EXCESS = 3.0  # of edges over chance, in standard deviations of chance
_SMALL = 2.0  # expected counts below it are judged cell by cell
_CELL_LENIENCE, _REST_LENIENCE = 2.0, 5.0  # levels of the second test over that of the first
_MOST_LENIENT = 0.5
_FEW_SHAPES = 0.1  # quantile of the shapes with heavy tails
_RARE_PART = 0.1  # of the variance of T that rare states cause, where they decide
_NO_VARIANCE = 1e-15  # at or below it a pair cannot vary
_LEAST_CRITICAL = 1e-3
_LOG_SHAPES = np.linspace(math.log(1e-4), math.log(1e6), 600)  # grid of the thresholds
_FIRST, _PER_STEP = float(_LOG_SHAPES[0]), float(1.0 / (_LOG_SHAPES[1] - _LOG_SHAPES[0]))
_LEAST_OTHERS = 2.0  # rows outside the most frequent state
_FEWEST_ROWS = 5.0  # below, the variance of the statistic is undefined


class UsualLevel(NamedTuple):
    """Variables whose pairs keep the usual level where κ was lowered for others.

    Attributes
    ----------
    significance : float
        Their κ.
    variables : frozenset of int
    """

    significance: float = 0.0
    variables: frozenset[int] = frozenset()


ALL_ALIKE = UsualLevel()


class PairTest(NamedTuple):
    """Arrays of the test of any pair at its level; see :func:`pair_test`.

    Attributes
    ----------
    offsets : int64 array, shape (n + 1,)
        Where the states of each variable begin.
    shares : float64 array, flat
        p_D(x_i).
    impurity : float64 array, shape (n,)
        1 - Σ_a p_D(a)²; 0 if fewer than two rows are outside the most frequent state, as one row is
        no evidence.
    common, rare : float64 arrays, shape (n,)
        The variance of T / N of a pair is the product of the first plus that of the second.
    critical, lenient : float64 arrays, shape (2, shapes)
        Thresholds of the root of a gamma variable over its mean, on a grid of shapes, in the first
        and in the second test; the second row is that of variables at the usual level.
    log_cell : float64 array, shape (2,)
        Logarithm of the level at which a single cell passes the second test.
    is_usual : bool array, shape (n,)
    rows : float
        N.
    """

    offsets: np.ndarray
    shares: np.ndarray
    impurity: np.ndarray
    common: np.ndarray
    rare: np.ndarray
    critical: np.ndarray
    lenient: np.ndarray
    log_cell: np.ndarray
    is_usual: np.ndarray
    rows: float


def level_of(significance: float) -> float:
    """Return the probability with which chance exceeds `significance` standard deviations."""
    return float(erfc(significance / math.sqrt(2.0)))


def significance_of(level: float) -> float:
    """Return the κ with :func:`level_of` this level."""
    return float(-ndtri(level / 2.0))


def pair_test(
    margins: np.ndarray,
    offsets: np.ndarray,
    rows: float,
    significance: float,
    usual: UsualLevel = ALL_ALIKE,
) -> PairTest:
    """Return the test of pairs at the level of κ standard deviations of a normal distribution.

    Parameters
    ----------
    margins : array, flat
        Counts of the states, variable after variable.
    offsets : int64 array, shape (n + 1,)
    rows : float
        N.
    significance : float
        κ; a pair passes if chance exceeds what is observed less often than a normal number
        deviates from its mean by more than κ standard deviations.
    usual : UsualLevel
        Variables whose pairs keep the usual κ.

    Notes
    -----
    With O the counts of a pair and E those that a model expects, the statistic is the squared norm
    of the paper's score, T = Σ_ab (O_ab − E_ab)². If the pair is independent given all others, T
    has the mean N M, where M = (1 − ‖p_i‖²)(1 − ‖p_j‖²) for variables without edges
    (:func:`graftviz.learning.weights.conditionals.gradient_variance` otherwise). T / (N M) is
    compared with a gamma distribution of mean 1 with the shape m² / v, where m and v are mean and
    variance of T over all permutations of a column. With K the matrix of the indicators of one
    variable in two rows, centred in rows and columns, and L that of the other,

        m = tr K tr L / (N − 1),
        v = 2 / (N (N − 3)) · (ν_K − σ_K)(ν_L − σ_L) + σ_K σ_L / (N − 1),
        ν_K = tr K² − (tr K)² / (N − 1),   σ_K = N / (N − 2) · (Σ_m K_mm² − (tr K)² / N).

    Many states of similar shares make the tail light, rare states make σ and the tail heavy. The
    gamma distribution is still too light where single cells decide, and where conditional shares
    differ much between rows. A pair must therefore pass a second test: over the cells with E ≥ 2,
    Σ (O − E)² / E, divided by the share of the variance that other variables leave, exceeds the
    quantile of χ² with Σ (1 − p_i(a))(1 − p_j(b)) degrees of freedom at five times the level; or k
    times the smallest Poisson mid-p value of the other k cells is below twice the level. The
    factors were chosen so that independent pairs pass at the level or less often.

    References
    ----------
    J. B. S. Haldane, "The mean and variance of χ², when used as a test of homogeneity, when
    expectations are small", Biometrika 31 (1940), for K and L with equal eigenvalues.
    A. Agresti, *Categorical Data Analysis*, 3rd edition, section 1.4.4, for mid-p values.
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    n = max(float(rows), _FEWEST_ROWS)
    p = np.asarray(margins, dtype=np.float64) / rows
    second, third = (np.add.reduceat(p**power, starts) for power in (2, 3))
    trace = n * impurity_of(p, offsets)
    square = n**2 * (second - 2.0 * third + second**2)
    diagonal = 1.0 - 2.0 * p + np.repeat(second, sizes)
    balanced = square - trace**2 / (n - 1.0)
    rare = np.maximum(n * np.add.reduceat(p * diagonal**2, starts) - trace**2 / n, 0.0)
    rare *= n / (n - 2.0)
    levels = [level_of(significance), level_of(usual.significance or significance)]
    of_cell, of_rest = (
        [min(factor * level, _MOST_LENIENT) for level in levels]
        for factor in (_CELL_LENIENCE, _REST_LENIENCE)
    )
    others = n - np.maximum.reduceat(np.asarray(margins, dtype=np.float64), starts)
    is_usual = np.zeros(len(sizes), dtype=np.bool_)
    is_usual[list(usual.variables)] = True
    return PairTest(
        offsets=offsets,
        shares=p,
        impurity=np.where(others < _LEAST_OTHERS, 0.0, trace / n),
        common=np.sqrt(2.0 / (n * (n - 3.0))) * (balanced - rare) / n,
        rare=rare / (n * np.sqrt(n - 1.0)),
        critical=np.array([_critical(level) for level in levels]),
        lenient=np.array([_critical(level) for level in of_rest]),
        log_cell=np.log(np.maximum(of_cell, 1e-300)),
        is_usual=is_usual,
        rows=n,
    )


def usual_significance(margins: np.ndarray, offsets: np.ndarray) -> float:
    """Return κ such that about one pair per 50 variables passes the test by chance.

    Of n variables the chance of each of n² / 2 pairs is then 1 / (25 n), and at most 0.01. κ is
    this level in standard deviations of a normal distribution.

    Parameters
    ----------
    margins, offsets
        See :func:`pair_test`.
    """
    varies = seen_states(margins, offsets) > 1
    level = 2.0 / (_VARIABLES_PER_ERROR * max(int(varies.sum()) - 1, 1))
    return significance_of(min(level, _HIGHEST_LEVEL))


def separating_significance(chances: np.ndarray, significance: float) -> float:
    """Return the κ that separates edges from chance best, at most `significance`.

    Chance explains a number of the pairs between a lower κ and `significance`, which follows from
    the pairs with a probability above one half (Storey 2002); the others are edges. The result is
    the κ with the largest excess of edges over chance among the additional pairs: the last of them
    are edges with a probability of about a half. It is `significance` if the excess is less than
    three times what chance varies by, as on data without many weak edges.

    Parameters
    ----------
    chances : float64 array, shape (k,)
        Probability, for each of a random sample of inactive pairs, that an independent pair
        deviates as much.
    significance : float
        κ of the run, which none of the pairs exceeds.
    """
    if len(chances) == 0:
        return significance
    error = 1.0 / np.sqrt(len(chances))  # of twice the share below
    no_edges = min(2.0 * float((chances > 0.5).mean()) + 2.0 * error, 1.0)
    lower = np.arange(significance - _STEP, _LOWEST_SIGNIFICANCE - 1e-9, -_STEP)
    levels = np.array([level_of(kappa) for kappa in lower])
    expected = no_edges * len(chances) * (levels - level_of(significance))
    observed = (chances[:, np.newaxis] < levels).sum(axis=0)
    excess = observed - 2.0 * expected
    excess[excess <= _CLEAR_EXCESS * np.sqrt(np.maximum(expected, 1.0))] = -np.inf
    if not np.isfinite(excess).any():
        return significance
    return float(f"{lower[np.argmax(excess)]:.2g}")


@functools.lru_cache(maxsize=32)
def _critical(level: float) -> np.ndarray:
    """Return the root of the quantile over the mean of gamma variables of all shapes."""
    shapes = np.exp(_LOG_SHAPES)
    quantiles: np.ndarray = gammainccinv(shapes, max(level, 1e-300)) / shapes
    return read_only(np.maximum(np.sqrt(quantiles), _LEAST_CRITICAL))


@inner_kernel(inline="always")
def _threshold(table, shape):
    """Return the threshold for a shape, interpolated in its logarithm."""
    at = (np.log(shape) - _FIRST) * _PER_STEP
    at = min(max(at, 0.0), len(table) - 1.000001)
    k = int(at)
    return table[k] + (at - k) * (table[k + 1] - table[k])


@kernel(inline="always")
def shape_of(test, i, j):
    """Return the shape m² / v of the distribution of T of a pair whose variables both vary."""
    mean = test.impurity[i] * test.impurity[j] * test.rows / (test.rows - 1.0)
    variance = test.common[i] * test.common[j] + test.rare[i] * test.rare[j]
    return mean * mean / np.maximum(variance, 1e-6 * mean * mean)


@kernel(inline="always")
def threshold_of(test, i, j):
    """Return the multiple of its noise that the norm of a pair must exceed; 0: it cannot vary."""
    if test.impurity[i] * test.impurity[j] == 0.0:
        return 0.0
    return _threshold(test.critical[_row(test, i, j)], shape_of(test, i, j))


@inner_kernel(inline="always")
def _row(test, i, j):
    """Return the row of the thresholds of a pair."""
    return 1 if test.is_usual[i] or test.is_usual[j] else 0


@kernel(inline="always")
def judge(test, i, j, total, variance, expected, seen):
    """Test a pair.

    Parameters
    ----------
    test : PairTest
    i, j : int
    total : float
        T, the sum of the squared differences of the counts.
    variance : float
        M, the mean of T / N if the pair is independent given all others.
    expected, seen : arrays
        Begin with the counts that the model expects and with those observed, row-major.

    Returns
    -------
    multiple, needed, share : float
        √(T / (N M)): what multiple of its noise the norm is; the threshold of this pair; and the
        share of the threshold that is reached: the pair passes if it is above 1. All are 0 if the
        pair cannot vary.
    """
    needed = threshold_of(test, i, j)
    if variance <= _NO_VARIANCE or needed == 0.0:
        return 0.0, 0.0, 0.0
    multiple = np.sqrt(total / (test.rows * variance))
    share = multiple / needed
    if share > 1.0:
        left = variance / (test.impurity[i] * test.impurity[j])
        share = min(share, _share_of_cells(test, i, j, left, expected, seen))
    return multiple, needed, share


def smallest_norms(test: PairTest) -> np.ndarray:
    """Return the norm ‖E − O‖ / N that an independent pair exceeds at the level of the test.

    It is √(M / N) times the threshold of √(T / (N M)) in the first test; 0 if a pair cannot vary.

    Parameters
    ----------
    test : PairTest

    Returns
    -------
    float64 array, shape (n, n)
    """
    varying = np.flatnonzero(test.impurity > 0.0)
    shapes = shape_of.py_func(test, varying[:, np.newaxis], varying)
    critical = np.interp(np.log(shapes), _LOG_SHAPES, test.critical[0])
    variances = np.outer(test.impurity[varying], test.impurity[varying])
    norms = np.zeros((len(test.impurity),) * 2)
    norms[np.ix_(varying, varying)] = critical * np.sqrt(variances / test.rows)
    return norms


def chance_of(test: PairTest, pairs: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the probability that independent pairs reach as large a share of their threshold.

    It is 1 for pairs whose rare states decide, as their statistic takes few values. No variable may
    keep another level.

    Parameters
    ----------
    test : PairTest
    pairs : int array, shape (k, 2)
        Pairs that vary.
    shares : float64 array, shape (k,)
        At most 1.
    """
    shapes = shape_of.py_func(test, pairs[:, 0], pairs[:, 1])
    critical = np.interp(np.log(shapes), _LOG_SHAPES, test.critical[0])
    squares = (shares * critical) ** 2
    # Beside edges the tail is heavier than that of the margins.
    few = np.minimum(shapes, np.quantile(shapes, _FEW_SHAPES)) if len(shapes) else shapes
    chances = np.maximum(*(gammaincc(shape, shape * squares) for shape in (shapes, few)))
    rare, common = (array[pairs].prod(axis=1) for array in (test.rare, test.common))
    return np.where(rare > _RARE_PART * common, 1.0, chances)


@inner_kernel
def _share_of_cells(test, i, j, left, expected, seen):
    """Return the share of the threshold that a pair reaches in the second test.

    `left` is the share of the variance that other variables leave.
    """
    at_i, at_j = test.offsets[i], test.offsets[j]
    states_i, states_j = test.offsets[i + 1] - at_i, test.offsets[j + 1] - at_j
    level = _row(test, i, j)
    large, freedom, chance, few, k = 0.0, 0.0, 1.0, 0, 0
    for a in range(states_i):
        for b in range(states_j):
            count, observed = expected[k], seen[k]
            share_i, share_j = test.shares[at_i + a], test.shares[at_j + b]
            k += 1
            if share_i == 0.0 or share_j == 0.0:
                continue
            if count >= _SMALL:
                large += (count - observed) ** 2 / count
                freedom += (1.0 - share_i) * (1.0 - share_j)
                continue
            few += 1
            if observed >= 1.0:
                chance = min(chance, _poisson_tail(count, np.floor(observed)))
    share = 0.0
    if few > 0:
        share = max(np.log(max(few * chance, 1e-300)) / test.log_cell[level], 0.0)
    if freedom > 0.0:
        multiple = np.sqrt(large / (left * freedom))
        share = max(share, multiple / _threshold(test.lenient[level], 0.5 * freedom))
    return share


@inner_kernel
def _poisson_tail(mean, count):
    """Return the mid-p value P(X > count) + P(X = count) / 2 of a Poisson variable."""
    mean = max(mean, 1e-12)
    term = np.exp(count * np.log(mean) - mean - math.lgamma(count + 1.0))
    total, k = 0.5 * term, count
    while True:
        k += 1.0
        term *= mean / k
        total += term
        if term <= 1e-12 * total:
            return total
