"""Error bounds of the variables of a region, by comparison of its local model with the whole model.

Let C be the influence matrix of the local model q of a region, b its perturbations and s its
spreads (see `star`). Let a be a vector of upper bounds on the probabilities that coupled copies
x ~ p and y ~ q differ at i. In the coupling form of Dobrushin's comparison theorem, a remains such
a vector when a_i is replaced by

    (C a)_i + b_i,    or by    s_i.

The first accounts for each neighbour that differs and for the cut edges, the second for the
combined effect of all neighbours. The trivial vector a = 1 is such a vector, so the solution of
a = min(C a + b, s) reached from it is one too, and |p(x_i = k) − q(x_i = k)| ≤ a_i. Where C a + b
is the smaller of the two everywhere, a = D b with D = (I − C)⁻¹, the paper's Corollary 2. A row
that uses the spread is called *loose*: its row of C is zero, and s_i replaces b_i. So strong
couplings far from the query do not weaken the bounds near it, and the spectral radius of C need not
be below 1. Corollary 2 alone (``bound="corollary-2"``) is vacuous unless it is.

Every b_i and s_i holds a rounding reserve δ > 0. A computed vector a ≥ 0 is accepted only if
a ≥ C a + b − δ/2: then I − C is a nonsingular M-matrix, however inaccurate its computed inverse,
and a is a valid vector of bounds.

A candidate v, with which a region may grow, adds its own row and changes the rows of its neighbours
S in the region, whose local conditionals gain a neighbour. The new bounds are a' = a + D_S y for
numbers y on S alone: a system of |S| equations per candidate, regardless of the size of the region.

References
----------
Föllmer: A covariance estimate for Gibbs measures, J. Funct. Anal. 46 (1982).
Chen, Peng, Liu: Efficient localized inference for large graphical models, Theorem 1, Corollary 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.local.local_model import field_from, field_of
from graftviz.inference.local.star import (
    ROUNDING,
    NeighbourSums,
    inside_slots,
    neighbour_sums,
    rounding_reserve,
    slot_of,
    star,
    sums_with,
)
from graftviz.utils.compiling import inner_kernel, kernel

_SLACK = 1e-12
_MOST_ROUNDS = 100
_GAIN = 1e-13  # smallest decrease of a bound for which a row is changed


class RegionArrays(NamedTuple):
    """Neighbours, sums, fields and rounding reserves of a region, in the order of addition.

    They are computed once and shared by all candidates: visiting all neighbours of a hub again for
    each candidate would take time quadratic in its degree.

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


class Coefficients(NamedTuple):
    """Coefficients of all variables of a region, in the order of addition.

    Attributes
    ----------
    influence : float64 array, shape (k, k)
        C.
    perturbation, spread : float64 arrays, shape (k,)
        b and s, rounding reserve included.
    """

    influence: np.ndarray
    perturbation: np.ndarray
    spread: np.ndarray


class ComparisonSolution(NamedTuple):
    """Solution of a = min(C a + b, s).

    Attributes
    ----------
    coefficients : Coefficients
    loose : bool array, shape (k,)
    inverse : float64 array, shape (k, k)
        (I − C)⁻¹ with the loose rows of C zeroed.
    bounds : float64 array, shape (k,)
        a.
    """

    coefficients: Coefficients
    loose: np.ndarray
    inverse: np.ndarray
    bounds: np.ndarray


def compare_from_scratch(coefficients: Coefficients) -> ComparisonSolution:
    """Solve for a region from scratch, beginning with every row loose.

    Each round solves one linear system and switches the rows whose bound decreases; the bounds
    decrease from round to round.
    """
    loose = np.ones(len(coefficients.spread), dtype=bool)
    bounds = coefficients.spread.copy()
    for _ in range(_MOST_ROUNDS):
        better = _better_rows(coefficients, loose, bounds)
        if not len(better):
            break
        tried = loose.copy()
        tried[better] = ~loose[better]
        matrix, constants = _system(coefficients, tried)
        try:
            solution = np.linalg.solve(np.eye(len(loose)) - matrix, constants)
        except np.linalg.LinAlgError:
            break
        if not _is_proven(matrix, constants, solution):
            break
        loose, bounds = tried, solution
    matrix, _ = _system(coefficients, loose)
    return ComparisonSolution(
        coefficients, loose, np.linalg.inv(np.eye(len(loose)) - matrix), bounds
    )


def compare_by_corollary(coefficients: Coefficients) -> ComparisonSolution:
    """Return a = (I − C)⁻¹ b, the paper's Corollary 2; a = 1 unless it is proven."""
    matrix, constants = coefficients.influence, coefficients.perturbation
    k = len(constants)
    try:
        inverse = np.linalg.inv(np.eye(k) - matrix)
        solution = inverse @ constants
    except np.linalg.LinAlgError:
        solution = np.full(k, np.nan)
    if _is_proven(matrix, constants, solution):
        return ComparisonSolution(coefficients, np.zeros(k, dtype=bool), inverse, solution)
    return ComparisonSolution(coefficients, np.ones(k, dtype=bool), np.eye(k), np.ones(k))


def with_variable(
    before: Coefficients,
    touched: np.ndarray,
    rows: np.ndarray,
    perturbation: np.ndarray,
    spread: np.ndarray,
) -> Coefficients:
    """Return the coefficients of a region with one more variable; see `appended`."""
    k = len(before.perturbation)
    influence = np.zeros((k + 1, k + 1))
    influence[:k, :k] = before.influence
    influence[touched], influence[k] = rows[:-1], rows[-1]
    changed = np.append(touched, k)
    all_perturbation, all_spread = (
        np.append(before.perturbation, 0.0),
        np.append(before.spread, 0.0),
    )
    all_perturbation[changed], all_spread[changed] = perturbation, spread
    return Coefficients(influence, all_perturbation, all_spread)


def appended(
    before: ComparisonSolution,
    touched: np.ndarray,
    rows: np.ndarray,
    perturbation: np.ndarray,
    spread: np.ndarray,
    loose: np.ndarray,
) -> ComparisonSolution:
    """Return the comparison of a region with one more variable.

    Parameters
    ----------
    before : ComparisonSolution
        Solution of the k variables so far.
    touched : int64 array, shape (t,)
        Places of the neighbours of the added variable, whose rows change.
    rows : float64 array, shape (t + 1, k + 1)
        New influence rows of these neighbours, then the row of the added variable.
    perturbation, spread : float64 arrays, shape (t + 1,)
    loose : bool array, shape (t + 1,)
        Which of these rows are loose initially.
    """
    k = len(before.bounds)
    coefficients = with_variable(before.coefficients, touched, rows, perturbation, spread)
    all_loose = np.append(before.loose, False)
    all_loose[np.append(touched, k)] = loose
    old, _ = _system(before.coefficients, before.loose)
    new, _ = _system(coefficients, all_loose)
    inverse = with_rows_changed(before.inverse, touched, new[touched, :k] - old[touched])
    inverse = bordered(inverse, new[:k, k], new[k, :k])
    return _improved(coefficients, all_loose, inverse)


def with_rows_changed(inverse: np.ndarray, rows: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return (I − C − E Δ)⁻¹ from (I − C)⁻¹ (Woodbury); E Δ adds `change` to `rows` of C.

    Parameters
    ----------
    inverse : float64 array, shape (k, k)
    rows : int64 array, shape (t,)
    change : float64 array, shape (t, k)
    """
    columns, product = inverse[:, rows], change @ inverse
    return inverse + columns @ np.linalg.solve(np.eye(len(rows)) - product[:, rows], product)


def bordered(inverse: np.ndarray, column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the inverse of I − C for C with one more column and row, 0 on the diagonal."""
    right, below = inverse @ column, row @ inverse
    corner = 1.0 / (1.0 - row @ right)
    k = len(inverse)
    larger = np.empty((k + 1, k + 1))
    larger[:k, :k] = inverse + np.outer(right, corner * below)
    larger[:k, k], larger[k, :k], larger[k, k] = corner * right, corner * below, corner
    return larger


def _improved(
    coefficients: Coefficients, loose: np.ndarray, inverse: np.ndarray
) -> ComparisonSolution:
    """Switch rows while a bound decreases; solve from scratch if rounding errors get too large."""
    for _ in range(_MOST_ROUNDS):
        matrix, constants = _system(coefficients, loose)
        solution = inverse @ constants
        solution += inverse @ (constants - (solution - matrix @ solution))
        if not _is_proven(matrix, constants, solution):
            return compare_from_scratch(coefficients)
        better = _better_rows(coefficients, loose, solution)
        if not len(better):
            return ComparisonSolution(coefficients, loose, inverse, solution)
        loose = loose.copy()
        loose[better] = ~loose[better]
        change = np.where(loose[better, None], -1.0, 1.0) * coefficients.influence[better]
        try:
            inverse = with_rows_changed(inverse, better, change)
        except np.linalg.LinAlgError:
            break
    return compare_from_scratch(coefficients)


def _system(coefficients: Coefficients, loose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return C with its loose rows zeroed, and the constant of each row."""
    matrix = np.where(loose[:, None], 0.0, coefficients.influence)
    return matrix, np.where(loose, coefficients.spread, coefficients.perturbation)


def _better_rows(coefficients: Coefficients, loose: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the rows that get a smaller bound when switched between loose and not loose."""
    through_neighbours = coefficients.influence @ bounds + coefficients.perturbation
    other = np.where(loose, through_neighbours, coefficients.spread)
    return np.flatnonzero(other < bounds - _GAIN)


def _is_proven(matrix: np.ndarray, constants: np.ndarray, solution: np.ndarray) -> bool:
    if not np.isfinite(solution).all() or solution.min() < 0.0:
        return False
    return bool((solution - matrix @ solution >= constants - 0.5 * ROUNDING).all())
