"""What a region would gain by one more variable, without building the larger region.

A newcomer v appends its own row and changes the rows of its neighbours S in the region, whose local
conditionals gain a neighbour. With D the inverse of the region before, the new bounds are
a' = a + D_S y for numbers y on S alone: a system of |S| equations per candidate, whatever the
size of the region.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.regions.cuts import field_from, field_of
from graftviz.regions.neighbourhood import inside_slots, slot_of
from graftviz.regions.star import around_of, around_with, rounding_of
from graftviz.regions.survey import around_at, with_reserve, write_row

_SLACK = 1e-12


@njit(cache=True, nogil=True)
def coefficients_with(flat, survey, inside, newcomer, fields, limit):
    """Return the coefficients that change when `newcomer` joins a region.

    Returns
    -------
    touched : int64 array, shape (t,)
        Places of its neighbours in the region.
    rows : float64 array, shape (t + 1, k + 1)
        Their influence rows, then its own.
    perturbation, spread : float64 arrays, shape (t + 1,)
        With their rounding reserve.
    """
    k = len(survey.nodes)
    own_slots, touched = inside_slots(flat, newcomer, inside)
    t = len(touched)
    rows = np.zeros((t + 1, k + 1))
    perturbation, spread = np.empty(t + 1), np.empty(t + 1)
    for r in range(t):
        p = touched[r]
        i = survey.nodes[p]
        slot = slot_of(flat, i, newcomer)
        around = around_with(flat, i, around_at(flat, survey, p), slot)
        field = field_from(flat, i, slot, fields)
        for a in range(len(field)):
            field[a] = survey.fields[p, a] - field[a]
        places = np.empty(len(around.inside), np.int64)
        places[-1] = k
        for at in range(len(places) - 1):
            places[at] = survey.places[survey.starts[p] + at]
        found = write_row(flat, i, around, places, field, limit, rows[r])
        perturbation[r], spread[r] = with_reserve(found, survey.reserves[p])
    around = around_of(flat, newcomer, own_slots, limit)
    field = field_of(flat, newcomer, own_slots, fields)
    found = write_row(flat, newcomer, around, touched, field, limit, rows[t])
    perturbation[t], spread[t] = with_reserve(found, rounding_of(flat, newcomer))
    return touched, rows, perturbation, spread


@njit(cache=True, nogil=True)
def bounds_with_each(flat, survey, inside, candidates, fields, limit, comparison, reach):
    """Return the bound of the query with each of the candidates, and how strongly each is felt.

    The latter is the largest product of influences along a path from the query, which `reach`
    holds for every place of the region.
    """
    found, pulls = np.empty(len(candidates)), np.zeros(len(candidates))
    for c in range(len(candidates)):
        touched, rows, perturbation, spread = coefficients_with(
            flat, survey, inside, candidates[c], fields, limit
        )
        found[c] = bound_with(comparison, touched, rows, perturbation, spread)[0]
        for r in range(len(touched)):
            pulls[c] = max(pulls[c], reach[touched[r]] * rows[r, -1])
    return found, pulls


@njit(cache=True, nogil=True)
def bound_with(comparison, touched, rows, perturbation, spread):
    """Return the bound of the query (place 0), and which of the changed rows are loose.

    New rows count their neighbours at first. A row whose bound then comes out above its spread, or
    negative (the system is no M-matrix), takes its spread, until every bound makes sense.
    """
    inverse, bounds = comparison.inverse, comparison.bounds
    t, k = len(touched), len(bounds)
    loose = np.zeros(t + 1, np.bool_)
    inner = np.empty((t, t))  # D on the touched rows and columns
    change, pushed = np.empty((t, k)), np.zeros((t + 1, t))  # change of rows; new rows times D
    for r in range(t):
        p = touched[r]
        for m in range(k):
            change[r, m] = rows[r, m]
            if not comparison.loose[p]:
                change[r, m] -= comparison.coefficients.influence[p, m]
        for c in range(t):
            inner[r, c] = inverse[p, touched[c]]
    for r in range(t + 1):
        for m in range(k):
            weight = rows[t, m] if r == t else change[r, m]
            if weight != 0.0:
                for c in range(t):
                    pushed[r, c] += weight * inverse[m, touched[c]]
    while True:
        system, right = np.empty((t, t)), np.empty(t)
        own = spread[t]
        if not loose[t]:
            own = perturbation[t] + _dot(rows[t, :k], bounds)
        for r in range(t):
            p = touched[r]
            if loose[r]:
                for c in range(t):
                    system[r, c] = inner[r, c]
                right[r] = spread[r] - bounds[p]
                continue
            before = comparison.coefficients.perturbation[p]
            if comparison.loose[p]:
                before = comparison.coefficients.spread[p]
            right[r] = _dot(change[r], bounds) + perturbation[r] - before + rows[r, k] * own
            for c in range(t):
                system[r, c] = -pushed[r, c]
                if not loose[t]:
                    system[r, c] -= rows[r, k] * pushed[t, c]
            system[r, r] += 1.0
        solve_in_place(system, right)
        all_well = True
        if not loose[t]:
            own += _dot(pushed[t], right)
            if not 0.0 <= own <= spread[t] + _SLACK:
                loose[t] = True
                all_well = False
        for r in range(t):
            bound = bounds[touched[r]] + _dot(inner[r], right)
            if not loose[r] and not 0.0 <= bound <= spread[r] + _SLACK:
                loose[r] = True
                all_well = False
        if all_well:
            break
    bound = bounds[0]
    for c in range(t):
        bound += inverse[0, touched[c]] * right[c]
    largest = comparison.coefficients.spread[0]
    for r in range(t):
        if touched[r] == 0:
            largest = spread[r]
    # Not-a-number, from a singular system, falls back on the spread as well.
    return (bound if bound < largest else largest), loose


@njit(cache=True, nogil=True)
def solve_in_place(system, right):
    """Solve a small linear system by elimination with pivots; `right` becomes the solution.

    Not-a-number all through where the system is singular.
    """
    t = len(right)
    for c in range(t):
        pivot = c
        for r in range(c + 1, t):
            if abs(system[r, c]) > abs(system[pivot, c]):
                pivot = r
        if not abs(system[pivot, c]) > 1e-14:
            for r in range(t):
                right[r] = np.nan
            return
        if pivot != c:
            for m in range(t):
                system[c, m], system[pivot, m] = system[pivot, m], system[c, m]
            right[c], right[pivot] = right[pivot], right[c]
        for r in range(c + 1, t):
            factor = system[r, c] / system[c, c]
            if factor != 0.0:
                for m in range(c, t):
                    system[r, m] -= factor * system[c, m]
                right[r] -= factor * right[c]
    for c in range(t - 1, -1, -1):
        for m in range(c + 1, t):
            right[c] -= system[c, m] * right[m]
        right[c] /= system[c, c]


@njit(cache=True, nogil=True)
def _dot(first, second):
    total = 0.0
    for m in range(len(second)):
        total += first[m] * second[m]
    return total
