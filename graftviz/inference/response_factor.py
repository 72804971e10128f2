"""Linear response from a sparse factor: covariances of individual pairs.

The whitened Bethe Hessian of :mod:`graftviz.inference.response_terms` is factorised as L Lᵀ, in
blocks, in an order that keeps L sparse. Then C_ij = R_i (L⁻¹ E_i)ᵀ (L⁻¹ E_j) R_jᵀ: one forward
substitution per node, along its path to the root of the elimination tree, and per pair an inner
product over the part of the two paths that is common.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.errors import InputError
from graftviz.inference.response_ordering import (
    FactorOrder,
    incidence_lists,
    lay_out,
    minimum_degree,
)
from graftviz.inference.response_terms import (
    edge_terms,
    inner_products,
    square_roots,
    unwhiten,
)
from graftviz.kernels import NO_WRAPPER, inner_kernel

_SMALLEST_PIVOT = 1e-9  # of H, which is the identity plus the contributions of loops
_CACHE_NUMBERS = 1 << 23  # 64 MB of cached solutions
_MOST_NUMBERS = 1 << 28  # 2 GB: the largest factor

# Positions in `state`.
_POSITIVE, _UNSTABLE_NODE, _FILLED, _GENERATION = 0, 1, 2, 3


class ResponseFactor(NamedTuple):
    """Factor L of the whitened Bethe Hessian, with a cache of solutions.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
    amplitudes : float64 array, flat
        √b_i(a).
    place, node_at, starts, rows, row_starts, parent, width, height, depth, columns, component
        See :class:`graftviz.inference.response_ordering.FactorOrder`.
    values : float64 array, flat
        L, column after column.
    solved_at, solved_in : int64 arrays, shape (N,)
        Where in `solutions` the solution of a place begins, and the generation it belongs to.
    solutions : float64 array, flat
        L⁻¹ E_q: `width` columns of `depth` numbers, root first. When it is full, all are dropped.
    state : int64 array
        Whether H is positive definite; if not, the node where that was found (else -1); numbers
        filled in `solutions`; the present generation.
    smallest_pivot : float64 array, shape (1,)
    """

    node_offsets: np.ndarray
    amplitudes: np.ndarray
    place: np.ndarray
    node_at: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    row_starts: np.ndarray
    parent: np.ndarray
    width: np.ndarray
    height: np.ndarray
    depth: np.ndarray
    columns: np.ndarray
    component: np.ndarray
    values: np.ndarray
    solved_at: np.ndarray
    solved_in: np.ndarray
    solutions: np.ndarray
    state: np.ndarray
    smallest_pivot: np.ndarray

    @property
    def positive_definite(self) -> bool:
        """Whether the Bethe Hessian is positive definite, so that linear response is defined."""
        return bool(self.state[_POSITIVE])

    @property
    def unstable_node(self) -> int:
        """The node at which the Hessian was found not to be positive definite, or -1."""
        return int(self.state[_UNSTABLE_NODE])


@njit(cache=True, nogil=True, inline="always")
def _subtract(target, source, height, length, n_columns, row):
    """Subtract from `target` the columns of `source`, each times its number in row `row`.

    Four columns at a time, so that each number of the target is read and written once for all four.
    """
    a = 0
    while a + 4 <= n_columns:
        s0 = source[a * height : a * height + length]
        s1 = source[(a + 1) * height : (a + 1) * height + length]
        s2 = source[(a + 2) * height : (a + 2) * height + length]
        s3 = source[(a + 3) * height : (a + 3) * height + length]
        l0, l1, l2, l3 = s0[row], s1[row], s2[row], s3[row]
        for r in range(length):
            target[r] -= l0 * s0[r] + l1 * s1[r] + l2 * s2[r] + l3 * s3[r]
        a += 4
    while a < n_columns:
        s0 = source[a * height : a * height + length]
        l0 = s0[row]
        for r in range(length):
            target[r] -= l0 * s0[r]
        a += 1


@njit(cache=True, nogil=True, fastmath={"contract"})
def _factorise(
    node_at, place, starts, rows, row_starts, width, height, columns,
    adjacent, neighbours, incident, term_starts, terms, values, smallest_pivot,
):  # fmt: skip
    """Fill `values` with L, column by column, each from the columns eliminated before it.

    Returns
    -------
    int
        -1, or the node whose pivot is not positive, in which case H is not positive definite.
    """
    count = len(node_at)
    tallest = 1
    for q in range(count):
        tallest = max(tallest, height[q])
    gathered = np.empty(tallest)
    row_of = np.zeros(count, dtype=np.int64)
    # Columns are queued at the next place that uses them, the largest one left in their list.
    waiting, following = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    pointer = np.empty(count, dtype=np.int64)
    smallest_pivot[0] = np.inf
    for q in range(count - 1, -1, -1):
        node, wide, tall = node_at[q], width[q], height[q]
        own = tall - wide
        column = values[columns[q] : columns[q + 1]]
        column[:] = 0.0
        for at in range(starts[q], starts[q + 1]):
            row_of[rows[at]] = row_starts[at]
        for a in range(wide):
            column[a * tall + own + a] = 1.0
        for k in range(adjacent[node], adjacent[node + 1]):
            e, side = incident[k] >> 1, incident[k] & 1
            r = place[neighbours[k]]
            begin, other = term_starts[e], width[r]
            first = wide if side == 0 else other
            at = begin if side == 0 else begin + other * other + other * wide
            for a in range(wide):
                for b in range(wide):
                    column[a * tall + own + b] += terms[at + a * wide + b]
            if r < q:
                at = begin + first * first
                for a in range(wide):
                    for b in range(other):
                        k_term = a * other + b if side == 0 else b * wide + a
                        column[a * tall + row_of[r] + b] += terms[at + k_term]
        k = waiting[q]
        while k >= 0:
            upcoming = following[k]
            at = pointer[k]
            row, length = row_starts[at], row_starts[at] + wide
            source = values[columns[k] : columns[k + 1]]
            for a in range(wide):
                if length == tall:
                    # The target has all rows of this column, in the same order.
                    target = column[a * tall : a * tall + length]
                    _subtract(target, source, height[k], length, width[k], row + a)
                else:
                    gathered[:length] = 0.0
                    _subtract(gathered, source, height[k], length, width[k], row + a)
                    for block in range(starts[k], at + 1):
                        into = own if block == at else row_of[rows[block]]
                        into += a * tall
                        from_row = row_starts[block]
                        for b in range(width[rows[block]]):
                            column[into + b] += gathered[from_row + b]
            if at > starts[k]:
                pointer[k] = at - 1
                following[k] = waiting[rows[at - 1]]
                waiting[rows[at - 1]] = k
            k = upcoming
        for a in range(wide):
            target = column[a * tall : (a + 1) * tall]
            _subtract(target, column, tall, tall, a, own + a)
            pivot = target[own + a]
            smallest_pivot[0] = min(smallest_pivot[0], pivot)
            if not pivot > _SMALLEST_PIVOT:
                return node
            scale = 1.0 / np.sqrt(pivot)
            for r in range(tall):
                target[r] *= scale
            for b in range(a):
                target[own + b] = 0.0
        if starts[q + 1] > starts[q]:
            pointer[q] = starts[q + 1] - 1
            following[q] = waiting[rows[pointer[q]]]
            waiting[rows[pointer[q]]] = q
    return -1


@njit(cache=True, nogil=True, fastmath={"contract"}, **NO_WRAPPER)
def _solve(factor, place, out):
    """Write L⁻¹ E of the node at `place` to `out`: `width` columns of `depth` numbers."""
    # Taking an array out of a tuple changes a reference count: once here, not once per place.
    starts, rows, row_starts, parent = factor.starts, factor.rows, factor.row_starts, factor.parent
    width, height, depth = factor.width, factor.height, factor.depth
    columns, values = factor.columns, factor.values
    deep, sides = depth[place], width[place]
    out[:] = 0.0
    for c in range(sides):
        out[c * deep + deep - sides + c] = 1.0
    q = place
    while q >= 0:
        wide, tall = width[q], height[q]
        own, base = tall - wide, depth[q] - wide
        column = values[columns[q] : columns[q + 1]]
        for c in range(sides):
            right = out[c * deep : (c + 1) * deep]
            for b in range(wide):
                value = right[base + b] / column[b * tall + own + b]
                right[base + b] = value
                for r in range(b + 1, wide):
                    right[base + r] -= column[b * tall + own + r] * value
            here = right[base : base + wide]
            if own == base:
                # The column has a row for every place on the path to the root.
                _subtract_combination(right, column, tall, own, here)
                continue
            for block in range(starts[q], starts[q + 1]):
                r, begin = rows[block], row_starts[block]
                into = depth[r] - width[r]
                for b in range(wide):
                    for k in range(width[r]):
                        right[into + k] -= column[b * tall + begin + k] * here[b]
        q = parent[q]


@njit(cache=True, nogil=True, fastmath={"contract"}, inline="always")
def _subtract_combination(target, source, height, length, shares):
    """Subtract Σ_a shares[a] · (column a of `source`) from the first numbers of `target`."""
    a, n_columns = 0, len(shares)
    target = target[:length]
    while a + 4 <= n_columns:
        s0 = source[a * height : a * height + length]
        s1 = source[(a + 1) * height : (a + 1) * height + length]
        s2 = source[(a + 2) * height : (a + 2) * height + length]
        s3 = source[(a + 3) * height : (a + 3) * height + length]
        l0, l1, l2, l3 = shares[a], shares[a + 1], shares[a + 2], shares[a + 3]
        for r in range(length):
            target[r] -= l0 * s0[r] + l1 * s1[r] + l2 * s2[r] + l3 * s3[r]
        a += 4
    while a < n_columns:
        s0 = source[a * height : a * height + length]
        l0 = shares[a]
        for r in range(length):
            target[r] -= l0 * s0[r]
        a += 1


@inner_kernel
def _cache_solutions(factor, place, other):
    """Solve for two places unless their solutions are cached."""
    solved_in, state, solutions = factor.solved_in, factor.state, factor.solutions
    needed = 0
    for q in (place, other):
        if solved_in[q] != state[_GENERATION]:
            needed += factor.width[q] * factor.depth[q]
    if state[_FILLED] + needed > len(solutions):
        state[_GENERATION] += 1
        state[_FILLED] = 0
    for q in (place, other):
        if solved_in[q] != state[_GENERATION]:
            at, size = state[_FILLED], factor.width[q] * factor.depth[q]
            _solve(factor, q, solutions[at : at + size])
            factor.solved_at[q], solved_in[q] = at, state[_GENERATION]
            state[_FILLED] = at + size


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, **NO_WRAPPER)
def _joined_block(factor, i, j, work, out):
    """Write C_ij of two nodes in one component (or the same)."""
    offsets = factor.node_offsets
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    p, q = states_i - 1, states_j - 1
    whitened = work[0]
    place_i, place_j = factor.place[i], factor.place[j]
    if place_i < 0:
        for a in range(p):
            for b in range(q):
                whitened[a * q + b] = 1.0 if a == b else 0.0
    else:
        solved_in, generation = factor.solved_in, factor.state[_GENERATION]
        if solved_in[place_i] != generation or solved_in[place_j] != generation:
            _cache_solutions(factor, place_i, place_j)
        start_i, start_j = factor.solved_at[place_i], factor.solved_at[place_j]
        depth, parent = factor.depth, factor.parent
        deep_i, deep_j = depth[place_i], depth[place_j]
        while place_i != place_j:
            # Parents have smaller places: the larger of the two is no common ancestor.
            if place_i > place_j:
                place_i = parent[place_i]
            else:
                place_j = parent[place_j]
        left = factor.solutions[start_i : start_i + p * deep_i]
        right = factor.solutions[start_j : start_j + q * deep_j]
        inner_products(left, right, deep_i, deep_j, depth[place_i], p, q, whitened)
    unwhiten(whitened, factor.amplitudes, at_i, states_i, at_j, states_j, work[1], out)


@njit(cache=True, nogil=True, inline="always")
def respond(factor, i, j):
    """Return whether C_ij can be nonzero: i and j are in one component (or the same).

    In loops where most pairs are in different components it is faster to read `component` once
    before the loop: passing the factor costs about half a microsecond.
    """
    return i == j or (factor.component[i] >= 0 and factor.component[i] == factor.component[j])


@njit(cache=True, nogil=True, inline="always")
def response_block(factor, i, j, work, out):
    """Write C_ij to `out`, row-major: ∂b_i(a) / ∂θ_j(b), zeros in different components.

    If H is not positive definite, C does not exist and NaN is written; see `factor.state`.
    Inlined, because passing the factor costs more than the test for different components.

    Parameters
    ----------
    factor : ResponseFactor
        Caches solutions: later pairs with i or j cost an inner product each.
    work : float64 array, shape (2 or more, largest number of joint states or more)
    out : float64 array, shape (s_i · s_j or more,)
    """
    stable = factor.state[_POSITIVE] == 1
    if stable and respond(factor, i, j):
        _joined_block(factor, i, j, work, out)
    else:
        states_i = factor.node_offsets[i + 1] - factor.node_offsets[i]
        states_j = factor.node_offsets[j + 1] - factor.node_offsets[j]
        for k in range(states_i * states_j):
            out[k] = 0.0 if stable else np.nan


def factorise(
    node_offsets: np.ndarray,
    node_beliefs: np.ndarray,
    edge_nodes: np.ndarray,
    edge_offsets: np.ndarray,
    pair_beliefs: np.ndarray,
    *,
    cache_numbers: int = _CACHE_NUMBERS,
    most_numbers: int = _MOST_NUMBERS,
) -> ResponseFactor:
    """Factorise the Bethe Hessian at the given beliefs.

    Parameters
    ----------
    node_offsets : int64 array, shape (n + 1,)
    node_beliefs : float64 array, flat
    edge_nodes : int64 array, shape (m, 2)
    edge_offsets : int64 array, shape (m + 1 or more,)
    pair_beliefs : float64 array, flat
        b_ij, row-major, edge after edge; see
        :func:`graftviz.inference.response_terms.fill_pair_beliefs`.
    cache_numbers : int
        Size of the cache of solutions, in numbers of 8 bytes; at least two solutions always fit.
    most_numbers : int
        Largest factor, in numbers of 8 bytes.

    Raises
    ------
    InputError
        When the factor would exceed `most_numbers`.
    """
    adjacent, neighbours, incident = incidence_lists(node_offsets, edge_nodes)
    layout = FactorOrder(
        *lay_out(node_offsets, *minimum_degree(node_offsets, adjacent, neighbours))
    )
    count, size = len(layout.node_at), int(layout.columns[-1])
    if size > most_numbers:
        raise InputError(
            f"Linear response with {len(edge_nodes):,} edges among {count:,} variables needs a "
            f"factor of {8e-9 * size:.1f} GB; the limit is {8e-9 * most_numbers:.1f} GB. "
            "Use another score, or stop at fewer edges."
        )
    amplitudes = square_roots(node_offsets, node_beliefs)
    term_starts, terms = edge_terms(
        node_offsets, amplitudes, edge_nodes, edge_offsets, pair_beliefs
    )
    values, smallest_pivot = np.empty(size), np.full(1, np.inf)
    failed = _factorise(
        layout.node_at,
        layout.place,
        layout.starts,
        layout.rows,
        layout.row_starts,
        layout.width,
        layout.height,
        layout.columns,
        adjacent,
        neighbours,
        incident,
        term_starts,
        terms,
        values,
        smallest_pivot,
    )
    solutions = layout.width * layout.depth
    room = int(solutions.sum())
    if room > cache_numbers:
        room = max(cache_numbers, 2 * int(solutions.max()))
    return ResponseFactor(
        node_offsets=node_offsets,
        amplitudes=amplitudes,
        **layout._asdict(),
        values=values,
        solved_at=np.zeros(count, dtype=np.int64),
        solved_in=np.zeros(count, dtype=np.int64),
        solutions=np.empty(room),
        state=np.array([failed < 0, failed, 0, 1], dtype=np.int64),
        smallest_pivot=smallest_pivot,
    )
