"""The exhaustive scan of edge grafting: the best of all inactive pairs, at every step (BC alg. 1).

A pair is scored again only when it could be the maximum. Between two looks its belief score can
change by at most (drift_i + drift_j) / d_e, where drift is the length of the path a node belief has
travelled: ‖b_i b_jᵀ - b'_i b'_jᵀ‖ ≤ ‖b_i - b'_i‖ + ‖b_j - b'_j‖, as beliefs have 2-norm at most
one. The scan therefore returns the true maximum, at the price of a comparison per pair. For other
scores there is no such bound: a pair is scored again as soon as either end has moved at all.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.counts import PairCounts
from graftviz.fitting.penalty import group_dimension
from graftviz.search.scoring import BELIEF, NOISE, ROOT, Scoring, score_slot, score_slots

_SLACK = 1e-12  # rounding of a bound must not lose the maximum


@njit(cache=True, nogil=True)
def _scan(packed, store, scoring, drift, score, seen_drift, active, scratch):
    """Return the slot of the best inactive pair (ties: the smaller pair), or -1.

    Slots are in lexicographic order of pairs.
    """
    pairs = store.pairs
    is_bounded = scoring.kind == BELIEF and scoring.unit != NOISE and scoring.significance == 0.0
    best = -1
    for slot in range(pairs.size[0]):
        if not active[slot] and (best < 0 or score[slot] > score[best]):
            best = slot
    if best < 0:
        return best
    score[best] = score_slot(best, packed, store, scoring, scratch)
    seen_drift[best] = drift[pairs.first[best]] + drift[pairs.second[best]]
    offsets = packed.node_offsets
    for slot in range(pairs.size[0]):
        if active[slot] or slot == best:
            continue
        i, j = pairs.first[slot], pairs.second[slot]
        travelled = drift[i] + drift[j]
        if travelled != seen_drift[slot]:
            joint = (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
            reach = (travelled - seen_drift[slot]) / group_dimension(joint, scoring.unit == ROOT)
            if is_bounded and score[slot] + reach < score[best] - _SLACK:
                continue
            score[slot] = score_slot(slot, packed, store, scoring, scratch)
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
        self._measure: tuple[float, ...] | None = None
        self._next_row = 0

    def count(self, rows: int) -> bool:
        """Count the pairs of up to `rows` more variables; return whether some are left."""
        last = self.counts.n_variables - 1
        if self._next_row == 0:
            self.counts.reserve(self.counts.tables_possible)
        stop = min(self._next_row + rows, last)
        self.counts.count_rows(self._next_row, stop)
        self._next_row = stop
        return self._next_row < last

    def score_all(self, scoring: Scoring, drift: np.ndarray) -> None:
        """Score every pair.

        Parameters
        ----------
        scoring : Scoring
            How to score, at the current weights.
        drift : float64 array, shape (n,)
            How far what the score depends on has moved at each node since the run began.
        """
        pairs = self.counts.store.pairs
        size = self.counts.tables_possible
        score_slots(
            np.arange(size),
            self.counts.packed,
            self.counts.store,
            scoring,
            self.counts.scratch,
            self.scores,
        )
        self.seen_drift[:] = drift[pairs.first[:size]] + drift[pairs.second[:size]]
        self._measure = _measure_of(scoring)

    def best(self, scoring: Scoring, drift: np.ndarray) -> tuple[int, float]:
        """Return slot and score of the best inactive pair; (-1, 0) if there is none."""
        if _measure_of(scoring) != self._measure:
            # Scores of different measures cannot be compared.
            self.score_all(scoring, drift)
        slot = int(
            _scan(
                self.counts.packed,
                self.counts.store,
                scoring,
                drift,
                self.scores,
                self.seen_drift,
                self.active,
                self.counts.scratch,
            )
        )
        return slot, float(self.scores[slot]) if slot >= 0 else 0.0

    def release(self, pairs: np.ndarray) -> None:
        """Make active edges inactive again."""
        for i, j in pairs.tolist():
            slot = self.counts.slot(i, j)
            self.active[slot] = False
            self.scores[slot], self.seen_drift[slot] = np.inf, -np.inf

    def edge(self, slot: int) -> tuple[int, int]:
        """Return the pair of a slot."""
        pairs = self.counts.store.pairs
        return int(pairs.first[slot]), int(pairs.second[slot])


def _measure_of(scoring: Scoring) -> tuple[float, ...]:
    """Return what scores must have in common to be compared; λ matters to effective scores only."""
    lam = scoring.lam if scoring.significance > 0.0 else 0.0
    return (scoring.kind, scoring.unit, scoring.significance, lam)
