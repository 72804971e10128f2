"""The exhaustive scan of edge grafting: the best of all inactive pairs, at every step (BC alg. 1).

A pair is scored again only when it could be the maximum. Between two looks its score can change
by at most (drift_i + drift_j) / d_e, where drift is the length of the path a node belief has
travelled: ‖b_i b_jᵀ - b'_i b'_jᵀ‖ ≤ ‖b_i - b'_i‖ + ‖b_j - b'_j‖, as beliefs have 2-norm at most
one. The scan therefore returns the true maximum, at the price of a comparison per pair.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.counts import PairCounts
from graftviz.fitting.penalty import group_dimension
from graftviz.search.reservoir import Threshold
from graftviz.search.scoring import score_slot, score_slots

_SLACK = 1e-12  # rounding of a bound must not lose the maximum


@njit(cache=True, nogil=True)
def _scan(packed, store, beliefs, drift, square_root, score, seen_drift, active, scratch):
    """Return the slot of the best inactive pair (ties: the smaller pair), or -1.

    Slots are in lexicographic order of pairs.
    """
    pairs = store.pairs
    best = -1
    for slot in range(pairs.size[0]):
        if not active[slot] and (best < 0 or score[slot] > score[best]):
            best = slot
    if best < 0:
        return best
    score[best] = score_slot(best, packed, store, beliefs, square_root, scratch)
    seen_drift[best] = drift[pairs.first[best]] + drift[pairs.second[best]]
    offsets = packed.node_offsets
    for slot in range(pairs.size[0]):
        if active[slot] or slot == best:
            continue
        i, j = pairs.first[slot], pairs.second[slot]
        travelled = drift[i] + drift[j]
        if travelled != seen_drift[slot]:
            joint = (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
            reach = (travelled - seen_drift[slot]) / group_dimension(joint, square_root)
            if score[slot] + reach < score[best] - _SLACK:
                continue
            score[slot] = score_slot(slot, packed, store, beliefs, square_root, scratch)
            seen_drift[slot] = travelled
        if score[slot] > score[best] or (score[slot] == score[best] and slot < best):
            best = slot
    return best


class ExhaustiveSearch:
    """All pairs, counted at the start.

    Parameters
    ----------
    counts : PairCounts
        Must be fresh: slots are then in lexicographic order of pairs.
    """

    def __init__(self, counts: PairCounts) -> None:
        self.counts = counts
        possible = counts.tables_possible
        self.active = np.zeros(possible, dtype=np.bool_)
        self.scores = np.full(possible, np.inf)
        self.seen_drift = np.full(possible, -np.inf)
        self._square_root: bool | None = None
        self._next_row = 0

    def count(self, rows: int) -> bool:
        """Count the pairs of up to `rows` more variables; return whether some are left."""
        last = self.counts.n_variables - 1
        if self._next_row == 0:
            self.counts.reserve(self.counts.tables_possible)
        for _ in range(rows):
            if self._next_row < last:
                self.counts.count_row(self._next_row)
                self._next_row += 1
        return self._next_row < last

    def score_all(self, beliefs: np.ndarray, drift: np.ndarray, threshold: Threshold) -> None:
        """Score every pair at the given beliefs."""
        pairs = self.counts.store.pairs
        size = self.counts.tables_possible
        score_slots(
            np.arange(size),
            self.counts.packed,
            self.counts.store,
            beliefs,
            threshold.square_root,
            self.counts.scratch,
            self.scores,
        )
        self.seen_drift[:] = drift[pairs.first[:size]] + drift[pairs.second[:size]]
        self._square_root = threshold.square_root

    def best(
        self, beliefs: np.ndarray, drift: np.ndarray, threshold: Threshold
    ) -> tuple[int, float]:
        """Return slot and score of the best inactive pair; (-1, 0) if there is none."""
        if threshold.square_root != self._square_root:
            # The bound compares scores of one group weight only.
            self.score_all(beliefs, drift, threshold)
        slot = int(
            _scan(
                self.counts.packed,
                self.counts.store,
                beliefs,
                drift,
                threshold.square_root,
                self.scores,
                self.seen_drift,
                self.active,
                self.counts.scratch,
            )
        )
        return slot, float(self.scores[slot]) if slot >= 0 else 0.0

    def edge(self, slot: int) -> tuple[int, int]:
        """Return the pair of a slot."""
        pairs = self.counts.store.pairs
        return int(pairs.first[slot]), int(pairs.second[slot])
