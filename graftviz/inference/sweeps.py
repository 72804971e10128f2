"""Sweeps over edges whose two ends have the same, small number of states.

The same message update as in :mod:`graftviz.inference.propagation`, compiled once for every such
number, so that the messages, cavities and beliefs of an edge stay in registers. It uses no
logarithms: where a number is too small, or a product is zero or out of range, it stops before that
edge, which the general update then handles.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.inference.lanes import (
    any_less,
    lane,
    larger,
    largest,
    load,
    minus,
    over,
    plus,
    scaled,
    smaller,
    splat,
    store,
    times,
    total,
    with_lane,
)
from graftviz.kernels import NO_WRAPPER, inner_kernel

_SMALL = 1e-60  # messages and beliefs below this need the log domain
_LEAST_PRODUCT, _MOST_PRODUCT = 1e-280, 1e280  # outside, 1 / x and its multiples lose digits


@inner_kernel
def is_quick(states):
    """Return whether :func:`pass_quickly` has a kernel for this number of states."""
    return 2 <= states <= 5 or states == 8


@njit(cache=True, nogil=True)
def pass_quickly(states, arrays, first, end, step, residual):
    """Update the edges `first`, `first` + `step`, … while both ends have `states` states.

    Parameters
    ----------
    states : int
        Number for which :func:`is_quick` is true.
    arrays : tuple
        node_beliefs, messages, potentials, edge_nodes, node_offsets, edge_offsets and
        message_offsets of a :class:`~graftviz.inference.propagation.MessageGraph`.
    end : int
        The position after the last one, counted in steps.
    step : int
        1 or -1.
    residual : float
        Largest relative change of a message so far.

    Returns
    -------
    stopped : int
        The first edge that was not updated; `end` if all were.
    residual : float
    """
    if states == 2:
        return _pass((0, 0), arrays, first, end, step, residual)
    if states == 3:
        return _pass((0, 0, 0), arrays, first, end, step, residual)
    if states == 4:
        return _pass((0, 0, 0, 0), arrays, first, end, step, residual)
    if states == 5:
        return _pass((0, 0, 0, 0, 0), arrays, first, end, step, residual)
    return _pass((0, 0, 0, 0, 0, 0, 0, 0), arrays, first, end, step, residual)


# Quotients follow IEEE 754: results are checked afterwards instead of guarding each division.
@njit(cache=True, nogil=True, error_model="numpy", **NO_WRAPPER)
def _pass(size, arrays, first, end, step, residual):
    """Update edges as :func:`pass_quickly` does, for ``len(size)`` states."""
    beliefs, messages, potentials, edge_nodes, node_offsets, edge_offsets, message_offsets = arrays
    # Unsigned, because signed indices are checked for being negative.
    nodes, starts = edge_nodes.view(np.uint64), node_offsets.view(np.uint64)
    cells, inboxes = edge_offsets.view(np.uint64), message_offsets.view(np.uint64)
    one, states = np.uint64(1), np.uint64(len(size))
    mean_one = float(len(size))
    zeros, small = splat(0.0, size), splat(_SMALL, size)
    unchanged = 1.0 - residual  # a message changed by more if smaller < unchanged · larger
    k = first
    while k != end:
        e = np.uint64(k)
        i, j = nodes[e, 0], nodes[e, 1]
        at_i, at_j = starts[i], starts[j]
        if starts[i + one] - at_i != states or starts[j + one] - at_j != states:
            break
        at, into_i = cells[e], inboxes[e]
        into_j = into_i + states
        old_i, old_j = load(messages, into_i, size), load(messages, into_j, size)
        belief_i, belief_j = load(beliefs, at_i, size), load(beliefs, at_j, size)
        if any_less(smaller(smaller(old_i, old_j), smaller(belief_i, belief_j)), small):
            break
        cavity_i, cavity_j = over(belief_i, old_i), over(belief_j, old_j)
        new_i, new_j = zeros, zeros
        for x in range(len(size)):
            row = load(potentials, at + np.uint64(x) * states, size)
            new_i = with_lane(new_i, x, total(times(row, cavity_j)))
            new_j = plus(new_j, scaled(row, lane(cavity_i, x)))
        belief_i, belief_j = times(cavity_i, new_i), times(cavity_j, new_j)
        joint, mass_i, mass_j = total(belief_i), total(new_i), total(new_j)  # joint: of both ends
        # One division for the three normalisers.
        product = joint * (mass_i * mass_j)
        if not _LEAST_PRODUCT < product < _MOST_PRODUCT:
            break
        inverse = 1.0 / product
        new_i = scaled(new_i, mean_one * (inverse * (mass_j * joint)))
        new_j = scaled(new_j, mean_one * (inverse * (mass_i * joint)))
        store(messages, into_i, new_i)
        store(messages, into_j, new_j)
        store(beliefs, at_i, scaled(belief_i, inverse * (mass_i * mass_j)))
        store(beliefs, at_j, scaled(belief_j, inverse * (mass_i * mass_j)))
        high_i, high_j = larger(new_i, old_i), larger(new_j, old_j)
        low_i, low_j = smaller(new_i, old_i), smaller(new_j, old_j)
        if any_less(low_i, scaled(high_i, unchanged)) or any_less(low_j, scaled(high_j, unchanged)):
            change_i = largest(over(minus(high_i, low_i), high_i))
            change_j = largest(over(minus(high_j, low_j), high_j))
            residual = max(residual, change_i, change_j)
            unchanged = 1.0 - residual
        k += step
    return k, residual
