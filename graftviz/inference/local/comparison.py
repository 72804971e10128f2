"""Comparison of a local model with the whole model: an error bound per variable of a region.

Let C be the influence matrix of the local model q of a region, b its perturbations and s its
spreads (see `star`). Let a be a vector of upper bounds on the probabilities that coupled copies
x ~ p and y ~ q differ at i. In the coupling form of Dobrushin's comparison theorem, a remains such
a vector when a_i is replaced by

    (C a)_i + b_i,    or by    s_i.

The first accounts for each neighbour that differs and for the cut edges, the second for the
combined effect of all neighbours. The trivial vector a = 1 is such a vector, so the solution of
a = min(C a + b, s) reached from it is one too, and |p(x_i = k) − q(x_i = k)| ≤ a_i. Where C a + b
is the smaller of the two everywhere, a = D b with D = (I − C)⁻¹, the paper's Corollary 2. A row
that uses the spread is called *loose*: its row of C is zero, and s_i replaces b_i. So strong
couplings far from the query do not weaken the bounds near it, and the spectral radius of C need not
be below 1. Corollary 2 alone (``bound="corollary-2"``) is vacuous unless it is.

Every b_i and s_i holds a rounding reserve δ > 0. A computed vector a ≥ 0 is accepted only if
a ≥ C a + b − δ/2: then I − C is a nonsingular M-matrix, however inaccurate its computed inverse,
and a is a valid vector of bounds.

References
----------
Föllmer: A covariance estimate for Gibbs measures, J. Funct. Anal. 46 (1982).
Chen, Peng, Liu: Efficient localized inference for large graphical models, Theorem 1, Corollary 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.local.star import ROUNDING

_MOST_ROUNDS = 100
_GAIN = 1e-13  # smallest decrease of a bound for which a row is changed


class Coefficients(NamedTuple):
    """Coefficients of all variables of a region, in the order of addition.

    Attributes
    ----------
    influence : float64 array, shape (k, k)
        C.
    perturbation, spread : float64 arrays, shape (k,)
        b and s, rounding reserve included.
    """

    influence: np.ndarray
    perturbation: np.ndarray
    spread: np.ndarray


class ComparisonSolution(NamedTuple):
    """Solution of a = min(C a + b, s).

    Attributes
    ----------
    coefficients : Coefficients
    loose : bool array, shape (k,)
    inverse : float64 array, shape (k, k)
        (I − C)⁻¹ with the loose rows of C zeroed.
    bounds : float64 array, shape (k,)
        a.
    """

    coefficients: Coefficients
    loose: np.ndarray
    inverse: np.ndarray
    bounds: np.ndarray


def compare_from_scratch(coefficients: Coefficients) -> ComparisonSolution:
    """Solve for a region from scratch, beginning with every row loose.

    Each round solves one linear system and switches the rows whose bound decreases; the bounds
    decrease from round to round.
    """
    loose = np.ones(len(coefficients.spread), dtype=bool)
    bounds = coefficients.spread.copy()
    for _ in range(_MOST_ROUNDS):
        better = _better_rows(coefficients, loose, bounds)
        if not len(better):
            break
        tried = loose.copy()
        tried[better] = ~loose[better]
        matrix, constants = _system(coefficients, tried)
        try:
            solution = np.linalg.solve(np.eye(len(loose)) - matrix, constants)
        except np.linalg.LinAlgError:
            break
        if not _is_proven(matrix, constants, solution):
            break
        loose, bounds = tried, solution
    matrix, _ = _system(coefficients, loose)
    return ComparisonSolution(
        coefficients, loose, np.linalg.inv(np.eye(len(loose)) - matrix), bounds
    )


def compare_by_corollary(coefficients: Coefficients) -> ComparisonSolution:
    """Return a = (I − C)⁻¹ b, the paper's Corollary 2; a = 1 unless it is proven."""
    matrix, constants = coefficients.influence, coefficients.perturbation
    k = len(constants)
    try:
        inverse = np.linalg.inv(np.eye(k) - matrix)
        solution = inverse @ constants
    except np.linalg.LinAlgError:
        solution = np.full(k, np.nan)
    if _is_proven(matrix, constants, solution):
        return ComparisonSolution(coefficients, np.zeros(k, dtype=bool), inverse, solution)
    return ComparisonSolution(coefficients, np.ones(k, dtype=bool), np.eye(k), np.ones(k))


def with_variable(
    before: Coefficients,
    touched: np.ndarray,
    rows: np.ndarray,
    perturbation: np.ndarray,
    spread: np.ndarray,
) -> Coefficients:
    """Return the coefficients of a region with one more variable; see `appended`."""
    k = len(before.perturbation)
    influence = np.zeros((k + 1, k + 1))
    influence[:k, :k] = before.influence
    influence[touched], influence[k] = rows[:-1], rows[-1]
    changed = np.append(touched, k)
    all_perturbation, all_spread = (
        np.append(before.perturbation, 0.0),
        np.append(before.spread, 0.0),
    )
    all_perturbation[changed], all_spread[changed] = perturbation, spread
    return Coefficients(influence, all_perturbation, all_spread)


def appended(
    before: ComparisonSolution,
    touched: np.ndarray,
    rows: np.ndarray,
    perturbation: np.ndarray,
    spread: np.ndarray,
    loose: np.ndarray,
) -> ComparisonSolution:
    """Return the comparison of a region with one more variable.

    Parameters
    ----------
    before : ComparisonSolution
        Solution of the k variables so far.
    touched : int64 array, shape (t,)
        Places of the neighbours of the added variable, whose rows change.
    rows : float64 array, shape (t + 1, k + 1)
        New influence rows of these neighbours, then the row of the added variable.
    perturbation, spread : float64 arrays, shape (t + 1,)
    loose : bool array, shape (t + 1,)
        Which of these rows are loose initially.
    """
    k = len(before.bounds)
    coefficients = with_variable(before.coefficients, touched, rows, perturbation, spread)
    all_loose = np.append(before.loose, False)
    all_loose[np.append(touched, k)] = loose
    old, _ = _system(before.coefficients, before.loose)
    new, _ = _system(coefficients, all_loose)
    inverse = with_rows_changed(before.inverse, touched, new[touched, :k] - old[touched])
    inverse = bordered(inverse, new[:k, k], new[k, :k])
    return _improved(coefficients, all_loose, inverse)


def with_rows_changed(inverse: np.ndarray, rows: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return (I − C − E Δ)⁻¹ from (I − C)⁻¹ (Woodbury); E Δ adds `change` to `rows` of C.

    Parameters
    ----------
    inverse : float64 array, shape (k, k)
    rows : int64 array, shape (t,)
    change : float64 array, shape (t, k)
    """
    columns, product = inverse[:, rows], change @ inverse
    return inverse + columns @ np.linalg.solve(np.eye(len(rows)) - product[:, rows], product)


def bordered(inverse: np.ndarray, column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the inverse of I − C for C with one more column and row, 0 on the diagonal."""
    right, below = inverse @ column, row @ inverse
    corner = 1.0 / (1.0 - row @ right)
    k = len(inverse)
    larger = np.empty((k + 1, k + 1))
    larger[:k, :k] = inverse + np.outer(right, corner * below)
    larger[:k, k], larger[k, :k], larger[k, k] = corner * right, corner * below, corner
    return larger


def _improved(
    coefficients: Coefficients, loose: np.ndarray, inverse: np.ndarray
) -> ComparisonSolution:
    """Switch rows while a bound decreases; solve from scratch if rounding errors get too large."""
    for _ in range(_MOST_ROUNDS):
        matrix, constants = _system(coefficients, loose)
        solution = inverse @ constants
        solution += inverse @ (constants - (solution - matrix @ solution))
        if not _is_proven(matrix, constants, solution):
            return compare_from_scratch(coefficients)
        better = _better_rows(coefficients, loose, solution)
        if not len(better):
            return ComparisonSolution(coefficients, loose, inverse, solution)
        loose = loose.copy()
        loose[better] = ~loose[better]
        change = np.where(loose[better, None], -1.0, 1.0) * coefficients.influence[better]
        try:
            inverse = with_rows_changed(inverse, better, change)
        except np.linalg.LinAlgError:
            break
    return compare_from_scratch(coefficients)


def _system(coefficients: Coefficients, loose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return C with its loose rows zeroed, and the constant of each row."""
    matrix = np.where(loose[:, None], 0.0, coefficients.influence)
    return matrix, np.where(loose, coefficients.spread, coefficients.perturbation)


def _better_rows(coefficients: Coefficients, loose: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the rows that get a smaller bound when switched between loose and not loose."""
    through_neighbours = coefficients.influence @ bounds + coefficients.perturbation
    other = np.where(loose, through_neighbours, coefficients.spread)
    return np.flatnonzero(other < bounds - _GAIN)


def _is_proven(matrix: np.ndarray, constants: np.ndarray, solution: np.ndarray) -> bool:
    if not np.isfinite(solution).all() or solution.min() < 0.0:
        return False
    return bool((solution - matrix @ solution >= constants - 0.5 * ROUNDING).all())
