"""Coefficients of one variable of a region: its influence row, perturbation and spread.

Let p be the model and q the local model of a region A. For a variable i of A with neighbours inside
(in A) and outside:

- influence of inside neighbour j: C_ij = max TV(q(x_i | y), q(x_i | z)) over joint states y, z of
  the inside neighbours that differ only in x_j;
- perturbation: b_i = max TV(p(x_i | x), q(x_i | x)) over joint states x of all its neighbours;
- spread: max TV(p(x_i | x), q(x_i | y)) over joint states x and y that need not agree.

The maxima are computed by enumeration where there are at most `limit` joint states; otherwise the
closed forms of `closed_form` give upper bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.local.closed_form import (
    by_oscillation,
    flip_oscillation,
    is_finite_star,
    logistic,
    logistic_gap,
    pair_gains,
)
from graftviz.inference.local.conditionals import (
    add_neighbours,
    joint_states,
    largest_by_neighbour,
    normalise,
    total_variation,
)
from graftviz.inference.local.neighbourhood import table_of
from graftviz.utils.compiling import inner_kernel, kernel

# Largest number of joint states of neighbours to enumerate: twelve neighbours of two states, five
# of five states. Above it, closed forms are used.
ENUMERATION_LIMIT = 4096
# For hubs only the inside neighbours may be enumerated, and fewer of their joint states, because
# this is done for every candidate.
_SHARE_OF_HUBS = 16
# Added to every perturbation: far more than the rounding error of these sums of exponentials.
# Weights in the millions need more, in proportion to their size.
ROUNDING = 1e-10
_ROUNDING_PER_WEIGHT = 1e-14


class NeighbourSums(NamedTuple):
    """Inside neighbours of a variable, and sums over all its neighbours for the closed forms.

    Attributes
    ----------
    inside : int64 array
        Slots of the inside neighbours.
    is_enumerable : bool
        Whether the joint states of all neighbours can be enumerated; then the sums are empty.
    is_finite : bool
        Whether all weights of the variable and its edges are finite; if not, the sums are empty.
    inner, outer : float64 arrays, shape (s_i, s_i)
        Sums of gains (see `pair_gains`) over the inside and the outside neighbours.
    """

    inside: np.ndarray
    is_enumerable: bool
    is_finite: bool
    inner: np.ndarray
    outer: np.ndarray


@kernel
def neighbour_sums(flat, i, inside, limit):
    """Return the sums over the neighbours of i; `inside` are slots, ascending."""
    degree = flat.starts[i + 1] - flat.starts[i]
    is_enumerable = joint_states(flat, i, np.arange(degree), limit) <= limit
    inner, outer = np.zeros((0, 0)), np.zeros((0, 0))
    is_finite = True
    if not is_enumerable:
        is_finite = is_finite_star(flat, i)
        if is_finite:
            states = flat.sizes[i]
            inner, outer = np.zeros((states, states)), np.zeros((states, states))
            gains = np.empty((states, states))
            at = 0
            for slot in range(degree):
                pair_gains(flat, i, slot, gains)
                if at < len(inside) and inside[at] == slot:
                    _add(inner, gains, 1.0)
                    at += 1
                else:
                    _add(outer, gains, 1.0)
    return NeighbourSums(inside, is_enumerable, is_finite, inner, outer)


@kernel
def sums_with(flat, i, sums, slot):
    """Return `sums` with one more inside neighbour, appended last."""
    inside = np.empty(len(sums.inside) + 1, np.int64)
    for r in range(len(sums.inside)):
        inside[r] = sums.inside[r]
    inside[-1] = slot
    if sums.is_enumerable or not sums.is_finite:
        return NeighbourSums(inside, sums.is_enumerable, sums.is_finite, sums.inner, sums.outer)
    states = flat.sizes[i]
    gains = np.empty((states, states))
    pair_gains(flat, i, slot, gains)
    inner, outer = np.zeros((states, states)), np.zeros((states, states))
    _add(inner, sums.inner, 1.0)
    _add(inner, gains, 1.0)
    _add(outer, sums.outer, 1.0)
    _add(outer, gains, -1.0)
    return NeighbourSums(inside, False, True, inner, outer)


@inner_kernel
def _add(total, term, times):
    for a in range(total.shape[0]):
        for b in range(total.shape[1]):
            total[a, b] += times * term[a, b]


@kernel
def star(flat, i, sums, field, limit, influence):
    """Compute the coefficients of variable i; write its influences, return the other two.

    Parameters
    ----------
    flat : FlatModel
    i : int
    sums : NeighbourSums
    field : float64 array, shape (s_i,)
        Field that replaces the edges to outside neighbours in the local model; finite.
    limit : int
        Largest number of joint states to enumerate.
    influence : float64 array, as long as ``sums.inside``
        Overwritten with C_ij of the inside neighbours.

    Returns
    -------
    perturbation, spread : float64
    """
    states = flat.sizes[i]
    inside = sums.inside
    for r in range(len(inside)):
        influence[r] = 0.0
    most = limit if sums.is_enumerable else limit // _SHARE_OF_HUBS
    n_inside = joint_states(flat, i, inside, most)
    if n_inside > most:
        return _closed_form(flat, i, sums, field, influence, True)
    own = flat.node_offsets[i]
    local = np.empty((n_inside, states))
    for a in range(states):
        local[0, a] = flat.weights[own + a] + field[a]
    add_neighbours(flat, i, inside, local, 1)
    normalise(local, n_inside)
    stride = n_inside
    for r in range(len(inside)):
        others = table_of(flat, i, inside[r])[3]
        stride //= others
        influence[r] = largest_by_neighbour(local, stride, others)
    if not sums.is_enumerable:
        return _closed_form(flat, i, sums, field, influence, False)
    outside = _outside_slots(flat.starts[i + 1] - flat.starts[i], inside)
    n_outside = joint_states(flat, i, outside, limit)
    full = np.empty((n_inside * n_outside, states))
    for a in range(states):
        full[0, a] = flat.weights[own + a]
    add_neighbours(flat, i, inside, full, 1)
    add_neighbours(flat, i, outside, full, n_inside)
    normalise(full, n_inside * n_outside)
    perturbation = 0.0
    for c in range(n_inside):
        for x in range(c * n_outside, (c + 1) * n_outside):
            perturbation = max(perturbation, total_variation(full[x], local[c]))
    return perturbation, _spread_of_rows(full, local)


@inner_kernel
def _outside_slots(degree, inside):
    """Return the slots that are not in `inside`, ascending."""
    is_outside = np.ones(degree, np.bool_)
    for slot in inside:
        is_outside[slot] = False
    outside = np.empty(degree - len(inside), np.int64)
    count = 0
    for slot in range(degree):
        if is_outside[slot]:
            outside[count] = slot
            count += 1
    return outside


@inner_kernel
def _extremes(rows, a):
    lowest, highest = 1.0, 0.0
    for c in range(len(rows)):
        lowest, highest = min(lowest, rows[c, a]), max(highest, rows[c, a])
    return lowest, highest


@inner_kernel
def _spread_of_rows(full, local):
    """Bound the distance of any row of `full` from any row of `local` by their extremes."""
    states = full.shape[1]
    above = below = widest = 0.0
    for a in range(states):
        lowest, highest = _extremes(full, a)
        lowest_local, highest_local = _extremes(local, a)
        up, down = max(highest - lowest_local, 0.0), max(highest_local - lowest, 0.0)
        above, below, widest = above + up, below + down, max(widest, up, down)
    # With two states, both probabilities change by the same amount.
    return min(widest if states == 2 else min(above, below), 1.0)


@inner_kernel
def _closed_form(flat, i, sums, field, influence, with_influence):
    """Bound the perturbation and the spread, and the influences if `with_influence`."""
    states = flat.sizes[i]
    inner, outer = sums.inner, sums.outer
    if not sums.is_finite:
        if with_influence:
            _influence_by_flips(flat, i, sums.inside, influence)
        return 1.0, 1.0
    if states == 2:
        own = flat.weights[flat.node_offsets[i] + 1] - flat.weights[flat.node_offsets[i]]
        if with_influence:
            odds = own + field[1] - field[0]
            _influence_of_two(flat, i, sums.inside, odds, inner, influence)
        return _distances_of_two(own, field[1] - field[0], inner, outer)
    if with_influence:
        _influence_by_flips(flat, i, sums.inside, influence)
    shift = spread = 0.0
    for a in range(states):
        for b in range(states):
            gap = outer[a, b] - (field[a] - field[b])
            shift = max(shift, gap)
            spread = max(spread, gap + inner[a, b] + inner[b, a])
    return by_oscillation(shift), by_oscillation(spread)


@inner_kernel
def _influence_by_flips(flat, i, inside, influence):
    for r in range(len(inside)):
        states = table_of(flat, i, inside[r])[3]
        widest = 0.0
        for x in range(states - 1):
            for y in range(x + 1, states):
                widest = max(widest, flip_oscillation(flat, i, inside[r], x, y))
        influence[r] = by_oscillation(widest)


@inner_kernel
def _influence_of_two(flat, i, inside, odds, inner, influence):
    """Write the influences on a variable of two states; `odds`: its log-odds without neighbours."""
    gains = np.empty((2, 2))
    for r in range(len(inside)):
        pair_gains(flat, i, inside[r], gains)
        # Range of the log-odds over the states of the other inside neighbours.
        low = odds - (inner[0, 1] - gains[0, 1])
        high = odds + (inner[1, 0] - gains[1, 0])
        start, own, other, states = table_of(flat, i, inside[r])
        for x in range(states - 1):
            d = flat.weights[start + own + x * other] - flat.weights[start + x * other]
            for y in range(x + 1, states):
                e = flat.weights[start + own + y * other] - flat.weights[start + y * other]
                influence[r] = max(influence[r], logistic_gap(low, high, d, e))


@inner_kernel
def _distances_of_two(own, field, inner, outer):
    """Return the perturbation and spread of a variable of two states, from its log-odds."""
    low, high = own - inner[0, 1], own + inner[1, 0]
    perturbation = max(
        logistic_gap(low, high, -outer[0, 1], field), logistic_gap(low, high, outer[1, 0], field)
    )
    upward = logistic(high + outer[1, 0]) - logistic(low + field)
    downward = logistic(high + field) - logistic(low - outer[0, 1])
    return perturbation, max(upward, downward)


@inner_kernel
def rounding_reserve(flat, i):
    """Return the amount to add to a perturbation so that rounding cannot invalidate a bound."""
    largest = 0.0
    total = 0.0
    for a in range(flat.node_offsets[i], flat.node_offsets[i + 1]):
        if flat.weights[a] > -np.inf:
            largest = max(largest, abs(flat.weights[a]))
    for at in range(flat.starts[i], flat.starts[i + 1]):
        total += largest
        largest = 0.0
        e = flat.edges[at]
        for w in range(flat.edge_offsets[e], flat.edge_offsets[e + 1]):
            if flat.weights[w] > -np.inf:
                largest = max(largest, abs(flat.weights[w]))
    degree = flat.starts[i + 1] - flat.starts[i]
    return ROUNDING + _ROUNDING_PER_WEIGHT * (degree + 1) * (total + largest)
