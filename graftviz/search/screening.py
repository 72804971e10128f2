"""Screening of all pairs on sampled rows: the best partners of every variable.

The statistic of a pair is its φ² on the sampled rows minus (s_i - 1)(s_j - 1) / m, its expectation
for independent variables. A pair is a candidate if it is among the best of either of its variables,
so that memory is proportional to the number of variables. Threads work on different pairs with
lists of their own; the order of the lists is total, and the result does not depend on the threads.
"""

from __future__ import annotations

import itertools
import math
import threading
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import chndtrinc

from graftviz.arrays import read_only
from graftviz.counts import SHORT_BLOCK_WORDS, WORD_BITS, and_count_short
from graftviz.kernels import inner_kernel
from graftviz.parallel import in_threads
from graftviz.table import DiscreteTable
from graftviz.trace import Screening

PARTNERS = 12  # candidates that each variable proposes
RISK = 0.01  # probability of missing a pair for which the certificate gives a strength
LEAST_ROWS = 2048
_MOST_STATES = 12  # rarer states are merged: the work grows with the square
_MOST_WORK = 3.3e12  # bits compared by choosing more rows than the least
_VARIABLES_AT_ONCE = 32  # variables whose planes fit into the cache together
_AT_HUBS = 0.01
_PARTS = 64  # pieces of work for the threads


class Candidates(NamedTuple):
    """Result of a screening.

    Attributes
    ----------
    pairs : int32 array, shape (k, 2)
        i < j, in lexicographic order.
    screening : Screening
    """

    pairs: np.ndarray
    screening: Screening


class SampledTable(NamedTuple):
    """Sampled rows as bit planes, with states merged so that few are left.

    Attributes
    ----------
    planes : uint64 array, shape (P, W)
        Planes of all states except the last of each variable.
    offsets : int64 array, shape (n + 1,)
        Variable i has s_i states from ``offsets[i]``, and the planes from ``offsets[i] - i``.
    counts : float64 array, flat
        Counts of the states.
    rows : int
        m.
    """

    planes: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray
    rows: int


def sampled_rows(n: int, rows: int, states: float) -> int:
    """Return the number of rows to sample: all if that is fast, at least LEAST_ROWS.

    Parameters
    ----------
    n : int
    rows : int
        N.
    states : float
        Mean number of states.
    """
    per_row = n * (n - 1) / 2 * max(min(states, _MOST_STATES) - 1.0, 1.0) ** 2
    block = WORD_BITS * SHORT_BLOCK_WORDS
    return min(rows, max(LEAST_ROWS, int(_MOST_WORK / per_row) // block * block))


def screened(table: DiscreteTable, *, seed: int, partners: int = PARTNERS) -> Candidates:
    """Return the candidates among all pairs of a table.

    Parameters
    ----------
    table : DiscreteTable
    seed : int
        Seed of the sampled rows.
    partners : int
        Number of candidates that each variable proposes.
    """
    n = table.n_variables
    size = sampled_rows(n, table.n_rows, float(table.cardinalities.mean()))
    sample = sampled(table, size, seed)
    partners = min(partners, n - 1)
    bounds = _pieces(n)
    scores, others = _new_lists(n, partners)
    merging = threading.Lock()

    def work(k: int) -> None:
        found = _new_lists(n, partners)
        screen_rows(*sample, *bounds[k], *found)
        with merging:
            merge_lists(scores, others, *found)

    in_threads(work, range(len(bounds)))
    filled = others >= 0
    first = np.repeat(np.arange(n), partners)[filled.reshape(-1)]
    second = others[filled]
    keys = np.unique(np.minimum(first, second) * n + np.maximum(first, second))
    pairs = np.stack([keys // n, keys % n], axis=1).astype(np.int32)
    least = np.where(filled.all(axis=1), scores.min(axis=1), -np.inf)
    degrees = (np.diff(sample.offsets) - 1).astype(np.float64)
    return Candidates(
        read_only(pairs),
        Screening(
            rows=sample.rows,
            pairs=n * (n - 1) // 2,
            candidates=len(pairs),
            least=read_only(least),
            overlooked=_overlooked(least, degrees, sample.rows, _AT_HUBS),
            at_hubs=_overlooked(least, degrees, sample.rows, 0.0),
            risk=RISK,
        ),
    )


def _overlooked(least: np.ndarray, degrees: np.ndarray, rows: int, but: float) -> float:
    """Return the φ² above which a pair is missed with probability RISK at most.

    Pairs within the share `but` of the variables that keep most are excepted.

    m φ² of the sample is distributed as a noncentral χ² with (s_i - 1)(s_j - 1) degrees of freedom
    and noncentrality m φ². A pair is missed if its statistic is below what both variables keep, so
    the bound is that of the two variables that keep most. As the χ² of more degrees is larger in
    relation to the threshold's share of them, the smallest number of degrees is used.
    """
    varies = degrees > 0
    if varies.sum() < 2:
        return 0.0
    threshold = np.sort(np.where(varies, least, -np.inf))[-2 - int(but * (len(least) - 2))]
    if threshold == -np.inf:
        return 0.0
    freedom = float(np.sort(degrees[varies])[:2].prod())
    noncentrality = float(chndtrinc(rows * max(threshold, 0.0) + freedom, freedom, RISK))
    return noncentrality / rows if math.isfinite(noncentrality) else math.inf


def _pieces(n: int) -> list[tuple[int, int]]:
    """Return ranges of variables with about equally many pairs (i, j), j > i, in blocks."""
    blocks = -(-n // _VARIABLES_AT_ONCE)
    ends = {0, blocks}
    for k in range(1, _PARTS):
        ends.add(int(blocks * (1.0 - math.sqrt(1.0 - k / _PARTS))))
    edges = sorted(ends)
    return [
        (a * _VARIABLES_AT_ONCE, min(b * _VARIABLES_AT_ONCE, n))
        for a, b in itertools.pairwise(edges)
    ]


def _new_lists(n: int, partners: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((n, partners), -np.inf), np.full((n, partners), -1, dtype=np.int64)


def sampled(table: DiscreteTable, size: int, seed: int) -> SampledTable:
    """Return `size` rows of a table, chosen at random, as bit planes.

    Rows with case weights are chosen with probabilities proportional to these, also repeatedly.
    """
    chosen = np.arange(table.n_rows)
    if table.weights is not None:
        shares = table.weights / table.total_weight
        chosen = np.sort(np.random.default_rng(seed).choice(table.n_rows, size, p=shares))
    elif size < table.n_rows:
        chosen = np.sort(np.random.default_rng(seed).choice(table.n_rows, size, replace=False))
    block = WORD_BITS * SHORT_BLOCK_WORDS
    words = -(-size // block) * SHORT_BLOCK_WORDS
    states = np.minimum(table.cardinalities, _MOST_STATES)
    offsets = np.concatenate([[0], np.cumsum(states)]).astype(np.int64)
    counts = np.zeros(int(offsets[-1]))
    planes = np.zeros((int((states - 1).sum()), words), dtype=np.uint64)
    codes = np.empty((table.n_variables, size), dtype=np.uint8)
    start, at = 0, 0
    for chunk in table.chunks():
        inside = chosen[
            np.searchsorted(chosen, start) : np.searchsorted(chosen, start + chunk.n_rows)
        ]
        for i in range(table.n_variables):
            part = chunk.codes[i][inside - start]
            codes[i, at : at + len(inside)] = np.minimum(part, 255)
        start, at = start + chunk.n_rows, at + len(inside)
    for i, kinds in enumerate(states.tolist()):
        merged = _merged_states(codes[i], kinds, int(table.cardinalities[i]))
        counts[offsets[i] : offsets[i + 1]] = np.bincount(merged, minlength=kinds)
        bits = np.zeros((kinds - 1, words * WORD_BITS), dtype=np.bool_)
        bits[:, :size] = merged == np.arange(kinds - 1)[:, None]
        packed = np.packbits(bits, axis=1, bitorder="little").view("<u8")
        planes[offsets[i] - i : offsets[i + 1] - i - 1] = packed
    return SampledTable(planes, offsets, counts, size)


def _merged_states(codes: np.ndarray, kinds: int, states: int) -> np.ndarray:
    """Return codes below `kinds`: the most frequent states, and all others as one."""
    if states <= kinds:
        return codes
    counts = np.bincount(codes, minlength=256)
    ranks = np.full(256, kinds - 1, dtype=np.uint8)
    ranks[np.argsort(-counts, kind="stable")[: kinds - 1]] = np.arange(kinds - 1)
    merged: np.ndarray = ranks[codes]
    return merged


@njit(cache=True, nogil=True)
def screen_rows(planes, offsets, counts, rows, first, last, scores, others):
    """Offer all pairs (i, j), first <= i < last, j > i, to the lists of both variables.

    Parameters
    ----------
    planes, offsets, counts, rows
        See :class:`SampledTable`.
    scores, others : arrays, shape (n, partners)
        Best statistics of each variable in no order, and the partners; -inf, -1: empty.
    """
    n = len(offsets) - 1
    worst = np.zeros(n, dtype=np.int64)  # place of the worst entry of each list
    inverse = np.zeros(len(counts))
    for k in range(len(counts)):
        inverse[k] = 1.0 / counts[k] if counts[k] > 0.0 else 0.0
    column = np.zeros(_MOST_STATES)
    for start in range(first, last, _VARIABLES_AT_ONCE):
        stop = min(start + _VARIABLES_AT_ONCE, last)
        for j in range(start + 1, n):
            for i in range(start, min(stop, j)):
                value = _statistic(planes, offsets, counts, inverse, rows, i, j, column)
                if value >= scores[i, worst[i]]:
                    _offer(scores[i], others[i], worst, i, value, j)
                if value >= scores[j, worst[j]]:
                    _offer(scores[j], others[j], worst, j, value, i)


@inner_kernel
def _statistic(planes, offsets, counts, inverse, rows, i, j, column):
    """Return φ² - (s_i - 1)(s_j - 1) / m of a pair; -inf if a variable is constant."""
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    if states_i < 2 or states_j < 2:
        return -np.inf
    for b in range(states_j):
        column[b] = counts[at_j + b]
    total = 0.0
    last = states_j - 1
    for a in range(states_i - 1):
        rest, part = counts[at_i + a], 0.0
        for b in range(last):
            count = float(and_count_short(planes, at_i - i + a, at_j - j + b))
            rest -= count
            column[b] -= count
            part += count * count * inverse[at_j + b]
        column[last] -= rest
        part += rest * rest * inverse[at_j + last]
        total += part * inverse[at_i + a]
    part = 0.0
    for b in range(states_j):
        part += column[b] * column[b] * inverse[at_j + b]
    total += part * inverse[at_i + states_i - 1]
    return total - 1.0 - (states_i - 1) * (states_j - 1) / rows


@inner_kernel
def _offer(scores, others, worst, i, value, partner):
    """Replace the worst entry of list i by a better one; of equal values the smaller partner."""
    at = worst[i]
    if value == -np.inf or (value == scores[at] and others[at] >= 0 and partner > others[at]):
        return
    scores[at], others[at] = value, partner
    worst[i] = _worst_place(scores, others)


@inner_kernel
def _worst_place(scores, others):
    """Return the place of the worst entry of a list."""
    at = 0
    for k in range(1, len(scores)):
        if scores[k] < scores[at] or (scores[k] == scores[at] and others[k] > others[at]):
            at = k
    return at


@njit(cache=True, nogil=True)
def merge_lists(scores, others, more_scores, more_others):
    """Offer the entries of the second lists to the first ones."""
    worst = np.zeros(len(scores), dtype=np.int64)
    for i in range(len(scores)):
        worst[i] = _worst_place(scores[i], others[i])
        for k in range(more_scores.shape[1]):
            if more_others[i, k] >= 0 and more_scores[i, k] >= scores[i, worst[i]]:
                _offer(scores[i], others[i], worst, i, more_scores[i, k], more_others[i, k])
