"""The streaming search of best-choice edge grafting: tests, reservoir, choice (BC alg. 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.search.queue import (
    boost_hubs,
    enqueue_all_pairs,
    enqueue_screened,
    enumerate_remainder,
    store_all_pairs,
)
from graftviz.search.scoring import (
    Scoring,
    score_slots,
)
from graftviz.search.state import (
    ACTIVE,
    FROZEN,
    FROZEN_SIZE,
    LOG_SIZE,
    N_HUBS,
    N_REFILLS,
    QUEUE_SIZE,
    RESERVED,
    RESERVOIR_SIZE,
    new_search_state,
    with_room,
)
from graftviz.search.testing import (
    ENUMERATE,
    LIMIT,
    current_scores,
    rescore_reservoir,
    run_tests,
)
from graftviz.trace import EdgeTests, ReservoirView

_ROUND = 4096  # tests between two looks at the room left


class Choice(NamedTuple):
    """What the activation rule picked from the reservoir.

    Attributes
    ----------
    slots : int64 array
        Chosen edges, best score first.
    skipped : int64 array
        Slots with a score of at least τ_α that touch an edge chosen before them.
    view : ReservoirView
    """

    slots: np.ndarray
    skipped: np.ndarray
    view: ReservoirView


class ReservoirSearch:
    """Queue, reservoir and frozen list of one run.

    Parameters
    ----------
    counts : PairCounts
        Gives every drawn pair its slot and its table.
    capacity : int
        |R|.
    seed : int
    history : bool
        Whether frozen edges return in the order of their violation offsets v_e (BC); otherwise
        they return in random order (first hit).
    full_queue : bool
        Store all pairs in the queue at the start.
    """

    def __init__(
        self,
        counts: PairCounts,
        *,
        capacity: int,
        seed: int,
        history: bool = True,
        full_queue: bool = False,
    ) -> None:
        self.counts = counts
        self.capacity = capacity
        self.history = history
        self.state = new_search_state(counts.n_variables, capacity, seed)
        if full_queue:
            self._make_room(counts.tables_possible)
            enqueue_all_pairs(self.state, counts.store, 1.0)

    @property
    def reservoir_size(self) -> int:
        """Edges in R now."""
        return int(self.state.sizes[RESERVOIR_SIZE])

    @property
    def queue_size(self) -> int:
        """Stored queue entries."""
        return int(self.state.sizes[QUEUE_SIZE])

    @property
    def frozen_size(self) -> int:
        """Edges in L."""
        return int(self.state.sizes[FROZEN_SIZE])

    @property
    def unseen_size(self) -> int:
        """Pairs at default priority, stored nowhere."""
        return self.counts.tables_possible - int(self.counts.store.pairs.size[0])

    @property
    def refills(self) -> int:
        """How often the queue was refilled from L so far."""
        return int(self.state.sizes[N_REFILLS])

    @property
    def tests_logged(self) -> int:
        """Tests since the log was begun."""
        return int(self.state.sizes[LOG_SIZE])

    def resize(self, capacity: int) -> None:
        """Change |R|; the next `rescore` lets the weakest go if there are too many."""
        if capacity > len(self.state.reservoir_keys):
            grown = new_search_state(self.counts.n_variables, capacity, 0)
            size = self.reservoir_size
            for name in ("reservoir_keys", "reservoir_ties", "reservoir_slots"):
                getattr(grown, name)[:size] = getattr(self.state, name)[:size]
            self.state = self.state._replace(
                reservoir_keys=grown.reservoir_keys,
                reservoir_ties=grown.reservoir_ties,
                reservoir_slots=grown.reservoir_slots,
            )
        self.capacity = capacity

    def screen(self, scoring: Scoring, threshold: float) -> None:
        """Count all pairs and queue them in the order of their scores, best first.

        To be called before anything else. A quick score serves to order the tests by a costly one.

        Parameters
        ----------
        scoring : Scoring
            The quick one.
        threshold : float
            What a score in the same unit must exceed to violate.
        """
        possible = self.counts.tables_possible
        self._make_room(possible)
        store_all_pairs(self.state, self.counts.store)
        scores = self.state.score[:possible]
        everything = np.arange(possible)
        score_slots(
            everything, self.counts.packed, self.counts.store, scoring, self.counts.scratch, scores
        )
        enqueue_screened(self.state, self.counts.store, threshold)

    def forget_scores(self) -> None:
        """Score everything anew from now on: scores are measured differently."""
        self.state.scored_at[:] = 0.0

    def begin_step(self) -> None:
        """Forget the log of the step before."""
        self.state.sizes[LOG_SIZE] = 0

    def boost(self, is_hub: np.ndarray, *, cumulative: bool, threshold: float) -> None:
        """Move the inactive edges of hubs to the front of the queue (alg. 2)."""
        new = int(np.count_nonzero(is_hub & (self.state.boosts == 0)))
        pairs = min(new * (int(self.state.sizes[N_HUBS]) + new), self.unseen_size)
        self._make_room(pairs)
        boost_hubs(self.state, self.counts.store, is_hub, cumulative, threshold, self.history)

    def test(
        self,
        scoring: Scoring,
        threshold: float,
        *,
        round_number: int,
        limit: int | None,
        until: int | None = None,
    ) -> int:
        """Test edges, each at most once per round.

        Parameters
        ----------
        scoring : Scoring
            How to score, at the current weights.
        threshold : float
            The activation test C₂: an edge violates if its score is larger.
        round_number : int
            From 1; a new number allows every edge to be tested again.
        limit : int or None
            Most tests to make; None: until nothing is left.
        until : int or None
            Stop as soon as R holds so many edges.

        Returns
        -------
        int
            LIMIT, REACHED or EXHAUSTED.
        """
        target = self.capacity + 1 if until is None else until
        # One more than there are pairs: only then is the end of a full round noticed.
        left = self.counts.tables_possible + 1 if limit is None else limit
        while True:
            tests = min(left, _ROUND)
            self._make_room(min(tests, self.unseen_size))
            before = self.tests_logged
            ended = run_tests(
                self.state,
                self.counts.packed,
                self.counts.store,
                scoring,
                threshold,
                round_number,
                tests,
                target,
                self.history,
                self.capacity,
                self.counts.scratch,
            )
            left -= self.tests_logged - before
            if ended == ENUMERATE:
                remainder = np.zeros(self.unseen_size, dtype=np.int64)
                self.state = self.state._replace(remainder=remainder)
                enumerate_remainder(self.state, self.counts.store)
            elif ended != LIMIT or left <= 0:
                return int(ended)

    def choose(self, alpha: float, budget: int) -> Choice:
        """Pick edges from R: score ≥ τ_α, best first, none touching one picked before it.

        The maximum is always taken, and at α = 1 nothing else. Equal scores go by pair.
        """
        size = self.reservoir_size
        slots, scores = self.state.reservoir_slots[:size], self.state.reservoir_keys[:size]
        pairs = self.counts.store.pairs
        order = np.argsort(-scores)
        if np.any(np.diff(scores[order]) == 0.0):
            order = np.lexsort((pairs.second[slots], pairs.first[slots], -scores))
        slots, scores = slots[order], scores[order]
        edges = self.edges(slots)
        maximum = float(scores[0])
        # Rounding may put the mean of nearly equal scores above all of them.
        mean = min(float(scores.mean()), maximum)
        tau = min((1.0 - alpha) * mean + alpha * maximum, maximum)
        eligible = 1 if alpha == 1.0 else int(np.searchsorted(-scores, -tau, side="right"))
        chosen: list[int] = []
        skipped: list[int] = []
        touched: set[int] = set()
        for k in range(eligible):
            i, j = int(edges[k, 0]), int(edges[k, 1])
            if len(chosen) == budget:
                break
            if i in touched or j in touched:
                skipped.append(k)
            else:
                chosen.append(k)
                touched.update((i, j))
        for array in (edges, scores):
            array.flags.writeable = False
        view = ReservoirView(edges, scores, mean, tau, maximum, self.capacity)
        return Choice(slots[chosen], slots[skipped], view)

    def activate(self, chosen: np.ndarray) -> None:
        """Take chosen slots out of R; `rescore` must follow before the next test."""
        size = self.reservoir_size
        state = self.state
        state.place[chosen] = ACTIVE
        keep = np.flatnonzero(state.place[state.reservoir_slots[:size]] == RESERVED)
        for array in (state.reservoir_keys, state.reservoir_ties, state.reservoir_slots):
            array[: len(keep)] = array[keep]
        state.sizes[RESERVOIR_SIZE] = len(keep)

    def release(self, pairs: np.ndarray) -> None:
        """Put active edges back among those that did not violate (the frozen list)."""
        for i, j in pairs.tolist():
            slot = self.counts.slot(i, j)
            self.state.frozen[self.state.sizes[FROZEN_SIZE]] = slot
            self.state.sizes[FROZEN_SIZE] += 1
            self.state.place[slot] = FROZEN

    def rescore(self, scoring: Scoring, threshold: float) -> np.ndarray:
        """Update the scores of R after a refit; return the slots that left to L."""
        before = self.frozen_size
        rescore_reservoir(
            self.state,
            self.counts.packed,
            self.counts.store,
            scoring,
            threshold,
            self.capacity,
            self.counts.scratch,
        )
        return self.state.frozen[before : self.frozen_size].copy()

    def last_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return slots and last scores of all inactive pairs that have been tested."""
        size = int(self.counts.store.pairs.size[0])
        tested = self.state.tested_in[:size] > 0
        slots = np.flatnonzero(tested & (self.state.place[:size] != ACTIVE))
        return slots, self.state.score[slots].copy()

    def score_inactive(self, scoring: Scoring) -> tuple[np.ndarray, np.ndarray]:
        """Score all inactive pairs that have been tested; return (slots, scores)."""
        size = int(self.counts.store.pairs.size[0])
        tested = self.state.tested_in[:size] > 0
        slots = np.flatnonzero(tested & (self.state.place[:size] != ACTIVE))
        scores = np.empty(len(slots))
        current_scores(
            self.state,
            slots,
            self.counts.packed,
            self.counts.store,
            scoring,
            self.counts.scratch,
            scores,
        )
        return slots, scores

    def edges(self, slots: np.ndarray) -> np.ndarray:
        """Return the pairs of some slots, shape (k, 2), int32."""
        pairs = self.counts.store.pairs
        edges = np.empty((len(slots), 2), dtype=np.int32)
        edges[:, 0], edges[:, 1] = pairs.first[slots], pairs.second[slots]
        return edges

    def log(self) -> tuple[EdgeTests, np.ndarray]:
        """Return the tests since the log was begun, and the edges pushed out of R by them."""
        size, state = self.tests_logged, self.state
        displaced = state.log_displaced[:size]
        tests = EdgeTests(
            self.edges(state.log_slots[:size]),
            state.log_scores[:size].copy(),
            state.log_verdicts[:size].copy(),
        )
        replaced = self.edges(displaced[displaced >= 0])
        for array in (tests.edges, tests.scores, tests.verdicts, replaced):
            array.flags.writeable = False
        return tests, replaced

    def _make_room(self, new_pairs: int) -> None:
        """Make room for so many new slots, their tables, and a round of log entries."""
        self.counts.reserve(new_pairs)
        slots = len(self.counts.store.cell_offsets)
        self.state = with_room(self.state, slots, self.tests_logged + _ROUND)
