"""Score of an active edge when its weights are removed, for the pruning test."""

from __future__ import annotations

import numpy as np

from graftviz.learning.scores.pair_test import judge
from graftviz.learning.weights.conditionals import (
    START,
    WITH_SQUARES,
    columns_of,
    fill_impurity,
    gradient_variance,
    mean_impurity,
    mean_product,
    mix,
)
from graftviz.utils.compiling import inner_kernel, kernel

_LARGEST_MOVE = 2.0  # change of a node weight in one step
_MARGIN_STEPS = 20
_MARGIN_TOLERANCE = 1e-4
CLEARLY = 4.0  # so many times its threshold: an edge stays above it


@inner_kernel
def _restore_margins(rows, values, i, j, sums, squares, factors, scratch):
    """Restore the data's margins of node i by steps on its node weights alone.

    `values` are the columns of node i, `sums` and `squares` those by the states of node j.
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
        mix(rows, values, START, states, j, factors, WITH_SQUARES, sums, squares, scratch)


@kernel
def left_out_score(net, rows, e, test, least, spare, work):
    """Return gradient norm and share of its threshold of edge e with the weights of e set to zero.

    Parameters
    ----------
    test : PairTest
    least : float
        The norm must exceed it, too. The margins are not restored if the share is then CLEARLY
        above 1.
    spare : float32 array, flat
        Buffer for the columns of both ends.
    """
    i, j = net.edge_nodes[e, 0], net.edge_nodes[e, 1]
    states_i = net.node_offsets[i + 1] - net.node_offsets[i]
    states_j = net.node_offsets[j + 1] - net.node_offsets[j]
    at, scratch = net.edge_offsets[e], work.scratch
    of_i, of_j = columns_of(rows, i), columns_of(rows, j)
    values_i, values_j = spare[: of_i.size], spare[of_i.size : of_i.size + of_j.size]
    old_i, old_j = of_i.reshape(-1), of_j.reshape(-1)
    # numba needs two seconds to compile assignments of whole arrays.
    for k in range(of_i.size):
        values_i[k] = old_i[k]
    for k in range(of_j.size):
        values_j[k] = old_j[k]
    columns_i, columns_j = values_i.reshape(of_i.shape), values_j.reshape(of_j.shape)
    for a in range(states_i):
        for b in range(states_j):
            factor = np.exp(-net.edge_weights[at + a * states_j + b])
            work.factors_i[b, a] = factor
            work.factors_j[a, b] = factor
    sums_i, squares_i, factors_i = work.sums_i, work.squares_i, work.factors_i
    sums_j, squares_j, factors_j = work.sums_j, work.squares_j, work.factors_j
    mix(rows, values_i, START, states_i, j, factors_i, WITH_SQUARES, sums_i, squares_i, scratch)
    mix(rows, values_j, START, states_j, i, factors_j, WITH_SQUARES, sums_j, squares_j, scratch)
    target = net.edge_targets[at : at + states_i * states_j]
    norm, share = _norm_and_share(rows, i, j, target, test, least, columns_i, columns_j, work)
    if share > CLEARLY:
        return norm, share
    _restore_margins(rows, values_i, i, j, sums_i, squares_i, factors_i, scratch)
    _restore_margins(rows, values_j, j, i, sums_j, squares_j, factors_j, scratch)
    return _norm_and_share(rows, i, j, target, test, least, columns_i, columns_j, work)


@inner_kernel
def _norm_and_share(rows, i, j, target, test, least, columns_i, columns_j, work):
    """Return gradient norm and share of the threshold by the sums in `work` and the columns."""
    states_i, states_j = len(columns_i) - 1, len(columns_j) - 1
    expected, observed = work.gradient, work.curvature
    total, k = 0.0, 0
    for a in range(states_i):
        for b in range(states_j):
            expected[k] = 0.5 * (work.sums_i[b, a] + work.sums_j[a, b])
            observed[k] = target[k] * rows.rows
            total += (expected[k] - observed[k]) ** 2
            k += 1
    norm = 2.0 * np.sqrt(total) / rows.rows
    fill_impurity(columns_i, rows.inverse)
    fill_impurity(columns_j, rows.inverse)
    impurity_i, impurity_j = columns_i[states_i], columns_j[states_j]
    variance = gradient_variance(
        mean_product(impurity_i, impurity_j, rows.multiplicity, rows.rows),
        mean_impurity(impurity_i, rows.multiplicity, rows.rows),
        mean_impurity(impurity_j, rows.multiplicity, rows.rows),
        rows.margin_impurity[i],
        rows.margin_impurity[j],
    )
    _, _, share = judge(test, i, j, total, variance, expected, observed)
    return norm, min(share, norm / least)
