"""Exhaustive scan of edge grafting: the best of all inactive pairs, at every step (BC alg. 1).

A pair is scored again only if it could be the maximum. Since it was scored last, its belief score
can change by at most (drift_i + drift_j) / d_e, where drift is the length of the path of a node
belief: ‖b_i b_jᵀ - b'_i b'_jᵀ‖ ≤ ‖b_i - b'_i‖ + ‖b_j - b'_j‖, as beliefs have 2-norm at most one.
The scan therefore returns the true maximum at the cost of one comparison per pair. Other scores
have no such bound: a pair is scored again if either end has changed.
"""

from __future__ import annotations

import numpy as np

from graftviz.learning.counts.pair_counts import PairCounts, find_slot
from graftviz.learning.scores.kernels import ROOT, Scoring, score_slot, score_slots
from graftviz.utils.compiling import inner_kernel, kernel

_SLACK = 1e-12  # rounding of a bound must not lose the maximum


@kernel
def _scan_all(packed, store, scoring, drift, score, seen_drift, active, scratch):
    """Return the slot of the best inactive pair (ties: the smaller), or -1, and the number scored.

    Pairs are scored again if an end has changed. Slots are in lexicographic order of pairs.
    """
    pairs = store.pairs
    best, scored = -1, 0
    for slot in range(pairs.size[0]):
        if active[slot]:
            continue
        total_drift = drift[pairs.first[slot]] + drift[pairs.second[slot]]
        if total_drift != seen_drift[slot]:
            score[slot] = score_slot(slot, packed, store, scoring, scratch)
            seen_drift[slot] = total_drift
            scored += 1
        if best < 0 or score[slot] > score[best]:
            best = slot
    return best, scored


@inner_kernel
def _count_above(base, drift, per_drift, i, at, bound):
    """Return the number of pairs (i, j), j > i, that may score more than `bound`.

    A plain loop over contiguous arrays, which the compiler vectorises.
    """
    size = len(drift) - 1 - i
    row, drifts, factors = base[at : at + size], drift[i + 1 :], per_drift[i + 1 :]
    total_drift, factor = drift[i], per_drift[i]
    found = 0
    for k in range(size):
        found += row[k] + (total_drift + drifts[k]) * (factor * factors[k]) > bound
    return found


@kernel
def _scan_bounded(
    packed, store, scoring, drift, per_drift, score, base, active, starting_point, scratch
):
    """Return the best inactive pair like `_scan_all`, but score only those that may be the best.

    Parameters
    ----------
    per_drift : float64 array, shape (n,)
        A change of b_i or b_j of norm 1 changes the score by at most
        ``per_drift[i] * per_drift[j]``.
    base : float64 array, one per slot
        The latest score minus the drift at that time in units of the score, so that the current
        score is at most ``base + (drift_i + drift_j) * per_drift_i * per_drift_j``.
    starting_point : int
        A slot with a presumably high score, or -1; the higher its score, the fewer are computed.

    Returns
    -------
    best, runner_up : int
        The runner-up is the second best of the slots that were scored.
    scored : int
        Number of scores computed.
    """
    second = store.pairs.second
    best, runner_up, scored = -1, -1, 0
    if starting_point >= 0 and not active[starting_point]:
        best = starting_point
        score[best] = score_slot(best, packed, store, scoring, scratch)
        scored += 1
    at = 0
    for i in range(len(drift) - 1):
        bound = score[best] - _SLACK if best >= 0 else -np.inf
        size = len(drift) - 1 - i
        if _count_above(base, drift, per_drift, i, at, bound) > 0:
            for slot in range(at, at + size):
                bound = score[best] - _SLACK if best >= 0 else -np.inf
                factor = per_drift[i] * per_drift[second[slot]]
                reach = (drift[i] + drift[second[slot]]) * factor
                if base[slot] + reach <= bound:
                    continue
                if active[slot]:
                    base[slot] = -np.inf
                    continue
                score[slot] = score_slot(slot, packed, store, scoring, scratch)
                scored += 1
                base[slot] = score[slot] - reach
                if slot == best:
                    continue
                if (
                    best < 0
                    or score[slot] > score[best]
                    or (score[slot] == score[best] and slot < best)
                ):
                    best, runner_up = slot, best
                elif runner_up < 0 or score[slot] > score[runner_up]:
                    runner_up = slot
        at += size
    return best, runner_up, scored


class ExhaustiveSearch:
    """Search over all pairs, which are counted at the start.

    Parameters
    ----------
    counts : PairCounts
        Must be new: slots are then in lexicographic order of pairs.
    candidates : int array, shape (k, 2), optional
        The pairs to search, in lexicographic order; default: all.
    """

    def __init__(self, counts: PairCounts, candidates: np.ndarray | None = None) -> None:
        self.counts = counts
        self._candidates = candidates
        possible = counts.tables_possible if candidates is None else len(candidates)
        self.active = np.zeros(possible, dtype=np.bool_)
        self.scores = np.full(possible, np.inf)
        self.seen_drift = np.full(possible, -np.inf)  # drift_i + drift_j at the latest scoring
        self.base = np.full(possible, np.inf)  # see _scan_bounded
        self._per_drift = np.zeros(counts.n_variables)
        self._runner_up = -1
        self.tests = 0  # scores computed by `best`, all together
        self._measure: tuple[object, ...] | None = None
        self._next_row = 0

    def count(self, rows: int) -> bool:
        """Count the pairs of up to `rows` further variables; return whether some remain."""
        if self._candidates is not None:
            self.counts.slots(self._candidates)
            return False
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
            Scoring at the current weights.
        drift : float64 array, shape (n,)
            Accumulated change at each node of the quantities that the score depends on.
        """
        pairs = self.counts.store.pairs
        size = len(self.scores)
        score_slots(
            np.arange(size),
            self.counts.packed,
            self.counts.store,
            scoring,
            self.counts.scratch,
            self.scores,
        )
        total_drift = drift[pairs.first[:size]] + drift[pairs.second[:size]]
        self.seen_drift[:] = total_drift
        if scoring.is_plain and self._candidates is None:
            sizes = self.counts.cardinalities
            self._per_drift = 1.0 / (np.sqrt(sizes) if scoring.unit == ROOT else sizes)
            factors = self._per_drift[pairs.first[:size]] * self._per_drift[pairs.second[:size]]
            self.base = self.scores - total_drift * factors
        self._measure = _measure_key(scoring)

    def best(
        self, scoring: Scoring, drift: np.ndarray, *, scores_all: bool = False
    ) -> tuple[int, float]:
        """Return slot and score of the best inactive pair; (-1, 0) if there is none.

        With `scores_all`, every inactive pair is scored, as in the paper's algorithm.
        """
        if scores_all or _measure_key(scoring) != self._measure:
            # Scores of different measures cannot be compared.
            self.score_all(scoring, drift)
            self.tests += int(np.count_nonzero(~self.active))
            return self._largest()
        counts = self.counts
        tables = counts.packed, counts.store, scoring, drift
        if scoring.is_plain and self._candidates is None:
            best, self._runner_up, scored = _scan_bounded(
                *tables,
                self._per_drift,
                self.scores,
                self.base,
                self.active,
                self._runner_up,
                counts.scratch,
            )
        else:
            best, scored = _scan_all(
                *tables, self.scores, self.seen_drift, self.active, counts.scratch
            )
        self.tests += int(scored)
        slot = int(best)
        return slot, float(self.scores[slot]) if slot >= 0 else 0.0

    def _largest(self) -> tuple[int, float]:
        """Return slot and score of the largest inactive score; ties: the smaller pair."""
        if self.active.all():
            return -1, 0.0
        slot = int(np.argmax(np.where(self.active, -np.inf, self.scores)))
        return slot, float(self.scores[slot])

    def exclude(self, pairs: np.ndarray) -> None:
        """Exclude pairs from the search."""
        for i, j in pairs.tolist():
            slot = int(find_slot(self.counts.store.pairs, i, j))
            if slot >= 0:  # else it is no candidate
                self.active[slot] = True

    def release(self, pairs: np.ndarray) -> None:
        """Make active edges inactive again."""
        for i, j in pairs.tolist():
            slot = self.counts.slot(i, j)
            self.active[slot] = False
            self.scores[slot], self.base[slot], self.seen_drift[slot] = np.inf, np.inf, -np.inf

    @property
    def pairs(self) -> np.ndarray:
        """Pairs of all slots, shape (k, 2)."""
        pairs, size = self.counts.store.pairs, len(self.scores)
        return np.stack([pairs.first[:size], pairs.second[:size]], axis=1)

    def edge(self, slot: int) -> tuple[int, int]:
        """Return the pair of a slot."""
        pairs = self.counts.store.pairs
        return int(pairs.first[slot]), int(pairs.second[slot])


def _measure_key(scoring: Scoring) -> tuple[object, ...]:
    """Return the key under which scores are comparable; λ matters to effective scores only."""
    lam = scoring.lam if scoring.significance > 0.0 else 0.0
    return (type(scoring.own), scoring.unit, scoring.significance, lam)
