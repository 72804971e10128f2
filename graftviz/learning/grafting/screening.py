"""Screening of all pairs on sampled rows: the best partners of every variable.

The statistic of a pair is X² on the sampled rows, less its mean and divided by its standard
deviation over all permutations of a column: pairs with many states or rare ones deviate more by
chance alone. A pair is a candidate if it is among the best of either of its variables, so that
memory is proportional to the number of variables. Threads work on different pairs with lists of
their own; the order of the lists is total, and the result does not depend on the threads.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.packed import (
    PLANES_AT_ONCE,
    SHORT_BLOCK_WORDS,
    WORD_BITS,
    and_counts,
    new_planes,
)
from graftviz.learning.trace import Screening
from graftviz.utils.arrays import read_only
from graftviz.utils.compiling import inner_kernel, kernel
from graftviz.utils.options import option
from graftviz.utils.parallel import in_threads

Screens = Literal["all", "sample", "none"]
ALL: Final = "all"
SAMPLE: Final = "sample"
NONE: Final = "none"
MOST_COUNTED = 500_000  # so many pairs are counted in a fraction of a second


def screening_option(none_means: str) -> Any:
    """Return the option `screening` of a learner."""
    return option(
        None,
        "selection of pairs. all: every pair is counted first, and likely edges are tested first; "
        "sample: all pairs are compared on some rows, and only the best partners of each variable "
        "are counted and tested; none: pairs are tested as the algorithm draws them",
        label="Screening",
        none_means=none_means,
        advanced=True,
    )


def by_size(n: int, most: int = MOST_COUNTED) -> Screens:
    """Return ALL for up to `most` pairs of n variables, else SAMPLE."""
    return ALL if n * (n - 1) // 2 <= most else SAMPLE


def counted_pairs(n: int, screening: str) -> int:
    """Return how many pairs of n variables are counted at most under a screening."""
    possible = n * (n - 1) // 2
    return min(PARTNERS * n, possible) if screening == SAMPLE else possible


PARTNERS = 12  # candidates that each variable proposes
LEAST_ROWS = 2048
_MOST_STATES = 12  # rarer states are merged: the work grows with the square
_MOST_WORK = 3.3e12  # bits compared by choosing more rows than the least
_VARIABLES_AT_ONCE = 16  # variables whose planes fit into the cache together
_PARTS = 64  # pieces of work for the threads
_FEWEST_ROWS = 5.0  # below, the variance of the statistic is undefined
_NO_VARIANCE = 1e-9


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
    """Sampled rows as bit planes, with the states that occur, merged so that few are left.

    Variables are in order of falling numbers of states, in blocks of _VARIABLES_AT_ONCE. The planes
    of a block are those of the first state of its variables, then those of the second state, … ,
    so that sums over the states of many variables are sums of vectors.

    Attributes
    ----------
    order : int64 array, shape (n,)
        The variables in this order.
    degrees : int64 array, shape (n,)
        r_i - 1 of the variables in this order, r_i states: the number of their planes.
    starts : int64 array, shape (blocks, _MOST_STATES)
        First plane of each state of a block, and the end.
    planes : uint64 array, shape (P + PLANES_AT_ONCE, W)
        Planes of all states except the last of each variable, and empty ones.
    counts : float64 array, shape (P,)
        Number of rows of each plane.
    last_counts : float64 array, shape (n,)
        Number of rows in the last state of each variable.
    even, rare : float64 arrays, shape (n,)
        The variance of X² of a pair is the product of the first plus that of the second.
    rows : int
        m.
    """

    order: np.ndarray
    degrees: np.ndarray
    starts: np.ndarray
    planes: np.ndarray
    counts: np.ndarray
    last_counts: np.ndarray
    even: np.ndarray
    rare: np.ndarray
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

    Notes
    -----
    Pairs are ranked by (X² − (r_i − 1)(r_j − 1) m / (m − 1)) / √v, where v is the variance of X²
    over all permutations of a column:

        v = 2m / (m − 3) · (ν_i − σ_i)(ν_j − σ_j) + m² / (m − 1) · σ_i σ_j,
        ν = (r − 1)(m − r) / (m − 1),   σ = (m Σ_a 1/R_a − r²) / (m − 2),

    with R_a the numbers of rows in the r states that occur in the sample.

    References
    ----------
    J. B. S. Haldane, "The mean and variance of χ², when used as a test of homogeneity, when
    expectations are small", Biometrika 31 (1940).
    """
    n = table.n_variables
    size = sampled_rows(n, table.n_rows, float(table.cardinalities.mean()))
    sample = sampled(table, size, seed)
    partners = min(partners, n - 1)
    bounds = _pieces(n)
    unused: list[tuple[np.ndarray, np.ndarray]] = []  # lists that are not in use by a thread

    def work(k: int) -> None:
        try:
            found = unused.pop()
        except IndexError:
            found = _new_lists(n, partners)
        screen_rows(sample, *bounds[k], *found)
        unused.append(found)

    in_threads(work, range(len(bounds)))
    ranked = unused.pop()
    for found in unused:
        merge_lists(*ranked, *found)
    others = ranked[1][np.argsort(sample.order)]
    filled = others >= 0
    first = np.repeat(np.arange(n), partners)[filled.reshape(-1)]
    second = others[filled]
    keys = np.unique(np.minimum(first, second) * n + np.maximum(first, second))
    pairs = np.stack([keys // n, keys % n], axis=1).astype(np.int32)
    return Candidates(read_only(pairs), Screening(sample.rows, n * (n - 1) // 2, len(pairs)))


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
    codes = np.empty((table.n_variables, size), dtype=np.uint8)
    for i in range(table.n_variables):
        codes[i] = np.minimum(table.codes[i][chosen], 255)
    observed = np.array([np.count_nonzero(np.bincount(own)) for own in codes])
    states = np.minimum(observed, _MOST_STATES)
    order = np.argsort(-states, kind="stable")
    degrees = states[order] - 1
    starts = _first_planes(degrees)
    block = WORD_BITS * SHORT_BLOCK_WORDS
    words = -(-size // block) * SHORT_BLOCK_WORDS
    planes = new_planes(int(degrees.sum()) + PLANES_AT_ONCE, words)
    counts, last_counts = np.zeros(int(degrees.sum())), np.zeros(len(states))
    inverses = np.zeros(len(states))
    for place, i in enumerate(order.tolist()):
        kinds = int(states[i])
        merged = _merged_states(codes[i], kinds)
        block, within = divmod(place, _VARIABLES_AT_ONCE)
        chosen = starts[block, : kinds - 1] + within
        *counts[chosen], last_counts[place] = numbers = np.bincount(merged, minlength=kinds)
        inverses[place] = (1.0 / numbers).sum()
        bits = np.zeros((kinds - 1, words * WORD_BITS), dtype=np.bool_)
        bits[:, :size] = merged == np.arange(kinds - 1)[:, None]
        planes[chosen] = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    rows = max(float(size), _FEWEST_ROWS)
    balanced = degrees * (rows - degrees - 1.0) / (rows - 1.0)
    rare = (rows * inverses - (degrees + 1.0) ** 2) / (rows - 2.0)
    return SampledTable(
        order=order,
        degrees=degrees,
        starts=starts,
        planes=planes,
        counts=counts,
        last_counts=last_counts,
        even=math.sqrt(2.0 * rows / (rows - 3.0)) * (balanced - rare),
        rare=rare * rows / math.sqrt(rows - 1.0),
        rows=size,
    )


def _first_planes(degrees: np.ndarray) -> np.ndarray:
    """Return `starts` of :class:`SampledTable`."""
    blocks = -(-len(degrees) // _VARIABLES_AT_ONCE)
    padded = np.zeros(blocks * _VARIABLES_AT_ONCE, dtype=np.int64)
    padded[: len(degrees)] = degrees
    states = np.arange(_MOST_STATES - 1)
    sizes = (padded.reshape(blocks, -1, 1) > states).sum(axis=1)
    starts = np.zeros((blocks, _MOST_STATES), dtype=np.int64)
    starts[:, 1:] = np.cumsum(sizes, axis=1)
    starts[1:] += np.cumsum(starts[:-1, -1])[:, None]
    return starts


def _merged_states(codes: np.ndarray, kinds: int) -> np.ndarray:
    """Return codes below `kinds`: the most frequent states, and all others as one."""
    counts = np.bincount(codes, minlength=256)
    ranks = np.full(256, kinds - 1, dtype=np.uint8)
    ranks[np.argsort(-counts, kind="stable")[: kinds - 1]] = np.arange(kinds - 1)
    merged: np.ndarray = ranks[codes]
    return merged


@kernel
def screen_rows(sample, first, last, scores, others):
    """Offer all pairs at places (i, j), first <= i < last, j > i, to the lists of both variables.

    Parameters
    ----------
    sample : SampledTable
    scores, others : arrays, shape (n, partners)
        Best statistics of the variable at each place, unsorted, and the partners; -inf, -1: empty.
    """
    order, degrees, starts, planes = sample.order, sample.degrees, sample.starts, sample.planes
    n = len(order)
    worst = np.empty(n, dtype=np.int64)  # place of the worst entry of each list
    for i in range(n):
        worst[i] = _worst_place(scores, others, i)
    inverses, last_inverses = 1.0 / sample.counts, 1.0 / sample.last_counts
    width = _VARIABLES_AT_ONCE * (_MOST_STATES - 1) + PLANES_AT_ONCE
    common = np.zeros((_MOST_STATES, width))  # rows: states of j, columns: planes of the block
    memory = np.zeros((4, width))
    for start in range(first, last, _VARIABLES_AT_ONCE):
        block = start // _VARIABLES_AT_ONCE
        low, high = starts[block, 0], starts[block, -1]
        varying = starts[block, 1] - low
        for j in range(start + 1, n):
            if degrees[j] == 0:
                break
            of_j, within = divmod(j, _VARIABLES_AT_ONCE)
            for b in range(degrees[j]):
                for k in range(0, high - low, PLANES_AT_ONCE):
                    and_counts(planes, starts[of_j, b] + within, low + k, common, b * width + k)
            _statistics(sample, inverses, last_inverses, start, j, common, memory)
            for i in range(start, min(start + varying, j)):
                value = memory[0, i - start]
                if value >= scores[i, worst[i]]:
                    _offer(scores, others, worst, i, value, order[j])
                if value >= scores[j, worst[j]]:
                    _offer(scores, others, worst, j, value, order[i])


@inner_kernel
def _statistics(sample, inverses, last_inverses, start, j, common, memory):
    """Write the statistics of j and the variables of a block to ``memory[0]``.

    Parameters
    ----------
    sample : SampledTable
    inverses, last_inverses : float64 arrays
        1 / `counts` and 1 / `last_counts` of the sample.
    start, j : int
        Place of the first variable of the block, and of the other variable.
    common : float64 array, shape (_MOST_STATES, width)
        ``common[b, k]`` is the number of rows in state b of j and in the k-th plane of the block;
        that of the last state is written here.
    memory : float64 array, shape (4, width)
    """
    degrees, starts = sample.degrees, sample.starts
    counts, last_counts = sample.counts, sample.last_counts
    block = start // _VARIABLES_AT_ONCE
    of_j, within = divmod(j, _VARIABLES_AT_ONCE)
    low = starts[block, 0]
    size, varying = starts[block, -1] - low, starts[block, 1] - low
    last = degrees[j]
    for k in range(size):
        common[last, k] = counts[low + k]
    for b in range(last):
        for k in range(size):
            common[last, k] -= common[b, k]
    # Memory: statistics; counts in the last state of i; terms of that state; terms of each plane.
    for t in range(varying):
        memory[0, t] = memory[2, t] = 0.0
    for k in range(size):
        memory[3, k] = 0.0
    for b in range(last + 1):
        count, inverse = last_counts[j], last_inverses[j]
        if b < last:
            count, inverse = counts[starts[of_j, b] + within], inverses[starts[of_j, b] + within]
        for k in range(size):
            memory[3, k] += common[b, k] * common[b, k] * inverse
        for t in range(varying):
            memory[1, t] = count
        for a in range(degrees[start]):
            at = starts[block, a] - low
            for t in range(starts[block, a + 1] - low - at):
                memory[1, t] -= common[b, at + t]
        for t in range(varying):
            memory[2, t] += memory[1, t] * memory[1, t] * inverse
    for a in range(degrees[start]):
        at = starts[block, a] - low
        for t in range(starts[block, a + 1] - low - at):
            memory[0, t] += memory[3, at + t] * inverses[low + at + t]
    even, rare, rows = sample.even, sample.rare, sample.rows
    mean = last / (rows - 1.0)
    for t in range(varying):
        i = start + t
        excess = memory[0, t] + memory[2, t] * last_inverses[i] - 1.0 - degrees[i] * mean
        variance = even[i] * even[j] + rare[i] * rare[j]
        memory[0, t] = rows * excess / np.sqrt(variance + _NO_VARIANCE)


@inner_kernel
def _offer(scores, others, worst, i, value, partner):
    """Replace the worst entry of list i by a better one; of equal values the smaller partner."""
    at = worst[i]
    least, before = scores[i, at], others[i, at]
    if value == -np.inf or (value == least and before >= 0 and partner > before):
        return
    scores[i, at], others[i, at] = value, partner
    worst[i] = _worst_place(scores, others, i)


@inner_kernel
def _worst_place(scores, others, i):
    """Return the place of the worst entry of list i."""
    at = 0
    for k in range(1, scores.shape[1]):
        if scores[i, k] < scores[i, at] or (
            scores[i, k] == scores[i, at] and others[i, k] > others[i, at]
        ):
            at = k
    return at


@kernel
def merge_lists(scores, others, more_scores, more_others):
    """Offer the entries of the second lists to the first ones."""
    worst = np.zeros(len(scores), dtype=np.int64)
    for i in range(len(scores)):
        worst[i] = _worst_place(scores, others, i)
        for k in range(more_scores.shape[1]):
            if more_others[i, k] >= 0 and more_scores[i, k] >= scores[i, worst[i]]:
                _offer(scores, others, worst, i, more_scores[i, k], more_others[i, k])
