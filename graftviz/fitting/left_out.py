"""Score of an active edge when its weights are removed, for the pruning test."""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.fitting.conditionals import (
    columns_of,
    fill_impurity,
    gradient_variance,
    mean_impurity,
    mean_product,
    mix,
)
from graftviz.fitting.pseudo_likelihood import pair_gradient
from graftviz.kernels import inner_kernel

_LARGEST_MOVE = 2.0  # change of a node weight in one step
_MARGIN_STEPS = 20
_MARGIN_TOLERANCE = 1e-4
CLEARLY = 4.0  # a norm of so many times its threshold stays above it


@inner_kernel
def _restore_margins(rows, columns, i, j, sums, squares, factors, scratch):
    """Restore the data's margins of node i by steps on its node weights alone.

    `columns` are those of node i, `sums` and `squares` those by the states of node j.
    """
    at = rows.node_offsets[i]
    states = rows.node_offsets[i + 1] - at
    others = rows.node_offsets[j + 1] - rows.node_offsets[j]
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
        mix(rows, columns.reshape(-1), 0, states, j, factors, True, sums, squares, scratch)


@njit(cache=True, nogil=True)
def left_out_score(net, rows, e, significance, least, spare, work):
    """Return the gradient norm of edge e, and its noise, with the weights of e set to zero.

    Parameters
    ----------
    significance, least : float
        The margins are not restored if the norm is then CLEARLY above `least` and above
        `significance` times the noise.
    spare : float32 array, flat
        Buffer for the columns of both ends.
    """
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    at, scratch = net.edge_offsets[e], work.scratch
    of_i, of_j = columns_of(rows, i), columns_of(rows, j)
    columns_i = spare[: of_i.size].reshape(of_i.shape)
    columns_j = spare[of_i.size : of_i.size + of_j.size].reshape(of_j.shape)
    columns_i[:] = of_i
    columns_j[:] = of_j
    for a in range(states_i):
        for b in range(states_j):
            factor = np.exp(-net.edge_weights[at + a * states_j + b])
            work.factors_i[b, a] = factor
            work.factors_j[a, b] = factor
    sums_i, squares_i, factors_i = work.sums_i, work.squares_i, work.factors_i
    sums_j, squares_j, factors_j = work.sums_j, work.squares_j, work.factors_j
    values_i, values_j = columns_i.reshape(-1), columns_j.reshape(-1)
    mix(rows, values_i, 0, states_i, j, factors_i, True, sums_i, squares_i, scratch)
    mix(rows, values_j, 0, states_j, i, factors_j, True, sums_j, squares_j, scratch)
    target = net.edge_targets[at : at + states_i * states_j]
    norm, noise = _gradient_and_noise(rows, i, j, target, columns_i, columns_j, work)
    if norm > CLEARLY * max(least, significance * noise):
        return norm, noise
    _restore_margins(rows, columns_i, i, j, sums_i, squares_i, factors_i, scratch)
    _restore_margins(rows, columns_j, j, i, sums_j, squares_j, factors_j, scratch)
    return _gradient_and_noise(rows, i, j, target, columns_i, columns_j, work)


@inner_kernel
def _gradient_and_noise(rows, i, j, target, columns_i, columns_j, work):
    """Return the norm of the gradient by the sums in `work`, and its noise by the columns."""
    states_i, states_j = len(columns_i) - 1, len(columns_j) - 1
    pair_gradient(rows, target, states_i, states_j, work)
    total = 0.0
    for k in range(states_i * states_j):
        total += work.gradient[k] ** 2
    fill_impurity(columns_i, rows.inverse)
    fill_impurity(columns_j, rows.inverse)
    impurity_i, impurity_j = columns_i[states_i], columns_j[states_j]
    multiplicity, count = rows.multiplicity, rows.rows
    variance = gradient_variance(
        mean_product(impurity_i, impurity_j, multiplicity, count),
        mean_impurity(impurity_i, multiplicity, count),
        mean_impurity(impurity_j, multiplicity, count),
        rows.margin_impurity[i],
        rows.margin_impurity[j],
    )
    return np.sqrt(total), 2.0 * np.sqrt(variance / count)
