"""What is known of every variable of a region, found once and used for all candidates.

Walking over all neighbours of a hub for each of as many candidates would take a time that grows
with the square of its degree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.regions.cuts import field_of
from graftviz.regions.neighbourhood import inside_slots
from graftviz.regions.star import Around, around_of, rounding_of, star


class Survey(NamedTuple):
    """Of all variables of a region, in the order of addition.

    Attributes
    ----------
    nodes : int64 array, shape (k,)
    starts : int64 array, shape (k + 1,)
        What belongs to the inside neighbours of the variable in place p stands at
        ``starts[p]:starts[p + 1]`` of `slots` and `places`.
    slots, places : int64 arrays
    is_enumerable, is_finite : bool arrays, shape (k,)
    inner, outer : float64 arrays, shape (k, s, s)
        See `Around`; s is the largest number of states.
    fields : float64 array, shape (k, s)
    reserves : float64 array, shape (k,)
        What rounding is given.
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


@njit(cache=True, nogil=True)
def survey_of(flat, nodes, inside, fields, limit):
    """Survey a region."""
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
        found, where = inside_slots(flat, i, inside)
        starts[p + 1] = starts[p] + len(found)
        for r in range(len(found)):
            slots[starts[p] + r], places[starts[p] + r] = found[r], where[r]
        around = around_of(flat, i, found, limit)
        is_enumerable[p], is_finite[p] = around.is_enumerable, around.is_finite
        for a in range(len(around.inner)):
            for b in range(len(around.inner)):
                inner[p, a, b], outer[p, a, b] = around.inner[a, b], around.outer[a, b]
        field = field_of(flat, i, found, fields)
        for a in range(len(field)):
            fitted[p, a] = field[a]
        reserves[p] = rounding_of(flat, i)
    return Survey(
        nodes, starts, slots, places, is_enumerable, is_finite, inner, outer, fitted, reserves
    )


@njit(cache=True, nogil=True)
def around_at(flat, survey, p):
    """Return what a survey knows of the neighbours of the variable in place p."""
    states = flat.sizes[survey.nodes[p]]
    if survey.is_enumerable[p] or not survey.is_finite[p]:
        states = 0
    inner, outer = np.empty((states, states)), np.empty((states, states))
    for a in range(states):
        for b in range(states):
            inner[a, b], outer[a, b] = survey.inner[p, a, b], survey.outer[p, a, b]
    slots = survey.slots[survey.starts[p] : survey.starts[p + 1]]
    return Around(slots, survey.is_enumerable[p], survey.is_finite[p], inner, outer)


@njit(cache=True, nogil=True)
def coefficients_of_all(flat, survey, limit):
    """Return influence matrix, perturbations and spreads of a region, reserves included."""
    k = len(survey.nodes)
    influence = np.zeros((k, k))
    perturbation, spread = np.empty(k), np.empty(k)
    for p in range(k):
        i = survey.nodes[p]
        around, field = around_at(flat, survey, p), survey.fields[p, : flat.sizes[i]]
        places = survey.places[survey.starts[p] : survey.starts[p + 1]]
        found = write_row(flat, i, around, places, field, limit, influence[p])
        perturbation[p], spread[p] = with_reserve(found, survey.reserves[p])
    return influence, perturbation, spread


@njit(cache=True, nogil=True)
def write_row(flat, i, around, places, field, limit, row):
    """Write the influence row of a variable, by place; return its perturbation and spread."""
    influence = np.empty(len(places))
    found = star(flat, i, around, field, limit, influence)
    for r in range(len(places)):
        row[places[r]] = influence[r]
    return found


@njit(cache=True, nogil=True)
def with_reserve(found, reserve):
    """Return perturbation and spread with what rounding is given; a spread of 1 needs nothing."""
    return found[0] + reserve, min(found[1] + reserve, 1.0)
