"""Warm-started fit of the active set under the pseudo-likelihood, edge block by edge block.

The objective is -(1/N) Σ_m Σ_i log p(x_i | rest) plus the penalty. A block is an edge with its two
nodes: its gradient needs only the sums of p(x_i | rest) per state of x_j and of p(x_j | rest) per
state of x_i, and one step on it multiplies the rows of both by small tables
(:mod:`graftviz.fitting.conditionals`). Steps are proximal Newton in a diagonal metric.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.fitting.conditionals import SMALLEST, log_loss, mix, sum_by_group
from graftviz.fitting.penalty import group_dimension, group_residual, proximal_step
from graftviz.kernels import inner_kernel

_LARGEST_MOVE = 2.0  # change of a weight in one step
_LARGEST_WEIGHT = 40.0
_MOST_CAUTION = 64.0


class PairWeights(NamedTuple):
    """Weights, targets and violations of a fit by pseudo-likelihood, for the kernels.

    Attributes
    ----------
    node_offsets, edge_offsets : int64 arrays
    node_weights, edge_weights : float64 arrays, flat
    edge_nodes : int64 array, shape (capacity, 2)
    edge_targets : float64 array, flat
        p_D(i, j).
    drift : float64 array, shape (n,)
        Upper bound on the length of the path of a node's conditionals (root mean square over rows),
        hence on the mean distance between the conditionals at two times.
    seen_drift : float64 array, shape (capacity,)
        drift_i + drift_j when the edge's violation was last measured; -1: never.
    violation : float64 array, shape (capacity,)
        Largest violation of the conditions of the edge and its nodes at the last measurement.
    left_out : float64 array, shape (capacity, 2)
        Gradient norm and noise without the edge, at the last computation.
    left_out_drift : float64 array, shape (capacity,)
        drift_i + drift_j at that time; -1: never.
    touched_nodes, touched_edges : bool arrays
        Nodes and edges changed since the last call of :meth:`PseudoNetwork.changes`.
    """

    node_offsets: np.ndarray
    edge_offsets: np.ndarray
    node_weights: np.ndarray
    edge_weights: np.ndarray
    edge_nodes: np.ndarray
    edge_targets: np.ndarray
    drift: np.ndarray
    seen_drift: np.ndarray
    violation: np.ndarray
    left_out: np.ndarray
    left_out_drift: np.ndarray
    touched_nodes: np.ndarray
    touched_edges: np.ndarray


class Workspace(NamedTuple):
    """Buffers of one block: tables with the partner's states as rows, own states as columns."""

    sums_i: np.ndarray
    squares_i: np.ndarray
    sums_j: np.ndarray
    squares_j: np.ndarray
    factors_i: np.ndarray
    factors_j: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    previous: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def new_workspace(states: int, lanes: int) -> Workspace:
    """Return a workspace for variables of at most `states` states and `lanes` lanes."""
    tables = [np.zeros((states, lanes)) for _ in range(4)]
    factors = [np.zeros((states, lanes), dtype=np.float32) for _ in range(2)]
    cells = [np.zeros(states * states) for _ in range(3)]
    vectors = [np.zeros(states) for _ in range(2)]
    return Workspace(*tables, *factors, *cells, *vectors)


@njit(cache=True, nogil=True)
def block_of(rows, i):
    """Return variable i's block of probabilities, shape (R, lanes)."""
    size = rows.codes.shape[1] * rows.lanes[i]
    start = rows.starts[i]
    return rows.probabilities[start : start + size].reshape((rows.codes.shape[1], rows.lanes[i]))


@inner_kernel
def groups_of(rows, i):
    """Return the boundaries of variable i's states within its `order`."""
    at = rows.node_offsets[i] + i
    states = rows.node_offsets[i + 1] - rows.node_offsets[i]
    return rows.groups[at : at + states + 1]


@inner_kernel
def pair_gradient(rows, target, states_i, states_j, work):
    """Write ∂PL/∂w_ij = (Σ_m p_i(a) 1{x_j = b} + 1{x_i = a} p_j(b)) / N - 2 p_D(a, b)."""
    for a in range(states_i):
        for b in range(states_j):
            model = (work.sums_i[b, a] + work.sums_j[a, b]) / rows.rows
            work.gradient[a * states_j + b] = model - 2.0 * target[a * states_j + b]


@inner_kernel
def _node_gradient(rows, i, sums, others, out):
    """Write ∂PL/∂w_i = mean of p(x_i | rest) - p_D(i), from sums by a partner's state."""
    at = rows.node_offsets[i]
    states = rows.node_offsets[i + 1] - at
    for a in range(states):
        total = 0.0
        for b in range(others):
            total += sums[b, a]
        out[a] = total / rows.rows - rows.margins[at + a]


@inner_kernel
def _node_residual(net, i, gradient, penalty):
    at = net.node_offsets[i]
    states = net.node_offsets[i + 1] - at
    weights = net.node_weights[at : at + states]
    if not penalty.nodes:
        return group_residual(weights, gradient, 0.0, 0.0, states)
    threshold = penalty.lam * group_dimension(states, penalty.square_root)
    return group_residual(weights, gradient, threshold, penalty.lam2, states)


@inner_kernel
def _measure(net, rows, e, penalty, work):
    """Write the gradients of a block from its sums and return the largest violation."""
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    size = states_i * states_j
    at = net.edge_offsets[e]
    pair_gradient(rows, net.edge_targets[at : at + size], states_i, states_j, work)
    _node_gradient(rows, i, work.sums_i, states_j, work.rows)
    _node_gradient(rows, j, work.sums_j, states_i, work.columns)
    threshold = penalty.lam * group_dimension(size, penalty.square_root)
    weights = net.edge_weights[at : at + size]
    worst = group_residual(weights, work.gradient, threshold, penalty.lam2, size)
    worst = max(worst, _node_residual(net, i, work.rows, penalty))
    return max(worst, _node_residual(net, j, work.columns, penalty))


@inner_kernel
def _sum_block(net, rows, e, work):
    """Sum the conditionals of an edge's ends by each other's states."""
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    order_i, order_j = rows.order[rows.places[i]], rows.order[rows.places[j]]
    u = rows.multiplicity
    sum_by_group(block_of(rows, i), order_j, groups_of(rows, j), u, work.sums_i)
    sum_by_group(block_of(rows, j), order_i, groups_of(rows, i), u, work.sums_j)


@njit(cache=True, nogil=True)
def measure_edge(net, rows, e, penalty, work):
    """Compute and store the current violation of an edge's block."""
    _sum_block(net, rows, e, work)
    net.violation[e] = _measure(net, rows, e, penalty, work)
    net.seen_drift[e] = net.drift[net.edge_nodes[e, 0]] + net.drift[net.edge_nodes[e, 1]]
    return net.violation[e]


@inner_kernel
def _edge_step(net, e, penalty, caution, has_squares, rows, work):
    """Take one proximal step on w_ij; write the previous weights to `previous`.

    Curvature: Σ_m diag p - p pᵀ of both conditionals has the diagonal Σ p (1 - p); times s/(s - 1)
    it is the exact curvature of centred moves if p is uniform or has two states, and at most half
    of it otherwise. Before squares are computed, Σ p is used as an upper bound of the curvature.
    """
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    size, at = states_i * states_j, net.edge_offsets[e]
    weights = net.edge_weights[at : at + size]
    stretch_i = states_i / max(states_i - 1.0, 1.0)
    stretch_j = states_j / max(states_j - 1.0, 1.0)
    for a in range(states_i):
        for b in range(states_j):
            k = a * states_j + b
            if has_squares:
                spread = stretch_i * (work.sums_i[b, a] - work.squares_i[b, a])
                spread += stretch_j * (work.sums_j[a, b] - work.squares_j[a, b])
            else:
                spread = work.sums_i[b, a] + work.sums_j[a, b]
            bend = caution * (spread / rows.rows + 1e-6) + 2.0 * penalty.lam2
            work.curvature[k] = bend
            work.previous[k] = weights[k]
            work.gradient[k] += 2.0 * penalty.lam2 * weights[k]
    threshold = penalty.lam * group_dimension(size, penalty.square_root)
    proximal_step(weights, work.gradient, work.curvature, threshold, size)
    for k in range(size):
        move = min(max(weights[k] - work.previous[k], -_LARGEST_MOVE), _LARGEST_MOVE)
        weights[k] = min(max(work.previous[k] + move, -_LARGEST_WEIGHT), _LARGEST_WEIGHT)
    if not penalty.nodes:
        _centre(weights, states_i, states_j)


@inner_kernel
def _centre(weights, states_i, states_j):
    """Remove the row and column means of w_ij, which free node weights compensate.

    At an optimum they are zero by the conditions of the nodes.
    """
    for a in range(states_i):
        mean = 0.0
        for b in range(states_j):
            mean += weights[a * states_j + b] / states_j
        for b in range(states_j):
            weights[a * states_j + b] -= mean
    for b in range(states_j):
        mean = 0.0
        for a in range(states_i):
            mean += weights[a * states_j + b] / states_i
        for a in range(states_i):
            weights[a * states_j + b] -= mean


@inner_kernel
def _node_step(net, rows, i, gradient, sums, squares, others, has_squares, penalty, caution, bend):
    """Take one step on w_i; `gradient` receives the move, `bend` is scratch."""
    at = net.node_offsets[i]
    states = net.node_offsets[i + 1] - at
    stretch = states / max(states - 1.0, 1.0)
    for a in range(states):
        spread = 0.0
        for b in range(others):
            spread += stretch * (sums[b, a] - squares[b, a]) if has_squares else sums[b, a]
        bend[a] = caution * (spread / rows.rows + 1e-6)
    weights = net.node_weights[at : at + states]
    if not penalty.nodes:
        for a in range(states):
            move = min(max(-gradient[a] / bend[a], -_LARGEST_MOVE), _LARGEST_MOVE)
            gradient[a] = move
            weights[a] += move
        return
    threshold = penalty.lam * group_dimension(states, penalty.square_root)
    for a in range(states):
        gradient[a] += 2.0 * penalty.lam2 * weights[a]
        bend[a] += 2.0 * penalty.lam2
        bend[states + a] = weights[a]
    proximal_step(weights, gradient, bend, threshold, states)
    for a in range(states):
        gradient[a] = weights[a] - bend[states + a]


@inner_kernel
def _apply(net, rows, e, work):
    """Multiply the rows of both ends by the exponentials of the moves; update the drift."""
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    at = net.edge_offsets[e]
    length_i, length_j, farthest_i, farthest_j = 0.0, 0.0, 0.0, 0.0
    for a in range(states_i):
        for b in range(states_j):
            move = net.edge_weights[at + a * states_j + b] - work.previous[a * states_j + b]
            move_i, move_j = move + work.rows[a], move + work.columns[b]
            length_i += work.sums_i[b, a] * move_i * move_i
            length_j += work.sums_j[a, b] * move_j * move_j
            farthest_i, farthest_j = max(farthest_i, abs(move_i)), max(farthest_j, abs(move_j))
            work.factors_i[b, a] = np.exp(move_i)
            work.factors_j[a, b] = np.exp(move_j)
    for b in range(states_j):
        for a in range(states_i, rows.lanes[i]):
            work.factors_i[b, a] = 0.0
    for a in range(states_i):
        for b in range(states_j, rows.lanes[j]):
            work.factors_j[a, b] = 0.0
    order_i, order_j = rows.order[rows.places[i]], rows.order[rows.places[j]]
    block_i, block_j = block_of(rows, i), block_of(rows, j)
    groups_i, groups_j, u = groups_of(rows, i), groups_of(rows, j), rows.multiplicity
    mix(block_i, order_j, groups_j, u, work.factors_i, work.sums_i, work.squares_i)
    mix(block_j, order_i, groups_i, u, work.factors_j, work.sums_j, work.squares_j)
    # On the way a probability grows by exp(2 max |move|) at most, its root by exp(max |move|).
    net.drift[i] += np.exp(farthest_i) * np.sqrt(length_i / rows.rows)
    net.drift[j] += np.exp(farthest_j) * np.sqrt(length_j / rows.rows)
    net.touched_nodes[i] = True
    net.touched_nodes[j] = True
    net.touched_edges[e] = True


@inner_kernel
def solve_pair(net, rows, e, penalty, tolerance, iterations, work):
    """Fit the block of edge e from its current weights; return its violation.

    Parameters
    ----------
    net : PairWeights
    rows : Conditionals
    tolerance : float
        Violation at which to stop.
    iterations : int
        Largest number of steps.
    """
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    _sum_block(net, rows, e, work)
    caution, previous, has_squares = 1.0, np.inf, False
    worst = _measure(net, rows, e, penalty, work)
    for _ in range(iterations):
        if worst <= tolerance:
            break
        # A growing violation means that steps in the diagonal metric were too long: shorten them.
        if worst > 1.05 * previous:
            caution = min(_MOST_CAUTION, 2.0 * caution)
        else:
            caution = max(1.0, 0.8 * caution)
        previous = worst
        _edge_step(net, e, penalty, caution, has_squares, rows, work)
        sums_i, squares_i, sums_j, squares_j = (
            work.sums_i,
            work.squares_i,
            work.sums_j,
            work.squares_j,
        )
        bend = work.curvature
        _node_step(
            net,
            rows,
            i,
            work.rows,
            sums_i,
            squares_i,
            states_j,
            has_squares,
            penalty,
            caution,
            bend,
        )
        _node_step(
            net,
            rows,
            j,
            work.columns,
            sums_j,
            squares_j,
            states_i,
            has_squares,
            penalty,
            caution,
            bend,
        )
        _apply(net, rows, e, work)
        has_squares = True
        worst = _measure(net, rows, e, penalty, work)
    net.violation[e] = worst
    net.seen_drift[e] = net.drift[i] + net.drift[j]
    return worst


@njit(cache=True, nogil=True)
def solve_active_set(net, rows, n_edges, penalty, tolerance, sweeps, iterations, work):
    """Visit edges until none is stale; return the number of visits.

    An edge is stale when it has never been measured, its violation was above `tolerance`, or the
    drift of its ends has increased by more than `tolerance` since.
    """
    visits = 0
    for sweep in range(sweeps):
        before = visits
        for k in range(n_edges):
            e = n_edges - 1 - k if sweep % 2 == 0 else k
            i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
            increase = net.drift[i] + net.drift[j] - net.seen_drift[e]
            is_new = net.seen_drift[e] < 0.0
            if is_new or increase > tolerance or net.violation[e] > tolerance:
                solve_pair(net, rows, e, penalty, tolerance, iterations, work)
                visits += 1
        if visits == before:
            break
    return visits


@njit(cache=True, nogil=True)
def rebuild(net, rows, i, incident, work):
    """Compute the conditionals of variable i from the weights, without accumulated rounding.

    Parameters
    ----------
    incident : int64 array
        Edges of variable i.
    """
    block, at = block_of(rows, i), net.node_offsets[i]
    states = net.node_offsets[i + 1] - at
    weights, alone = net.node_weights[at : at + states], work.rows
    highest, total = weights.max(), 0.0
    for a in range(states):
        alone[a] = np.exp(weights[a] - highest)
        total += alone[a]
    for m in range(block.shape[0]):
        for a in range(states):
            block[m, a] = alone[a] / total
        for a in range(states, block.shape[1]):
            block[m, a] = SMALLEST
    factors = work.factors_i
    for e in incident:
        first, second = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
        other = second if first == i else first
        others = net.node_offsets[other + 1] - net.node_offsets[other]
        start = net.edge_offsets[e]
        for b in range(others):
            for a in range(states):
                k = a * others + b if first == i else b * states + a
                factors[b, a] = np.exp(net.edge_weights[start + k])
            for a in range(states, block.shape[1]):
                factors[b, a] = 0.0
        order, groups = rows.order[rows.places[other]], groups_of(rows, other)
        mix(block, order, groups, rows.multiplicity, factors, work.sums_i, work.squares_i)


@njit(cache=True, nogil=True)
def refresh_losses(rows, stale, losses):
    """Compute -Σ log p(x_i | rest) of the variables in `stale` again."""
    for i in stale:
        losses[i] = log_loss(block_of(rows, i), rows.codes[i], rows.multiplicity)
