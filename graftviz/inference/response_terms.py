"""The Bethe Hessian in whitened coordinates: the identity plus a term for each edge.

Covariances C_ij(a, b) = ∂b_i(a) / ∂θ_j(b) at a fixed point of belief propagation are the inverse
of the Hessian of the Bethe free energy in the node beliefs (Welling and Teh, "Linear response
algorithms for approximate inference in graphical models", 2004). In minimal coordinates, the last
state of each variable dropped,

    H = Σ_e embed(Σ_e⁻¹) - Σ_i (deg_i - 1) Σ_i⁻¹,

with Σ_i = diag(b_i) - b_i b_iᵀ and Σ_e the covariance of the indicators at both ends of e.

Here every node has *whitened* coordinates instead: Σ_i = R_i R_iᵀ with R_i = diag(√b_i) Q_i and Q_i
an orthonormal basis of the orthogonal complement of √b_i. Then H becomes I + Σ_e D_e with

    D_e = [[I, T], [Tᵀ, I]]⁻¹ - I,    T = Q_iᵀ (b_ij(a, b) / √(b_i(a) b_j(b))) Q_j,

and C_ij = R_i (H⁻¹)_ij R_jᵀ, all states at once. The singular values of T are the canonical
correlations of the pair. Only pair beliefs are divided by beliefs, which are at least as large, so
states with probability zero cause no overflow.

H is positive definite iff the fixed point is a local minimum of the Bethe free energy. If it is
not, belief propagation moves away from the point, and linear response is undefined. On forests C is
exact.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.inference.propagation import pair_belief
from graftviz.kernels import inner_kernel

# Share of the independent distribution that is mixed into every pair belief, so that canonical
# correlations are below one even for deterministic pairs.
_INDEPENDENCE = 1e-9
_SMALLEST_BELIEF = 1e-30  # the root of a state's belief scales its row of C: never divide by zero


@njit(cache=True, nogil=True)
def fill_pair_beliefs(graph, n_edges, work, out):
    """Write the pair beliefs of all edges to `out`, with the layout of the potentials.

    Parameters
    ----------
    graph : MessageGraph or Network
        At (or near) a fixed point.
    work : float64 array, shape (4 or more, largest number of states or more)
    """
    edge_offsets = graph.edge_offsets
    for e in range(n_edges):
        pair_belief(graph, e, work, out[edge_offsets[e] : edge_offsets[e + 1]])


@njit(cache=True, nogil=True)
def square_roots(node_offsets, node_beliefs):
    """Return √b_i(a), flat, of beliefs that are clipped above zero and normalised."""
    amplitudes = np.empty(len(node_beliefs))
    for i in range(len(node_offsets) - 1):
        total = 0.0
        for x in range(node_offsets[i], node_offsets[i + 1]):
            total += max(node_beliefs[x], _SMALLEST_BELIEF)
        for x in range(node_offsets[i], node_offsets[i + 1]):
            amplitudes[x] = np.sqrt(max(node_beliefs[x], _SMALLEST_BELIEF) / total)
    return amplitudes


@inner_kernel
def edge_term(belief, amplitudes, at_i, states_i, at_j, states_j, work, out):
    """Write D_e to `out`: its blocks ii, ij and jj, row-major, one after the other.

    Parameters
    ----------
    belief : float64 array, shape (s_i · s_j,)
        b_ij. Its margins need not be exactly b_i and b_j: T has singular values below one for any
        margins.
    amplitudes : float64 array, flat
        √b_i begins at `at_i`, √b_j at `at_j`.
    work : float64 array, shape (2 or more, largest number of joint states or more)
    out : float64 array
        (s_i - 1)² + (s_i - 1)(s_j - 1) + (s_j - 1)² numbers.
    """
    p, q = states_i - 1, states_j - 1
    ratio, margin = work[0], work[1]
    for x in range(states_i):
        margin[x] = 0.0
        for y in range(states_j):
            margin[x] += belief[x * states_j + y]
    for y in range(states_j):
        column = 0.0
        for x in range(states_i):
            column += belief[x * states_j + y]
        for x in range(states_i):
            k = x * states_j + y
            scale = np.sqrt(margin[x]) * np.sqrt(column)
            ratio[k] = (1.0 - _INDEPENDENCE) * belief[k] / scale if scale > 0.0 else 0.0
    # T overwrites `ratio`, with rows still s_j apart: T = Q_iᵀ ratio Q_j.
    last = amplitudes[at_i + p]
    for y in range(states_j):
        total = 0.0
        for x in range(p):
            total += amplitudes[at_i + x] * ratio[x * states_j + y]
        total = total / (1.0 + last) + ratio[p * states_j + y]
        for x in range(p):
            ratio[x * states_j + y] -= amplitudes[at_i + x] * total
    last = amplitudes[at_j + q]
    for x in range(p):
        total = 0.0
        for y in range(q):
            total += ratio[x * states_j + y] * amplitudes[at_j + y]
        total = total / (1.0 + last) + ratio[x * states_j + q]
        for y in range(q):
            ratio[x * states_j + y] -= total * amplitudes[at_j + y]
    # K = (I - TᵀT)⁻¹; then D = [[T K Tᵀ, -T K], [-K Tᵀ, Tᵀ T K]].
    inverse = margin
    for a in range(q):
        for b in range(q):
            total = 1.0 if a == b else 0.0
            for x in range(p):
                total -= ratio[x * states_j + a] * ratio[x * states_j + b]
            inverse[a * q + b] = total
    invert_positive(inverse, q)
    cross, below = p * p, p * p + p * q
    for x in range(p):
        for b in range(q):
            total = 0.0
            for a in range(q):
                total += ratio[x * states_j + a] * inverse[a * q + b]
            out[cross + x * q + b] = -total
    for x in range(p):
        for z in range(p):
            total = 0.0
            for b in range(q):
                total -= out[cross + x * q + b] * ratio[z * states_j + b]
            out[x * p + z] = total
    for a in range(q):
        for b in range(q):
            total = 0.0
            for x in range(p):
                total -= ratio[x * states_j + a] * out[cross + x * q + b]
            out[below + a * q + b] = total


@inner_kernel
def invert_positive(matrix, size):
    """Invert a symmetric positive definite matrix in place, by Gauss–Jordan elimination."""
    for k in range(size):
        pivot = 1.0 / matrix[k * size + k]
        matrix[k * size + k] = 1.0
        for b in range(size):
            matrix[k * size + b] *= pivot
        for a in range(size):
            if a != k:
                factor = matrix[a * size + k]
                matrix[a * size + k] = 0.0
                for b in range(size):
                    matrix[a * size + b] -= factor * matrix[k * size + b]


@njit(cache=True, nogil=True)
def edge_terms(node_offsets, amplitudes, edge_nodes, edge_offsets, pair_beliefs):
    """Return the start of each D_e, and D_e of all edges, flat."""
    m = len(edge_nodes)
    starts = np.zeros(m + 1, dtype=np.int64)
    largest = 1
    for e in range(m):
        i, j = edge_nodes[e, 0], edge_nodes[e, 1]
        p, q = node_offsets[i + 1] - node_offsets[i] - 1, node_offsets[j + 1] - node_offsets[j] - 1
        largest = max(largest, (max(p, q) + 1) ** 2)
        starts[e + 1] = starts[e] + (p * p + p * q + q * q if p > 0 and q > 0 else 0)
    terms, work = np.empty(starts[m]), np.empty((2, largest))
    for e in range(m):
        if starts[e + 1] > starts[e]:
            i, j = edge_nodes[e, 0], edge_nodes[e, 1]
            at_i, at_j = node_offsets[i], node_offsets[j]
            states_i, states_j = node_offsets[i + 1] - at_i, node_offsets[j + 1] - at_j
            belief = pair_beliefs[edge_offsets[e] : edge_offsets[e + 1]]
            out = terms[starts[e] : starts[e + 1]]
            edge_term(belief, amplitudes, at_i, states_i, at_j, states_j, work, out)
    return starts, terms


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, inline="always")
def inner_products(left, right, deep_left, deep_right, length, p, q, out):
    """Write the inner products of the columns' first `length` numbers to `out`, shape (p, q)."""
    for a in range(p):
        first = left[a * deep_left : a * deep_left + length]
        b = 0
        # Four at a time, so that each number of `first` is read once for all four.
        while b + 4 <= q:
            s0 = right[b * deep_right : b * deep_right + length]
            s1 = right[(b + 1) * deep_right : (b + 1) * deep_right + length]
            s2 = right[(b + 2) * deep_right : (b + 2) * deep_right + length]
            s3 = right[(b + 3) * deep_right : (b + 3) * deep_right + length]
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for k in range(length):
                t0 += first[k] * s0[k]
                t1 += first[k] * s1[k]
                t2 += first[k] * s2[k]
                t3 += first[k] * s3[k]
            at = a * q + b
            out[at], out[at + 1], out[at + 2], out[at + 3] = t0, t1, t2, t3
            b += 4
        while b < q:
            s0 = right[b * deep_right : b * deep_right + length]
            t0 = 0.0
            for k in range(length):
                t0 += first[k] * s0[k]
            out[a * q + b] = t0
            b += 1


@inner_kernel
def unwhiten(whitened, amplitudes, at_i, states_i, at_j, states_j, half, out):
    """Write R_i W R_jᵀ to `out`."""
    p, q = states_i - 1, states_j - 1
    last = amplitudes[at_i + p]
    for b in range(q):
        total = 0.0
        for a in range(p):
            total += amplitudes[at_i + a] * whitened[a * q + b]
        half[p * q + b] = -last * total
        total /= 1.0 + last
        for a in range(p):
            amplitude = amplitudes[at_i + a]
            half[a * q + b] = amplitude * (whitened[a * q + b] - amplitude * total)
    last = amplitudes[at_j + q]
    for a in range(states_i):
        total = 0.0
        for b in range(q):
            total += half[a * q + b] * amplitudes[at_j + b]
        out[a * states_j + q] = -last * total
        total /= 1.0 + last
        for b in range(q):
            amplitude = amplitudes[at_j + b]
            out[a * states_j + b] = amplitude * (half[a * q + b] - amplitude * total)
