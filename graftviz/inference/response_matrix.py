"""Kernels for a dense matrix of linear-response covariances and its update by an edge.

A new or changed edge adds a matrix of rank r ≤ s_i + s_j - 2 to the whitened Hessian H of
:mod:`graftviz.inference.response_terms`: H' = H + E D Eᵀ. With S = Eᵀ H⁻¹ E = G Gᵀ, V = H⁻¹ E G⁻ᵀ
and N = I + Gᵀ D G,

    H'⁻¹ = H⁻¹ - V (I - N⁻¹) Vᵀ,

and if H is positive definite, H' is positive definite iff the small matrix N is (it has the same
eigenvalues as I + H^(-1/2) E D Eᵀ H^(-1/2), except for ones).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.inference.response_factor import response_block
from graftviz.inference.response_terms import invert_positive

_SMALLEST_PIVOT = 1e-9
_CHUNK = 1024  # columns of C updated at a time, so that the operands stay in cache


class ResponseMatrix(NamedTuple):
    """Covariances of all active nodes, for kernels; :func:`locate` finds a block.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
    positions : int64 array, shape (n,)
        Node i has rows and columns ``positions[i]`` … ``positions[i] + s_i - 1`` of C; -1: it has
        no edge, and zero covariance with all other nodes.
    covariance : float64 array, flat
        C, row-major, rows `capacity` apart: its diagonal blocks and those below them. The other
        entries are undefined.
    capacity : int
    """

    node_offsets: np.ndarray
    positions: np.ndarray
    covariance: np.ndarray
    capacity: int


@njit(cache=True, nogil=True, inline="always")
def locate(positions, capacity, i, j):
    """Return (start, stride_a, stride_b): C_ij(a, b) is at start + a · stride_a + b · stride_b.

    Both nodes must have positions. C is symmetric and stored once: a block above the diagonal is
    read as the transpose of the one below.
    """
    row, column = positions[i], positions[j]
    if row >= column:
        return row * capacity + column, capacity, 1
    return column * capacity + row, 1, capacity


@njit(cache=True, nogil=True)
def dense_block(matrix, i, j, out):
    """Write C_ij to `out`, row-major; zeros if i ≠ j and either has no edge."""
    offsets, covariance = matrix.node_offsets, matrix.covariance
    states_i, states_j = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
    if matrix.positions[i] < 0 or matrix.positions[j] < 0:
        out[: states_i * states_j] = 0.0
        return
    start, stride_a, stride_b = locate(matrix.positions, matrix.capacity, i, j)
    for a in range(states_i):
        for b in range(states_j):
            out[a * states_j + b] = covariance[start + a * stride_a + b * stride_b]


@njit(cache=True, nogil=True)
def fill_blocks(factor, positions, nodes, covariance, capacity, work):
    """Write all blocks between `nodes`, sorted by position, to C."""
    offsets, component = factor.node_offsets, factor.component
    block = work[2]
    for k in range(len(nodes)):
        i = nodes[k]
        row, states_i = positions[i], offsets[i + 1] - offsets[i]
        for other in range(k + 1):
            j = nodes[other]
            column, states_j = positions[j], offsets[j + 1] - offsets[j]
            apart = component[i] != component[j]
            if not apart:
                response_block(factor, i, j, work, block)
            for a in range(states_i):
                start = (row + a) * capacity + column
                for b in range(states_j):
                    covariance[start + b] = 0.0 if apart else block[a * states_j + b]


@njit(cache=True, nogil=True)
def _whiten(values, amplitudes, at, out):
    """Write Qᵀ diag(b)^(-1/2) times `values`, shape (s, k), to `out`, shape (s - 1, k)."""
    states, size = values.shape
    last = amplitudes[at + states - 1]
    total = values[states - 1] / last
    for x in range(states - 1):
        for k in range(size):
            total[k] += values[x, k] / (1.0 + last)
    for x in range(states - 1):
        amplitude = amplitudes[at + x]
        for k in range(size):
            out[x, k] = values[x, k] / amplitude - amplitude * total[k]


@njit(cache=True, nogil=True)
def _cholesky(matrix, size):
    """Replace the lower triangle by its Cholesky factor; return False if a pivot is too small."""
    for a in range(size):
        for b in range(a + 1):
            total = matrix[a, b]
            for k in range(b):
                total -= matrix[a, k] * matrix[b, k]
            if a > b:
                matrix[a, b] = total / matrix[b, b]
            elif total > _SMALLEST_PIVOT:
                matrix[a, a] = np.sqrt(total)
            else:
                return False
    return True


@njit(cache=True, nogil=True)
def _whole_term(term, p, q):
    """Return D as one matrix, from its blocks ii, ij and jj."""
    whole = np.empty((p + q, p + q))
    for a in range(p + q):
        for b in range(p + q):
            if a < p and b < p:
                whole[a, b] = term[a * p + b]
            elif a >= p and b >= p:
                whole[a, b] = term[p * p + p * q + (a - p) * q + b - p]
            else:
                whole[a, b] = term[p * p + min(a, b) * q + max(a, b) - p]
    return whole


@njit(cache=True, nogil=True)
def _small_change(lower, whole):
    """Return I + Gᵀ D G."""
    rank = len(whole)
    right = np.zeros((rank, rank))
    for a in range(rank):
        for b in range(rank):
            for k in range(b, rank):
                right[a, b] += whole[a, k] * lower[k, b]
    inner = np.eye(rank)
    for a in range(rank):
        for b in range(rank):
            for k in range(a, rank):
                inner[a, b] += lower[k, a] * right[k, b]
    return inner


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_term(matrix, dimension, members, amplitudes, i, j, term):
    """Add D at nodes i and j to H; update C in place.

    Parameters
    ----------
    matrix : ResponseMatrix
    dimension : int
        Number of rows and columns of C in use.
    members : int64 array
        Nodes of the component of i and j, including the new edge, in order of their positions: C
        can change only between them.
    amplitudes : float64 array, flat
        √b_i(a).
    term : float64 array
        D: its blocks ii, ij and jj, row-major.

    Returns
    -------
    bool
        Whether H is still positive definite. If not, C is unchanged.
    """
    offsets, positions, capacity = matrix.node_offsets, matrix.positions, matrix.capacity
    covariance = matrix.covariance
    p, q = offsets[i + 1] - offsets[i] - 1, offsets[j + 1] - offsets[j] - 1
    rank = p + q
    across = np.empty((rank, dimension))  # Vᵀ; zero outside the members
    small = np.empty((rank, rank))
    for side in range(2):
        node, states = (i, p + 1) if side == 0 else (j, q + 1)
        own = np.zeros((states, dimension))
        for member in members:
            start, along, down = locate(positions, capacity, member, node)
            for a in range(offsets[member + 1] - offsets[member]):
                for b in range(states):
                    own[b, positions[member] + a] = covariance[start + a * along + b * down]
        _whiten(own, amplitudes, offsets[node], across[:p] if side == 0 else across[p:])
    for side in range(2):
        node, states = (i, p + 1) if side == 0 else (j, q + 1)
        at = positions[node]
        block = np.empty((states, rank))
        for a in range(states):
            for b in range(rank):
                block[a, b] = across[b, at + a]
        _whiten(block, amplitudes, offsets[node], small[:p] if side == 0 else small[p:])
    if not _cholesky(small, rank):
        return False
    inner = _small_change(small, _whole_term(term, p, q))
    inverse = inner.copy()
    if not _cholesky(inner, rank):
        return False
    invert_positive(inverse.reshape(-1), rank)
    for a in range(rank):
        for b in range(a):
            across[a] -= small[a, b] * across[b]
        across[a] /= small[a, a]
    shares = across.copy()
    for a in range(rank):
        for b in range(rank):
            shares[a] -= inverse[a, b] * across[b]
    for begin in range(0, dimension, _CHUNK):
        for member in members:
            at, states = positions[member], offsets[member + 1] - offsets[member]
            stop = min(begin + _CHUNK, at + states)
            for row in range(at, at + states if stop > begin else at):
                target = covariance[row * capacity + begin : row * capacity + stop]
                _subtract_rows(target, shares, across, row, begin, stop)
    return True


@njit(cache=True, nogil=True, fastmath={"contract"}, inline="always")
def _subtract_rows(target, shares, rows, row, begin, stop):
    """Subtract Σ_a shares[a, row] · rows[a, begin : stop], four at a time."""
    a, rank = 0, len(rows)
    while a + 4 <= rank:
        s0, s1 = rows[a, begin:stop], rows[a + 1, begin:stop]
        s2, s3 = rows[a + 2, begin:stop], rows[a + 3, begin:stop]
        l0, l1, l2, l3 = shares[a, row], shares[a + 1, row], shares[a + 2, row], shares[a + 3, row]
        for k in range(len(target)):
            target[k] -= l0 * s0[k] + l1 * s1[k] + l2 * s2[k] + l3 * s3[k]
        a += 4
    while a < rank:
        s0, l0 = rows[a, begin:stop], shares[a, row]
        for k in range(len(target)):
            target[k] -= l0 * s0[k]
        a += 1
