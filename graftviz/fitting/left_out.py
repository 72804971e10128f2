"""Score of an active edge when its weights are removed, for the pruning test."""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.fitting.conditionals import mix
from graftviz.fitting.pseudo_likelihood import groups_of, pair_gradient
from graftviz.kernels import inner_kernel

_LARGEST_MOVE = 2.0  # change of a node weight in one step
_MARGIN_STEPS = 20
_MARGIN_TOLERANCE = 1e-4
CLEARLY = 4.0  # a norm of so many times its threshold stays above it


@inner_kernel
def _restore_margins(block, order, groups, u, rows, i, sums, squares, factors):
    """Restore the data's margins of node i by steps on its node weights alone."""
    at = rows.node_offsets[i]
    states = rows.node_offsets[i + 1] - at
    others = len(groups) - 1
    stretch = states / max(states - 1.0, 1.0)
    for _ in range(_MARGIN_STEPS):
        worst = 0.0
        for a in range(states):
            mean, spread = 0.0, 0.0
            for b in range(others):
                mean += sums[b, a]
                spread += stretch * (sums[b, a] - squares[b, a])
            gap = mean / rows.rows - rows.margins[at + a]
            worst = max(worst, abs(gap))
            move = -gap / (spread / rows.rows + 1e-6)
            factor = np.exp(min(max(move, -_LARGEST_MOVE), _LARGEST_MOVE))
            for b in range(others):
                factors[b, a] = factor
        if worst <= _MARGIN_TOLERANCE:
            break
        mix(block, order, groups, u, factors, sums, squares)


@njit(cache=True, nogil=True)
def left_out_score(net, rows, e, significance, least, spare, work):
    """Return the gradient norm of edge e, and its noise, with the weights of e set to zero.

    Parameters
    ----------
    significance, least : float
        The margins are not restored if the norm is then CLEARLY above `least` and above
        `significance` times the noise.
    spare : float32 array, flat
        Buffer for the blocks of both ends.
    """
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    at, different, u = net.edge_offsets[e], rows.codes.shape[1], rows.multiplicity
    size_i = different * rows.lanes[i]
    size_j = different * rows.lanes[j]
    block_i = spare[:size_i].reshape((different, rows.lanes[i]))
    block_j = spare[size_i : size_i + size_j].reshape((different, rows.lanes[j]))
    start_i, start_j = rows.starts[i], rows.starts[j]
    for k in range(size_i):
        spare[k] = rows.probabilities[start_i + k]
    for k in range(size_j):
        spare[size_i + k] = rows.probabilities[start_j + k]
    work.factors_i[:] = np.float32(0.0)
    work.factors_j[:] = np.float32(0.0)
    for a in range(states_i):
        for b in range(states_j):
            factor = np.exp(-net.edge_weights[at + a * states_j + b])
            work.factors_i[b, a] = factor
            work.factors_j[a, b] = factor
    order_i, order_j = rows.order[rows.places[i]], rows.order[rows.places[j]]
    groups_i, groups_j = groups_of(rows, i), groups_of(rows, j)
    mix(block_i, order_j, groups_j, u, work.factors_i, work.sums_i, work.squares_i)
    mix(block_j, order_i, groups_i, u, work.factors_j, work.sums_j, work.squares_j)
    target = net.edge_targets[at : at + states_i * states_j]
    norm, noise = _gradient_and_noise(rows, target, block_i, block_j, states_i, states_j, work)
    if norm > CLEARLY * max(least, significance * noise):
        return norm, noise
    _restore_margins(
        block_i, order_j, groups_j, u, rows, i, work.sums_i, work.squares_i, work.factors_i
    )
    _restore_margins(
        block_j, order_i, groups_i, u, rows, j, work.sums_j, work.squares_j, work.factors_j
    )
    return _gradient_and_noise(rows, target, block_i, block_j, states_i, states_j, work)


@inner_kernel
def _gradient_and_noise(rows, target, block_i, block_j, states_i, states_j, work):
    """Return the norm of the gradient by the sums in `work`, and its noise by the blocks."""
    pair_gradient(rows, target, states_i, states_j, work)
    total = 0.0
    for k in range(states_i * states_j):
        total += work.gradient[k] ** 2
    product, u = 0.0, rows.multiplicity
    for m in range(len(u)):
        impurity_i, impurity_j = 1.0, 1.0
        for a in range(states_i):
            impurity_i -= block_i[m, a] * block_i[m, a]
        for b in range(states_j):
            impurity_j -= block_j[m, b] * block_j[m, b]
        product += u[m] * max(impurity_i, 0.0) * max(impurity_j, 0.0)
    return np.sqrt(total), 2.0 * np.sqrt(product) / rows.rows
