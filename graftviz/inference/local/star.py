"""Coefficients of one variable of a region: its influence row, perturbation and spread.

Let p be the model and q the local model of a region A, a small set of variables around a query. For
a variable i of A with neighbours inside (in A) and outside:

- influence of inside neighbour j: C_ij = max TV(q(x_i | y), q(x_i | z)) over joint states y, z of
  the inside neighbours that differ only in x_j;
- perturbation: b_i = max TV(p(x_i | x), q(x_i | x)) over joint states x of all its neighbours;
- spread: max TV(p(x_i | x), q(x_i | y)) over joint states x and y that need not agree.

The maxima are computed by enumeration where there are at most `limit` joint states. They are
numbered in row-major order: the first neighbour varies slowest. A joint state of the neighbours
that leaves the variable no possible state has probability zero and an arbitrary conditional, which
is set to uniform, in the model and in the local model alike.

Otherwise, for hubs, closed forms give upper bounds. If two log-potentials of x_i differ by Δ(x_i),
their distributions differ by at most tanh(osc(Δ)/4) in total variation, osc = max − min. For two
states there is a tighter bound: with t the log-odds of state 1, the distance is
|σ(t + d) − σ(t + e)|, where t lies in an interval that depends on the other neighbours; the maximum
over that interval has a closed form.

Kernels never traverse the whole graph: they visit the neighbours of a few variables and test
membership in A by bisection. A *slot* is a position in the list of a variable's neighbours, a
*place* a position in the list of the region.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel

# Largest number of joint states of neighbours to enumerate: twelve neighbours of two states, five
# of five states. Above it, closed forms are used.
ENUMERATION_LIMIT = 4096
# For hubs only the inside neighbours may be enumerated, and fewer of their joint states with two
# states, because this is done for every candidate.
_SHARE_OF_HUBS = 16
# Added to every perturbation: far more than the rounding error of these sums of exponentials.
# Weights in the millions need more, in proportion to their size.
ROUNDING = 1e-10
_ROUNDING_PER_WEIGHT = 1e-14


class FlatModel(NamedTuple):
    """Arrays of a model that kernels read; the model caches them."""

    sizes: np.ndarray
    weights: np.ndarray
    node_offsets: np.ndarray
    edge_offsets: np.ndarray
    starts: np.ndarray
    neighbours: np.ndarray
    edges: np.ndarray


class Members(NamedTuple):
    """Set of variables: indices in ascending order, and the place of each in the original list."""

    sorted: np.ndarray
    places: np.ndarray


def flat_model(model: PairwiseModel) -> FlatModel:
    """Return the arrays of `model`."""
    starts, neighbours, edges = model.incidence
    offsets = model.node_offsets.astype(np.int64, copy=False), model.edge_offsets
    return FlatModel(model.cardinalities, model.weights, *offsets, starts, neighbours, edges)


def members(nodes: np.ndarray) -> Members:
    """Return `nodes`, in any order, as a set that kernels can search."""
    order = np.argsort(nodes)
    return Members(nodes[order], order)


def neighbours_of(model: PairwiseModel, i: int) -> np.ndarray:
    """Return the neighbours of variable i, ascending."""
    starts, neighbours, _ = model.incidence
    return neighbours[starts[i] : starts[i + 1]]


@inner_kernel
def place_of(inside, node):
    """Return the place of `node` among the members, or −1."""
    low, high = 0, len(inside.sorted)
    while low < high:
        middle = (low + high) // 2
        if inside.sorted[middle] < node:
            low = middle + 1
        else:
            high = middle
    if low < len(inside.sorted) and inside.sorted[low] == node:
        return inside.places[low]
    return -1


@kernel
def inside_slots(flat, i, inside):
    """Return which neighbours of i are members, as slots of its list, and their places."""
    start, end = flat.starts[i], flat.starts[i + 1]
    slots, places = np.empty(end - start, np.int64), np.empty(end - start, np.int64)
    count = 0
    for slot in range(end - start):
        place = place_of(inside, flat.neighbours[start + slot])
        if place >= 0:
            slots[count], places[count] = slot, place
            count += 1
    return slots[:count], places[:count]


@inner_kernel
def slot_of(flat, i, neighbour):
    """Return the slot of a neighbour in the list of i."""
    low, high = flat.starts[i], flat.starts[i + 1]
    while low < high:
        middle = (low + high) // 2
        if flat.neighbours[middle] < neighbour:
            low = middle + 1
        else:
            high = middle
    return low - flat.starts[i]


@inner_kernel
def table_of(flat, i, slot):
    """Return (start, own, other, states) of the weights between i and its neighbour k at a slot.

    The weight of states (x_i, x_k) is at ``start + x_i * own + x_k * other``, x_k < `states`.
    """
    k = flat.neighbours[flat.starts[i] + slot]
    start = flat.edge_offsets[flat.edges[flat.starts[i] + slot]]
    if i < k:
        return start, flat.sizes[k], 1, flat.sizes[k]
    return start, 1, flat.sizes[i], flat.sizes[k]


@inner_kernel
def joint_states(flat, i, slots, limit):
    """Return the number of joint states of the neighbours at `slots` of i, at most limit + 1."""
    count = 1
    for slot in slots:
        count *= flat.sizes[flat.neighbours[flat.starts[i] + slot]]
        if count > limit:
            return limit + 1
    return count


@inner_kernel
def add_neighbours(flat, i, slots, logs, count):
    """Expand `count` rows of log-potentials of x_i over the joint states of more neighbours.

    Return the new number of rows. For a neighbour with s states, row c becomes the rows
    c·s … c·s + s − 1, in reverse order so that no row is overwritten before it is read.
    """
    own_states = flat.sizes[i]
    for slot in slots:
        start, own, other, states = table_of(flat, i, slot)
        for c in range(count - 1, -1, -1):
            for x in range(states - 1, -1, -1):
                for a in range(own_states):
                    logs[c * states + x, a] = logs[c, a] + flat.weights[start + a * own + x * other]
        count *= states
    return count


@inner_kernel
def normalise(rows, count):
    """Turn the first `count` rows of log-potentials into distributions, in place."""
    states = rows.shape[1]
    for c in range(count):
        largest = -np.inf
        for a in range(states):
            largest = max(largest, rows[c, a])
        if largest == -np.inf:
            for a in range(states):
                rows[c, a] = 1.0 / states
            continue
        total = 0.0
        for a in range(states):
            rows[c, a] = np.exp(rows[c, a] - largest)
            total += rows[c, a]
        for a in range(states):
            rows[c, a] /= total


@inner_kernel
def total_variation(first, second):
    """Return ½ Σ |first − second|."""
    total = 0.0
    for a in range(len(first)):
        total += abs(first[a] - second[a])
    return 0.5 * total


@inner_kernel
def largest_by_neighbour(rows, stride, states):
    """Return the largest distance of two rows that differ only in the state of one neighbour.

    The neighbour has `states` states; rows whose states differ by one are `stride` rows apart.
    """
    largest = 0.0
    block = stride * states
    for begin in range(0, len(rows), block):
        for rest in range(begin, begin + stride):
            for a in range(states - 1):
                for b in range(a + 1, states):
                    distance = total_variation(rows[rest + a * stride], rows[rest + b * stride])
                    largest = max(largest, distance)
    return largest


@inner_kernel
def by_oscillation(oscillation):
    """Return tanh(osc/4); 1 for an infinite oscillation, 0 for a negative one."""
    return np.tanh(0.25 * max(oscillation, 0.0))


@kernel
def logistic(t):
    """Return σ(t) without overflow."""
    if t >= 0.0:
        return 1.0 / (1.0 + np.exp(-t))
    return np.exp(t) / (1.0 + np.exp(t))


@kernel
def logistic_gap(low, high, d, e):
    """Return the maximum of |σ(t + d) − σ(t + e)| over low ≤ t ≤ high.

    The gap is largest at t = −(d + e)/2 and decreases on both sides, symmetrically.
    """
    t = min(max(-0.5 * (d + e), low), high)
    return abs(logistic(t + d) - logistic(t + e))


@inner_kernel
def pair_gains(flat, i, slot, gains):
    """Write max over x_k of w_ik[a, x_k] − w_ik[b, x_k] into gains[a, b].

    States of the neighbour under which both a and b are impossible are ignored; −inf if no other
    state remains.
    """
    start, own, other, states = table_of(flat, i, slot)
    for a in range(flat.sizes[i]):
        for b in range(flat.sizes[i]):
            best = -np.inf
            for x in range(states):
                first = flat.weights[start + a * own + x * other]
                second = flat.weights[start + b * own + x * other]
                if first > -np.inf or second > -np.inf:
                    best = max(best, first - second)
            gains[a, b] = best


@inner_kernel
def flip_oscillation(flat, i, slot, x, y):
    """Return osc of w_ik[·, x] − w_ik[·, y] over the states x_i can have."""
    start, own, other, _ = table_of(flat, i, slot)
    highest, lowest = -np.inf, np.inf
    for a in range(flat.sizes[i]):
        first = flat.weights[start + a * own + x * other]
        second = flat.weights[start + a * own + y * other]
        if flat.weights[flat.node_offsets[i] + a] == -np.inf or first == second == -np.inf:
            continue
        if first == -np.inf or second == -np.inf:
            return np.inf
        highest, lowest = max(highest, first - second), min(lowest, first - second)
    return highest - lowest


@inner_kernel
def is_finite_star(flat, i):
    """Return whether all weights around variable i are finite."""
    for a in range(flat.sizes[i]):
        if flat.weights[flat.node_offsets[i] + a] == -np.inf:
            return False
    for at in range(flat.starts[i], flat.starts[i + 1]):
        e = flat.edges[at]
        for w in range(flat.edge_offsets[e], flat.edge_offsets[e + 1]):
            if flat.weights[w] == -np.inf:
                return False
    return True


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
        The spread is never above the perturbation plus the sum of the influences.
    """
    perturbation, spread = _star(flat, i, sums, field, limit, influence)
    perturbation = min(perturbation, spread)
    return perturbation, min(spread, perturbation + influence.sum())


@inner_kernel
def _star(flat, i, sums, field, limit, influence):
    states = flat.sizes[i]
    inside = sums.inside
    for r in range(len(inside)):
        influence[r] = 0.0
    is_close = states == 2 and not sums.is_enumerable  # the closed form is nearly exact
    most = limit // _SHARE_OF_HUBS if is_close else limit
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
def _spread_of_rows(full, local):
    """Return the largest distance of any row of `full` from any row of `local`.

    The distance of p and q is the maximum of p(S) − q(S) over sets S of states, so the maximum over
    the rows needs only the extremes of p(S) and q(S); with many states pairs of rows are compared.
    """
    states, widest = full.shape[1], 0.0
    sets = 1 << min(states, 40)
    if sets * (len(full) + len(local)) > len(full) * len(local):
        for c in range(len(full)):
            for d in range(len(local)):
                widest = max(widest, total_variation(full[c], local[d]))
        return min(widest, 1.0)
    for chosen in range(1, sets - 1):
        highest, lowest = 0.0, 1.0
        for c in range(len(full)):
            highest = max(highest, _share_of(full[c], chosen))
        for d in range(len(local)):
            lowest = min(lowest, _share_of(local[d], chosen))
        widest = max(widest, highest - lowest)
    return min(widest, 1.0)


@inner_kernel
def _share_of(row, chosen):
    """Return the probability of the states whose bits are set."""
    total = 0.0
    for a in range(len(row)):
        if chosen >> a & 1:
            total += row[a]
    return total


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
