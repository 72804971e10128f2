"""Scores of inactive edges, as kernels over pair tables and the state of the fit.

Each score is the norm of a group of numbers, divided by a unit:

- ``belief`` (BC eq. 5): b_i b_jᵀ - p_D(e), the gradient of the Bethe likelihood. It ranks pairs by
  raw correlation, as node beliefs agree with the data.
- ``linear-response``: b_i b_jᵀ + C_ij - p_D(e), where C_ij is the covariance of the pair in the
  Bethe approximation, due to the active edges.
- ``pseudo-likelihood``: the gradient of the pseudo-likelihood, from the conditional probabilities
  of all rows. If neither variable has an edge, it is twice the belief score.

The unit is d_e (the number of joint states, or its root) or the sampling noise σ_e of the norm.

With a significance κ an edge must also score more than κ σ_e. Kernels then return the *effective*
score: s_e if the score is significant, otherwise the smaller of s_e and λ s_e / (κ σ_e). One
comparison with λ then decides both tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.counts import PackedTable, table_cells
from graftviz.fitting.conditionals import (
    Conditionals,
    empty_conditionals,
    mean_product,
)
from graftviz.fitting.state_columns import StateColumns, empty_state_columns, sum_by_state
from graftviz.inference.response_factor import ResponseFactor, factorise, respond, response_block
from graftviz.inference.response_matrix import ResponseMatrix, dense_block

BELIEF, RESPONSE, DENSE_RESPONSE, PSEUDO = 0, 1, 2, 3
_NO_NOISE = 1e-12  # noise at or below which a pair counts as constant
_CONSTANT = 1e-9  # impurity below which a variable counts as constant
COUNT, ROOT, NOISE = 0, 1, 2


class Scoring(NamedTuple):
    """Kernel-side state of a score; fields that its kind does not need are empty.

    Attributes
    ----------
    kind : int
        BELIEF, RESPONSE, DENSE_RESPONSE or PSEUDO.
    unit : int
        COUNT: d_e is the number of joint states; ROOT: its square root; NOISE: the standard
        deviation of the norm if i and j are independent given all others.
    lam, significance : float
        λ and κ; κ = 0: plain scores.
    beliefs : float64 array, flat
        b_i.
    impurity : float64 array, shape (n,)
        1 - Σ_a b_i(a)²: mean squared deviation of the indicators of variable i.
    factor : ResponseFactor
    matrix : ResponseMatrix
    conditionals : Conditionals
    columns : StateColumns
        State columns of the conditionals.
    drift : float64 array, shape (n,)
        Increases at a variable whenever scores of its pairs may change; empty (unused) if scores
        are cheap or all change at once.
    work : float64 array, shape (3, largest number of joint states)
    tables : float64 array, shape (3, largest number of joint states)
    """

    kind: int
    unit: int
    lam: float
    significance: float
    beliefs: np.ndarray
    impurity: np.ndarray
    factor: ResponseFactor
    matrix: ResponseMatrix
    conditionals: Conditionals
    columns: StateColumns
    drift: np.ndarray
    work: np.ndarray
    tables: np.ndarray


def belief_scoring(
    packed: PackedTable,
    beliefs: np.ndarray,
    unit: int,
    *,
    lam: float = 0.0,
    significance: float = 0.0,
) -> Scoring:
    """Return the scoring by beliefs; other kinds replace the fields that they need."""
    offsets = packed.node_offsets
    largest = int(np.diff(offsets).max())
    no_cells = np.zeros(0)
    no_edges = np.zeros((0, 2), dtype=np.int64)
    factor = factorise(offsets, beliefs, no_edges, np.zeros(1, dtype=np.int64), no_cells)
    matrix = ResponseMatrix(offsets, np.full(len(offsets) - 1, -1, dtype=np.int64), no_cells, 0)
    return Scoring(
        kind=BELIEF,
        unit=unit,
        lam=lam,
        significance=significance,
        beliefs=beliefs,
        impurity=impurity_of(offsets, beliefs),
        factor=factor,
        matrix=matrix,
        conditionals=empty_conditionals(),
        columns=empty_state_columns(),
        drift=np.zeros(0),
        work=np.zeros((3, largest * largest)),
        tables=np.zeros((3, largest * largest)),
    )


def impurity_of(offsets: np.ndarray, beliefs: np.ndarray) -> np.ndarray:
    """Return 1 - Σ_a b_i(a)² for every variable; 0 for variables with one observed state.

    Unobserved states have a tiny share instead of zero, which is smaller than the share of a state
    observed once in a billion rows.
    """
    squares = np.add.reduceat(beliefs**2, offsets[:-1])
    impurity: np.ndarray = 1.0 - squares
    return np.where(impurity < _CONSTANT, 0.0, impurity)


@njit(cache=True, nogil=True)
def belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j):
    """Return ‖b_i b_jᵀ - p_D(e)‖₂ of one pair.

    Parameters
    ----------
    cells : int32 array
        ``cells[start:]`` holds the counts, row-major; times `scale` they are p_D(e).
    beliefs : float64 array, flat
        b_i begins at `at_i`, b_j at `at_j`.
    """
    total = 0.0
    at = start
    for a in range(states_i):
        weight = beliefs[at_i + a]
        for b in range(states_j):
            gap = weight * beliefs[at_j + b] - scale * cells[at]
            total += gap * gap
            at += 1
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def _response_distance(scoring, i, j, cells, start, scale):
    """Return ‖b_i b_jᵀ + C_ij - p_D(e)‖₂."""
    factor, beliefs = scoring.factor, scoring.beliefs
    offsets = factor.node_offsets
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    covariance = scoring.work[2]
    if scoring.kind == DENSE_RESPONSE:
        dense_block(scoring.matrix, i, j, covariance)
    elif respond(factor, i, j):
        response_block(factor, i, j, scoring.work, covariance)
    else:
        return belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j)
    total = 0.0
    for a in range(states_i):
        for b in range(states_j):
            k = a * states_j + b
            gap = beliefs[at_i + a] * beliefs[at_j + b] + covariance[k] - scale * cells[start + k]
            total += gap * gap
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def _pseudo_distance(scoring, i, j, cells, start):
    """Return the norm of the gradient of the pseudo-likelihood in the weights of a pair."""
    rows, columns = scoring.conditionals, scoring.columns
    offsets = rows.node_offsets
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    by_i, by_j, counts = scoring.tables[0], scoring.tables[1], scoring.tables[2]
    if columns.starts[i] >= 0:
        for b in range(states_j):
            counts[b] = rows.rows * rows.margins[at_j + b]
        sum_by_state(columns, i, j, at_i, states_i, states_j, counts, by_i)
    if columns.starts[j] >= 0:
        for a in range(states_i):
            counts[a] = rows.rows * rows.margins[at_i + a]
        sum_by_state(columns, j, i, at_j, states_j, states_i, counts, by_j)
    total = 0.0
    for a in range(states_i):
        for b in range(states_j):
            # A variable without columns has the same distribution in all rows.
            model = by_i[b * states_i + a]
            if columns.starts[i] < 0:
                model = rows.rows * rows.alone[at_i + a] * rows.margins[at_j + b]
            if columns.starts[j] < 0:
                model += rows.rows * rows.margins[at_i + a] * rows.alone[at_j + b]
            else:
                model += by_j[a * states_j + b]
            gap = (model - 2.0 * cells[start + a * states_j + b]) / rows.rows
            total += gap * gap
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def _pseudo_noise(scoring, i, j):
    """Return 2 √(mean of the product of both conditional variances / N)."""
    rows, impurity = scoring.conditionals, scoring.impurity
    place_i, place_j = rows.places[i], rows.places[j]
    if place_i >= 0 and place_j >= 0:
        product = mean_product(
            rows.impurity[place_i], rows.impurity[place_j], rows.multiplicity, rows.rows
        )
    else:
        product = impurity[i] * impurity[j]
    return 2.0 * np.sqrt(product / rows.rows)


@njit(cache=True, nogil=True)
def _noise(scoring, i, j, n_rows):
    """Return σ of the norm: its root mean square if i and j are independent given all others."""
    if scoring.kind == PSEUDO:
        return _pseudo_noise(scoring, i, j)
    return np.sqrt(scoring.impurity[i] * scoring.impurity[j] / n_rows)


@njit(cache=True, nogil=True)
def _general_score(scoring, i, j, cells, start, n_rows, joint):
    """Return the score of a pair if `is_plain` does not hold."""
    if scoring.kind == PSEUDO:
        distance = _pseudo_distance(scoring, i, j, cells, start)
    elif scoring.kind == BELIEF:
        offsets = scoring.factor.node_offsets
        at_i, at_j = offsets[i], offsets[j]
        states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
        scale, beliefs = 1.0 / n_rows, scoring.beliefs
        distance = belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j)
    else:
        distance = _response_distance(scoring, i, j, cells, start, 1.0 / n_rows)
    if scoring.unit == NOISE:
        noise = _noise(scoring, i, j, n_rows)
        return distance / noise if noise > _NO_NOISE else 0.0
    score = distance / (np.sqrt(joint) if scoring.unit == ROOT else float(joint))
    if scoring.significance > 0.0:
        needed = scoring.significance * _noise(scoring, i, j, n_rows)
        if distance <= needed or needed <= _NO_NOISE:
            share = scoring.lam * distance / needed if needed > _NO_NOISE else 0.0
            return min(score, share)
    return score


@njit(cache=True, nogil=True, inline="always")
def is_plain(scoring):
    """Whether scores are belief distances in units of d_e, for which faster kernels exist."""
    return scoring.kind == BELIEF and scoring.unit != NOISE and scoring.significance == 0.0


@njit(cache=True, nogil=True, inline="always")
def plain_score(i, j, cells, start, scale, offsets, beliefs, unit):
    """Return the score of a counted pair if `is_plain` holds.

    It takes plain arrays: extracting an array from a tuple costs a reference count, which is more
    than the score, so loops extract them beforehand.
    """
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    distance = belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j)
    joint = states_i * states_j
    return distance / (np.sqrt(joint) if unit == ROOT else float(joint))


@njit(cache=True, nogil=True, inline="always")
def score_slot(slot, packed, store, scoring, scratch):
    """Return the score of the pair of a slot, counting its table if necessary.

    Inlined, because passing the nested state to a function costs more than the score.
    """
    i, j = store.pairs.first[slot], store.pairs.second[slot]
    offsets = packed.node_offsets
    cells, start = table_cells(packed, store, slot, scratch)
    if is_plain(scoring):
        scale = 1.0 / packed.rows
        score = plain_score(i, j, cells, start, scale, offsets, scoring.beliefs, scoring.unit)
    else:
        joint = (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
        score = _general_score(scoring, i, j, cells, start, packed.rows, joint)
    return score


@njit(cache=True, nogil=True)
def score_slots(slots, packed, store, scoring, scratch, out):
    """Write the scores of `slots` to `out`."""
    if not is_plain(scoring):
        for k in range(len(slots)):
            out[k] = score_slot(slots[k], packed, store, scoring, scratch)
        return
    first, second, cell_offsets = store.pairs.first, store.pairs.second, store.cell_offsets
    offsets, cells, scale = packed.node_offsets, store.cells, 1.0 / packed.rows
    beliefs, unit = scoring.beliefs, scoring.unit
    for k in range(len(slots)):
        slot = slots[k]
        start = cell_offsets[slot]
        if start < 0:
            out[k] = score_slot(slot, packed, store, scoring, scratch)
        else:
            i, j = first[slot], second[slot]
            out[k] = plain_score(i, j, cells, start, scale, offsets, beliefs, unit)
