"""Exhaustive scan of feature grafting: the best of all inactive features, at every step.

A feature is one joint state (a, b) of a pair (i, j); its score is |b_i(a) b_j(b) − p_D(a, b)| while
the pair has no active feature, and |b_ij(a, b) − p_D(a, b)| with the pair belief afterwards. Of a
pair without active features only the best feature matters. Since it was scored last, its score can
change by at most drift_i + drift_j, the lengths of the paths of both node beliefs, as no entry
changes by more than the belief. Pairs that cannot be the maximum are therefore not scored again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.counts.pair_counts import PairCounts, table_cells
from graftviz.utils.compiling import inner_kernel, kernel

_ROWS_AT_ONCE = 64


class FoundFeature(NamedTuple):
    """Inactive feature: its pair i < j, its cell (row-major) and its score."""

    i: int
    j: int
    cell: int
    score: float


@inner_kernel
def best_feature(cells, start, scale, beliefs, at_i, states_i, at_j, states_j):
    """Return (cell, score) of the best feature of a pair without active features.

    Parameters
    ----------
    cells : float64 array
        ``cells[start:]`` holds the counts, row-major; times `scale` they are p_D.
    beliefs : float64 array, flat
        b_i begins at `at_i`, b_j at `at_j`.
    """
    best, score, at = 0, -1.0, start
    for a in range(states_i):
        weight = beliefs[at_i + a]
        for b in range(states_j):
            gap = abs(weight * beliefs[at_j + b] - scale * cells[at])
            if gap > score:
                best, score = at - start, gap
            at += 1
    return best, score


@kernel
def _scan(packed, store, beliefs, drift, scores, cells, seen_drift, active, scratch):
    """Return the slot of the best feature of pairs without active ones, and the number of tests.

    A test is the score of one feature. The slot is -1 without such pairs. Slots are in
    lexicographic order of pairs; ties go to the first.
    """
    first, second, offsets = store.pairs.first, store.pairs.second, packed.node_offsets
    scale = 1.0 / packed.rows
    best, highest, tests = -1, -1.0, 0
    for slot in range(store.pairs.size[0]):
        i, j = first[slot], second[slot]
        reach = drift[i] + drift[j] - seen_drift[slot]
        if active[slot] or scores[slot] + reach <= highest:
            continue
        if reach > 0.0:
            counts, start = table_cells(packed, store, slot, scratch)
            at_i, at_j = offsets[i], offsets[j]
            cells[slot], scores[slot] = best_feature(
                counts,
                start,
                scale,
                beliefs,
                at_i,
                offsets[i + 1] - at_i,
                at_j,
                offsets[j + 1] - at_j,
            )
            seen_drift[slot] = drift[i] + drift[j]
            tests += (offsets[i + 1] - at_i) * (offsets[j + 1] - at_j)
        if scores[slot] > highest:
            best, highest = slot, scores[slot]
    return best, tests


@kernel
def best_inside(edge_offsets, n_edges, active, beliefs, targets):
    """Return edge, cell and score of the best inactive feature of the active edges.

    The fourth number is that of tests, scores of one feature. All arrays but the offsets are flat
    over the cells of the edges. Edge -1: none is inactive.
    """
    edge, cell, score, tests = -1, 0, -1.0, 0
    for e in range(n_edges):
        for k in range(edge_offsets[e], edge_offsets[e + 1]):
            if active[k]:
                continue
            tests += 1
            if abs(beliefs[k] - targets[k]) > score:
                edge, cell, score = e, k - edge_offsets[e], abs(beliefs[k] - targets[k])
    return edge, cell, score, tests


class FeatureSearch:
    """Search over the features of all pairs, which are counted at the start.

    Parameters
    ----------
    counts : PairCounts
        Must be new: slots are then in lexicographic order of pairs.

    Attributes
    ----------
    tests : int
        Number of scores of features that :meth:`best_outside` has computed.
    """

    def __init__(self, counts: PairCounts) -> None:
        self.counts = counts
        self.tests = 0
        possible = counts.tables_possible
        counts.reserve(possible)
        for row in range(0, counts.n_variables - 1, _ROWS_AT_ONCE):
            counts.count_rows(row, row + _ROWS_AT_ONCE)
        sizes = counts.cardinalities.astype(np.int64)
        self.possible = int((sizes.sum() ** 2 - (sizes**2).sum()) // 2)
        self._scores = np.full(possible, np.inf)
        self._cells = np.zeros(possible, dtype=np.int64)
        self._seen_drift = np.full(possible, -np.inf)
        self._active = np.zeros(possible, dtype=np.bool_)

    def best_outside(self, beliefs: np.ndarray, drift: np.ndarray) -> FoundFeature | None:
        """Return the best feature of the pairs without active ones; None if there is no such pair.

        Parameters
        ----------
        beliefs : float64 array, flat
            Node beliefs.
        drift : float64 array, shape (n,)
            Accumulated change of each belief since the run began.
        """
        counts = self.counts
        slot, tests = _scan(
            counts.packed,
            counts.store,
            beliefs,
            drift,
            self._scores,
            self._cells,
            self._seen_drift,
            self._active,
            counts.scratch,
        )
        self.tests += int(tests)
        if slot < 0:
            return None
        pairs = counts.store.pairs
        return FoundFeature(
            int(pairs.first[slot]),
            int(pairs.second[slot]),
            int(self._cells[slot]),
            float(self._scores[slot]),
        )

    def reset_bounds(self) -> None:
        """Score every pair again at the next scan, which then relies on no bound."""
        self._seen_drift[:] = -np.inf
        self._scores[:] = np.inf

    def exclude(self, pairs: np.ndarray) -> None:
        """Leave pairs, shape (k, 2), out of the search."""
        sizes = self.counts.cardinalities.astype(np.int64)
        self.possible -= int(sizes[pairs].prod(axis=1).sum())
        for i, j in pairs.tolist():
            self.mark_active(i, j)

    def mark_active(self, i: int, j: int) -> None:
        """Exclude a pair with an active feature from the scan; :func:`best_inside` covers it."""
        self._active[self.counts.slot(i, j)] = True
