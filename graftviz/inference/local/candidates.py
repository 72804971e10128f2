"""Bounds of a region with one more variable, computed without building the larger region.

A candidate v adds its own row and changes the rows of its neighbours S in the region, whose local
conditionals gain a neighbour. With D the inverse matrix of the current region, the new bounds are
a' = a + D_S y for numbers y on S alone: a system of |S| equations per candidate, regardless of the
size of the region.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.local.cuts import field_from, field_of
from graftviz.inference.local.neighbourhood import inside_slots, slot_of
from graftviz.inference.local.region_arrays import stored_sums, with_reserve, write_row
from graftviz.inference.local.star import neighbour_sums, rounding_reserve, sums_with
from graftviz.utils.compiling import inner_kernel, kernel

_SLACK = 1e-12


@kernel
def coefficients_with(flat, region, inside, candidate, fields, limit):
    """Return the coefficients that change when `candidate` is added to a region.

    Returns
    -------
    touched : int64 array, shape (t,)
        Places of the candidate's neighbours in the region.
    rows : float64 array, shape (t + 1, k + 1)
        Influence rows of these neighbours, then the candidate's own.
    perturbation, spread : float64 arrays, shape (t + 1,)
        Including the rounding reserve.
    """
    k = len(region.nodes)
    own_slots, touched = inside_slots(flat, candidate, inside)
    t = len(touched)
    rows = np.zeros((t + 1, k + 1))
    perturbation, spread = np.empty(t + 1), np.empty(t + 1)
    for r in range(t):
        p = touched[r]
        i = region.nodes[p]
        slot = slot_of(flat, i, candidate)
        sums = sums_with(flat, i, stored_sums(flat, region, p), slot)
        field = field_from(flat, i, slot, fields)
        for a in range(len(field)):
            field[a] = region.fields[p, a] - field[a]
        places = np.empty(len(sums.inside), np.int64)
        places[-1] = k
        for at in range(len(places) - 1):
            places[at] = region.places[region.starts[p] + at]
        found = write_row(flat, i, sums, places, field, limit, rows[r])
        perturbation[r], spread[r] = with_reserve(found, region.reserves[p])
    sums = neighbour_sums(flat, candidate, own_slots, limit)
    field = field_of(flat, candidate, own_slots, fields)
    found = write_row(flat, candidate, sums, touched, field, limit, rows[t])
    perturbation[t], spread[t] = with_reserve(found, rounding_reserve(flat, candidate))
    return touched, rows, perturbation, spread


@kernel
def bounds_with_each(flat, region, inside, candidates, fields, limit, comparison, reach):
    """Return the bound of the query with each candidate, and the influence of each on the query.

    The influence is the largest product of influences along a path from the query; `reach` holds
    it for every place of the region.
    """
    found, influences = np.empty(len(candidates)), np.zeros(len(candidates))
    for c in range(len(candidates)):
        touched, rows, perturbation, spread = coefficients_with(
            flat, region, inside, candidates[c], fields, limit
        )
        found[c] = bound_with(comparison, touched, rows, perturbation, spread)[0]
        for r in range(len(touched)):
            influences[c] = max(influences[c], reach[touched[r]] * rows[r, -1])
    return found, influences


@kernel
def bound_with(comparison, touched, rows, perturbation, spread):
    """Return the bound of the query (place 0), and which of the changed rows are loose.

    Changed rows are not loose at first. A row whose bound then exceeds its spread, or is negative
    (the system is no M-matrix), becomes loose, until all bounds are valid.
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
        all_valid = True
        if not loose[t]:
            own += _dot(pushed[t], right)
            if not 0.0 <= own <= spread[t] + _SLACK:
                loose[t] = True
                all_valid = False
        for r in range(t):
            bound = bounds[touched[r]] + _dot(inner[r], right)
            if not loose[r] and not 0.0 <= bound <= spread[r] + _SLACK:
                loose[r] = True
                all_valid = False
        if all_valid:
            break
    bound = bounds[0]
    for c in range(t):
        bound += inverse[0, touched[c]] * right[c]
    largest = comparison.coefficients.spread[0]
    for r in range(t):
        if touched[r] == 0:
            largest = spread[r]
    # NaN, from a singular system, is replaced by the spread as well.
    return (bound if bound < largest else largest), loose


@kernel
def solve_in_place(system, right):
    """Solve a small linear system by elimination with pivots; `right` becomes the solution.

    The solution is all NaN where the system is singular.
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


@inner_kernel
def _dot(first, second):
    total = 0.0
    for m in range(len(second)):
        total += first[m] * second[m]
    return total
