"""Warm-started fit of the active set under the pseudo-likelihood, edge block by edge block.

The objective is -(1/N) Σ_m Σ_i log p(x_i | rest) plus the penalty. A block is an edge with its two
nodes: its gradient needs only the sums of p(x_i | rest) per state of x_j and of p(x_j | rest) per
state of x_i, and one step on it multiplies the rows of both by small tables
(:mod:`graftviz.learning.weights.conditionals`). Steps are proximal Newton in a diagonal metric.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.weights.conditionals import (
    ROWS_TO_MIX,
    WITHOUT_SQUARES,
    columns_of,
    log_loss,
    mix,
    sum_by_state,
)
from graftviz.learning.weights.penalty import group_dimension, group_residual, proximal_step
from graftviz.utils.compiling import inner_kernel, kernel

_LARGEST_MOVE = 2.0  # change of a weight in one step
_LARGEST_WEIGHT = 40.0
_NO_ROWS = 1e-20  # less than any sum of probabilities
_MOST_CAUTION = 64.0
_LASTING_DRIFT = 0.1  # drift of an edge's ends up to which the shares of squares are used again


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
    shares_i, shares_j : float64 arrays, flat
        Σ u p² / Σ u p of the conditionals p of both ends over the rows of each cell of an edge, at
        the last computation: they give the curvature, and change slowly.
    shares_drift : float64 array, shape (capacity,)
        drift_i + drift_j at that time; -1: never.
    left_out : float64 array, shape (capacity, 2)
        Gradient norm without the edge, and the share of its threshold that the edge then reaches,
        at the last computation.
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
    shares_i: np.ndarray
    shares_j: np.ndarray
    shares_drift: np.ndarray
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
    spread_i: np.ndarray
    spread_j: np.ndarray
    factors_i: np.ndarray
    factors_j: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    previous: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    scratch: np.ndarray


def new_workspace(states: int) -> Workspace:
    """Return a workspace for variables of at most `states` states."""
    tables = [np.zeros((states, states)) for _ in range(6)]
    factors = [np.zeros((states, states), dtype=np.float32) for _ in range(2)]
    cells = [np.zeros(states * states) for _ in range(3)]
    vectors = [np.zeros(states) for _ in range(2)]
    scratch = [np.zeros((states + 1, ROWS_TO_MIX), dtype=np.float32)]
    return Workspace(*tables, *factors, *cells, *vectors, *scratch)


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
    sum_by_state(rows, i, j, work.sums_i)
    sum_by_state(rows, j, i, work.sums_j)


@kernel
def measure_edge(net, rows, e, penalty, work):
    """Compute and store the current violation of an edge's block."""
    _sum_block(net, rows, e, work)
    net.violation[e] = _measure(net, rows, e, penalty, work)
    net.seen_drift[e] = net.drift[net.edge_nodes[e, 0]] + net.drift[net.edge_nodes[e, 1]]
    return net.violation[e]


@inner_kernel
def _measure_spread(net, e, work):
    """Write the curvature of each cell, summed over the rows, for both ends of an edge.

    Σ u (diag p - p pᵀ) has the diagonal Σ u p (1 - p); times s/(s - 1) it is the exact curvature of
    centred moves if p is uniform or has two states, and at most half of it otherwise. Before the
    shares of squares are computed, Σ u p is used as an upper bound.
    """
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    at, stretch_i, stretch_j = net.edge_offsets[e], 1.0, 1.0
    if net.shares_drift[e] >= 0.0:
        stretch_i = states_i / max(states_i - 1.0, 1.0)
        stretch_j = states_j / max(states_j - 1.0, 1.0)
    for a in range(states_i):
        for b in range(states_j):
            k = at + a * states_j + b
            work.spread_i[b, a] = stretch_i * work.sums_i[b, a] * (1.0 - net.shares_i[k])
            work.spread_j[a, b] = stretch_j * work.sums_j[a, b] * (1.0 - net.shares_j[k])


@inner_kernel
def _edge_step(net, e, penalty, caution, rows, work):
    """Take one proximal step on w_ij; write the previous weights to `previous`."""
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    size, at = states_i * states_j, net.edge_offsets[e]
    weights = net.edge_weights[at : at + size]
    for a in range(states_i):
        for b in range(states_j):
            k = a * states_j + b
            spread = work.spread_i[b, a] + work.spread_j[a, b]
            work.curvature[k] = caution * (spread / rows.rows + 1e-6) + 2.0 * penalty.lam2
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
def _node_step(net, rows, i, gradient, spread, others, penalty, caution, bend):
    """Take one step on w_i; `gradient` receives the move, `bend` is scratch."""
    at = net.node_offsets[i]
    states = net.node_offsets[i + 1] - at
    for a in range(states):
        total = 0.0
        for b in range(others):
            total += spread[b, a]
        bend[a] = caution * (total / rows.rows + 1e-6)
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
    start_i, start_j, values, scratch = rows.starts[i], rows.starts[j], rows.columns, work.scratch
    now = net.drift[i] + net.drift[j]
    is_old = net.shares_drift[e] < 0.0 or now - net.shares_drift[e] > _LASTING_DRIFT
    sums_i, squares_i, sums_j, squares_j = work.sums_i, work.squares_i, work.sums_j, work.squares_j
    mix(rows, values, start_i, states_i, j, work.factors_i, is_old, sums_i, squares_i, scratch)
    mix(rows, values, start_j, states_j, i, work.factors_j, is_old, sums_j, squares_j, scratch)
    # On the way a probability grows by exp(2 max |move|) at most, its root by exp(max |move|).
    net.drift[i] += np.exp(farthest_i) * np.sqrt(length_i / rows.rows)
    net.drift[j] += np.exp(farthest_j) * np.sqrt(length_j / rows.rows)
    net.touched_nodes[i] = True
    net.touched_nodes[j] = True
    net.touched_edges[e] = True
    if is_old:
        net.shares_drift[e] = net.drift[i] + net.drift[j]
        for a in range(states_i):
            for b in range(states_j):
                k = at + a * states_j + b
                net.shares_i[k] = squares_i[b, a] / max(sums_i[b, a], _NO_ROWS)
                net.shares_j[k] = squares_j[a, b] / max(sums_j[a, b], _NO_ROWS)


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
    caution, previous = 1.0, np.inf
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
        _measure_spread(net, e, work)
        _edge_step(net, e, penalty, caution, rows, work)
        bend, spread_i, spread_j = work.curvature, work.spread_i, work.spread_j
        _node_step(net, rows, i, work.rows, spread_i, states_j, penalty, caution, bend)
        _node_step(net, rows, j, work.columns, spread_j, states_i, penalty, caution, bend)
        _apply(net, rows, e, work)
        worst = _measure(net, rows, e, penalty, work)
    net.violation[e] = worst
    net.seen_drift[e] = net.drift[i] + net.drift[j]
    return worst


@kernel
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


@kernel
def fill_columns(net, rows, i, incident, values, start, work):
    """Write the columns of variable i that follow from the weights, without accumulated rounding.

    Parameters
    ----------
    incident : int64 array
        Edges of variable i.
    values : float32 array, flat
        The columns are written from `start`.
    """
    at, u = net.node_offsets[i], rows.multiplicity
    states = net.node_offsets[i + 1] - at
    weights, alone = net.node_weights[at : at + states], work.rows
    highest, total = weights.max(), 0.0
    for a in range(states):
        alone[a] = np.exp(weights[a] - highest)
        total += alone[a]
    for a in range(states):
        share, column = np.float32(alone[a] / total), values[start + a * len(u) :]
        for m in range(len(u)):
            column[m] = u[m] * share
    factors, sums, squares = work.factors_i, work.sums_i, work.squares_i
    for e in incident:
        first, second = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
        other = second if first == i else first
        others = net.node_offsets[other + 1] - net.node_offsets[other]
        at_edge = net.edge_offsets[e]
        for b in range(others):
            for a in range(states):
                k = a * others + b if first == i else b * states + a
                factors[b, a] = np.exp(net.edge_weights[at_edge + k])
        mix(
            rows,
            values,
            start,
            states,
            other,
            factors,
            WITHOUT_SQUARES,
            sums,
            squares,
            work.scratch,
        )


@kernel
def distance_to(net, rows, i, incident, spare, work):
    """Return the root mean square distance of the conditionals of variable i from those of weights.

    Parameters
    ----------
    net : PairWeights
        With the other weights.
    incident : int64 array
        Edges of variable i.
    spare : float32 array, flat
        Buffer for the columns of a variable.
    """
    fill_columns(net, rows, i, incident, spare, np.int64(0), work)
    columns, total = columns_of(rows, i), 0.0
    for a in range(len(columns) - 1):
        column, other = columns[a], spare[a * columns.shape[1] :]
        for m in range(len(column)):
            gap = column[m] - other[m]
            total += gap * gap * rows.inverse[m]
    return np.sqrt(total / rows.rows)


@kernel
def refresh_losses(rows, stale, losses):
    """Compute -Σ log p(x_i | rest) of the variables in `stale` again."""
    for i in stale:
        losses[i] = log_loss(columns_of(rows, i), rows.codes[i], rows.multiplicity)
