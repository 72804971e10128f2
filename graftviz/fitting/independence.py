"""Distance of pairs of variables from independence, and its size under sampling noise."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from graftviz.counts import PairCounts, count_pair
from graftviz.table import DiscreteTable

_FALLBACK = 1e-3
_HALVINGS = 40


def distances(counts: PairCounts) -> np.ndarray:
    """Return ‖p_i p_jᵀ − p_D(i, j)‖₂ of every pair, float64, shape (n, n), 0 on the diagonal."""
    n = counts.n_variables
    out = np.zeros((n, n))
    for i in range(n - 1):
        _distances_of_row(counts.packed, i, counts.scratch, out[i])
    return out + out.T


def noise_lam(table: DiscreteTable, dimensions: np.ndarray) -> float:
    """Return the score that sampling noise alone would exceed in one of all pairs, on average.

    For independent variables N ‖p_i p_jᵀ − p_D‖² is a sum of squared normal deviates, weighted by
    the products of the eigenvalues of V_i and V_j, V = diag(p) − p pᵀ. Its mean is tr V_i tr V_j;
    it is approximated by that times χ² / k with k = ν_i ν_j degrees of freedom, ν = (tr V)² / ‖V‖²
    (Satterthwaite), and χ² by the formula of Wilson and Hilferty. The result is the λ at which
    the exceedance probabilities of all pairs sum to one.

    Parameters
    ----------
    table : DiscreteTable
    dimensions : float64 array, shape (n, n)
        d of every pair.

    Returns
    -------
    float
        1e-3 if fewer than two variables vary.
    """
    traces, freedoms = np.zeros(table.n_variables), np.ones(table.n_variables)
    for i in range(table.n_variables):
        shares = table.state_counts(i) / table.total_weight
        covariance = np.diag(shares) - np.outer(shares, shares)
        traces[i] = np.trace(covariance)
        if traces[i] > 0.0:
            freedoms[i] = traces[i] ** 2 / np.sum(covariance**2)
    first, second = np.triu_indices(table.n_variables, 1)
    squares = traces[first] * traces[second] / table.total_weight / dimensions[first, second] ** 2
    varying = squares > 0.0
    if not varying.any():
        return _FALLBACK
    squares, freedom = squares[varying], (freedoms[first] * freedoms[second])[varying]
    low, high = 0.0, math.sqrt(squares.max())
    while _expected_above(high, squares, freedom) > 1.0:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _expected_above(middle, squares, freedom) > 1.0:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True, nogil=True)
def _distances_of_row(packed, i, table, out):
    """Write the distances of the pairs (i, j), j > i, to ``out[j]``."""
    offsets, margins, rows = packed.node_offsets, packed.margins, packed.rows
    states_i = offsets[i + 1] - offsets[i]
    for j in range(i + 1, len(offsets) - 1):
        states_j = offsets[j + 1] - offsets[j]
        count_pair(packed, i, j, table)
        total = 0.0
        for x in range(states_i):
            share = margins[offsets[i] + x] / rows
            for y in range(states_j):
                deviation = share * margins[offsets[j] + y] / rows - table[x * states_j + y] / rows
                total += deviation * deviation
        out[j] = math.sqrt(total)


@njit(cache=True, nogil=True)
def _expected_above(score, squares, freedom):
    """Return the expected number of pairs that noise lifts above `score`."""
    total = 0.0
    for pair in range(len(squares)):
        ninth = 2.0 / (9.0 * freedom[pair])
        root = (score * score / squares[pair]) ** (1.0 / 3.0)
        total += 0.5 * math.erfc((root - 1.0 + ninth) / math.sqrt(2.0 * ninth))
    return total
