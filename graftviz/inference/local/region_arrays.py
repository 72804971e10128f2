"""Arrays of all variables of a region, computed once and shared by all candidates.

Visiting all neighbours of a hub again for each candidate would take time quadratic in its degree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.local.cuts import field_of
from graftviz.inference.local.neighbourhood import inside_slots
from graftviz.inference.local.star import NeighbourSums, neighbour_sums, rounding_reserve, star
from graftviz.utils.compiling import inner_kernel, kernel


class RegionArrays(NamedTuple):
    """Neighbours, sums, fields and rounding reserves of a region, in the order of addition.

    Attributes
    ----------
    nodes : int64 array, shape (k,)
    starts : int64 array, shape (k + 1,)
        The inside neighbours of the variable at place p are entries ``starts[p]:starts[p + 1]`` of
        `slots` and `places`.
    slots, places : int64 arrays
    is_enumerable, is_finite : bool arrays, shape (k,)
    inner, outer : float64 arrays, shape (k, s, s)
        See `NeighbourSums`; s is the largest number of states.
    fields : float64 array, shape (k, s)
    reserves : float64 array, shape (k,)
        Rounding reserves.
    """

    nodes: np.ndarray
    starts: np.ndarray
    slots: np.ndarray
    places: np.ndarray
    is_enumerable: np.ndarray
    is_finite: np.ndarray
    inner: np.ndarray
    outer: np.ndarray
    fields: np.ndarray
    reserves: np.ndarray


@kernel
def region_arrays(flat, nodes, inside, fields, limit):
    """Return the arrays of a region."""
    k = len(nodes)
    most_states = 0
    most_slots = 0
    for i in nodes:
        most_states = max(most_states, flat.sizes[i])
        most_slots += min(flat.starts[i + 1] - flat.starts[i], k)
    starts = np.zeros(k + 1, np.int64)
    slots, places = np.empty(most_slots, np.int64), np.empty(most_slots, np.int64)
    is_enumerable, is_finite = np.empty(k, np.bool_), np.empty(k, np.bool_)
    inner = np.zeros((k, most_states, most_states))
    outer = np.zeros((k, most_states, most_states))
    fitted, reserves = np.zeros((k, most_states)), np.empty(k)
    for p in range(k):
        i = nodes[p]
        found, found_places = inside_slots(flat, i, inside)
        starts[p + 1] = starts[p] + len(found)
        for r in range(len(found)):
            slots[starts[p] + r], places[starts[p] + r] = found[r], found_places[r]
        sums = neighbour_sums(flat, i, found, limit)
        is_enumerable[p], is_finite[p] = sums.is_enumerable, sums.is_finite
        for a in range(len(sums.inner)):
            for b in range(len(sums.inner)):
                inner[p, a, b], outer[p, a, b] = sums.inner[a, b], sums.outer[a, b]
        field = field_of(flat, i, found, fields)
        for a in range(len(field)):
            fitted[p, a] = field[a]
        reserves[p] = rounding_reserve(flat, i)
    return RegionArrays(
        nodes, starts, slots, places, is_enumerable, is_finite, inner, outer, fitted, reserves
    )


@inner_kernel
def stored_sums(flat, region, p):
    """Return the neighbour sums of the variable at place p."""
    states = flat.sizes[region.nodes[p]]
    if region.is_enumerable[p] or not region.is_finite[p]:
        states = 0
    inner, outer = np.empty((states, states)), np.empty((states, states))
    for a in range(states):
        for b in range(states):
            inner[a, b], outer[a, b] = region.inner[p, a, b], region.outer[p, a, b]
    slots = region.slots[region.starts[p] : region.starts[p + 1]]
    return NeighbourSums(slots, region.is_enumerable[p], region.is_finite[p], inner, outer)


@kernel
def all_coefficients(flat, region, limit):
    """Return the influence matrix, perturbations and spreads of a region, reserves included."""
    k = len(region.nodes)
    influence = np.zeros((k, k))
    perturbation, spread = np.empty(k), np.empty(k)
    for p in range(k):
        i = region.nodes[p]
        sums, field = stored_sums(flat, region, p), region.fields[p, : flat.sizes[i]]
        places = region.places[region.starts[p] : region.starts[p + 1]]
        found = write_row(flat, i, sums, places, field, limit, influence[p])
        perturbation[p], spread[p] = with_reserve(found, region.reserves[p])
    return influence, perturbation, spread


@inner_kernel
def write_row(flat, i, sums, places, field, limit, row):
    """Write the influence row of a variable, by place; return its perturbation and spread."""
    influence = np.empty(len(places))
    found = star(flat, i, sums, field, limit, influence)
    for r in range(len(places)):
        row[places[r]] = influence[r]
    return found


@inner_kernel
def with_reserve(found, reserve):
    """Return perturbation and spread with the rounding reserve added; the spread is at most 1."""
    return found[0] + reserve, min(found[1] + reserve, 1.0)
