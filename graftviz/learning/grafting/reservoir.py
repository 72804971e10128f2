"""Tests of edges, the reservoir, and the choice of those to activate (BC alg. 3 and 4).

Tests are kernels. The choice, `activation`, is plain Python, as the reservoir is small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.counts.pair_counts import PairCounts, count_slot
from graftviz.learning.grafting.queue import (
    ACTIVE,
    BY_OFFSET,
    BY_SCORE,
    CLOSED,
    ENUMERATE_FIRST,
    FROZEN,
    FROZEN_SIZE,
    HEAPS,
    LOG_SIZE,
    N_HUBS,
    N_REFILLS,
    NO_EDGE,
    QUEUE_SIZES,
    RESERVED,
    RESERVOIR_SIZE,
    boost_hubs,
    enqueue,
    enqueue_all_pairs,
    enqueue_screened,
    enumerate_remainder,
    heapify,
    new_search_state,
    next_edge,
    push,
    queue_front,
    random_word,
    refill,
    sift_down,
    store_all_pairs,
    store_pairs,
    with_capacity,
    with_hub_heaps,
)
from graftviz.learning.scores.kernels import (
    ROOT,
    Scoring,
    has_batches,
    plain_score,
    score_batch,
    score_slots,
    score_with_slack,
)
from graftviz.learning.trace import (
    ADMITTED,
    DISPLACED_MINIMUM,
    NO_PAIRS,
    PASSED,
    TOO_WEAK,
    EdgeTests,
    ReservoirView,
)
from graftviz.utils.compiling import inner_kernel, kernel
from graftviz.utils.parallel import in_threads


class Activation(NamedTuple):
    """Result of the activation rule for a reservoir.

    Attributes
    ----------
    mean, tau, maximum : float
        μ, τ_α = (1 − α) μ + α max, and the maximum; the interval I_α is [τ_α, max].
    chosen : tuple of int
        Positions of the edges to activate, best score first.
    skipped : tuple of int
        Positions of edges with a score of at least τ_α that share a node with a chosen edge.
    """

    mean: float
    tau: float
    maximum: float
    chosen: tuple[int, ...]
    skipped: tuple[int, ...]


def activation(
    edges: np.ndarray, scores: np.ndarray, alpha: float, budget: int | None = None
) -> Activation:
    """Choose edges with score ≥ τ_α, best first, of which no two share a node.

    The edge with the largest score is always chosen; at α = 1 it is the only one.

    Parameters
    ----------
    edges : int array, shape (k, 2)
    scores : float array, shape (k,)
        In non-increasing order.
    alpha : float
        α.
    budget : int, optional
        Largest number of edges to choose.
    """
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
    return Activation(mean, tau, maximum, tuple(chosen), tuple(skipped))


# Reasons why a round of tests ended.
LIMIT, REACHED, EXHAUSTED, ENUMERATE = 0, 1, 2, 3


@inner_kernel
def _freeze(state, slot):
    state.frozen[state.sizes[FROZEN_SIZE]] = slot
    state.sizes[FROZEN_SIZE] += 1
    state.place[slot] = FROZEN


@inner_kernel
def _set_aside(state, store, slot, threshold, order):
    """Move a violating edge for which R has no room to the queue (by score) or to L."""
    if order == BY_SCORE:
        enqueue(state, store, slot, threshold, order)
    else:
        _freeze(state, slot)


@inner_kernel
def _admit(state, store, slot, score, threshold, order, capacity):
    """Offer a violating edge to the reservoir; return verdict and displaced slot (or -1)."""
    size = state.sizes[RESERVOIR_SIZE]
    keys, ties, slots = state.reservoir_keys, state.reservoir_ties, state.reservoir_slots
    if size < capacity:
        push(keys, ties, slots, size, score, random_word(state.random), slot)
        state.sizes[RESERVOIR_SIZE] = size + 1
        state.place[slot] = RESERVED
        return ADMITTED, -1
    if score <= keys[0]:
        _set_aside(state, store, slot, threshold, order)
        return TOO_WEAK, -1
    displaced = slots[0]
    _set_aside(state, store, displaced, threshold, order)
    keys[0], ties[0], slots[0] = score, random_word(state.random), slot
    sift_down(keys, ties, slots, np.int64(0), size)
    state.place[slot] = RESERVED
    return DISPLACED_MINIMUM, displaced


@inner_kernel
def _current_score(state, slot, packed, store, scoring, scratch):
    """Return the score of a slot, computing it only if its verdict may have changed.

    `is_plain` must not hold.
    """
    at = 0.0
    if len(scoring.drift) > 0:
        at = 1.0 + scoring.drift[store.pairs.first[slot]] + scoring.drift[store.pairs.second[slot]]
        if state.scored_at[slot] > 0.0 and at - state.scored_at[slot] <= state.slack[slot]:
            return state.score[slot]
    score, norm, slack = score_with_slack(slot, packed, store, scoring, scratch)
    state.score[slot], state.scored_at[slot] = score, at
    state.norm[slot], state.slack[slot] = norm, slack
    return score


@kernel
def current_scores(state, slots, packed, store, scoring, scratch, out):
    """Write the scores of `slots` to `out`, computing those that may violate or have violated."""
    for k in range(len(slots)):
        out[k] = _current_score(state, slots[k], packed, store, scoring, scratch)


@inner_kernel
def _promises(state, threshold, capacity):
    """Return whether the first edge of the queue would enter R at its latest score."""
    heap, priority = queue_front(state)
    if heap < 0:
        return False
    least = threshold
    if state.sizes[RESERVOIR_SIZE] == capacity:
        least = state.reservoir_keys[0]
    return priority < 1.0 - least / threshold


@kernel
def run_tests(
    state,
    packed,
    store,
    scoring,
    threshold,
    round_number,
    tests,
    until,
    promising,
    order,
    capacity,
    scratch,
):
    """Test up to `tests` edges from the front of the queue.

    Parameters
    ----------
    promising : bool
        Whether to stop at an edge that would not enter R at its latest score.

    Returns
    -------
    int
        LIMIT, REACHED (R holds `until` edges, or what remains does not promise to enter), EXHAUSTED
        (every inactive edge outside R was tested in this round), or ENUMERATE (the remainder has to
        be listed first).
    """
    plain = scoring.is_plain
    first, second, cell_offsets = store.pairs.first, store.pairs.second, store.cell_offsets
    offsets, cells, scale = packed.node_offsets, store.cells, 1.0 / packed.rows
    beliefs, unit, sizes = scoring.beliefs, scoring.unit, state.sizes
    scores, scored_at, tested_in = state.score, state.scored_at, state.tested_in
    drift, follows_drift = scoring.drift, len(scoring.drift) > 0
    log_slots, log_scores = state.log_slots, state.log_scores
    log_verdicts, log_displaced = state.log_verdicts, state.log_displaced
    while tests > 0:
        if sizes[RESERVOIR_SIZE] >= until:
            return REACHED
        if promising and not _promises(state, threshold, capacity):
            return REACHED
        slot = next_edge(state, store)
        if slot == NO_EDGE:
            if refill(state, store, round_number, threshold, order) == 0:
                return EXHAUSTED
            sizes[N_REFILLS] += 1
            continue
        if slot == ENUMERATE_FIRST:
            return ENUMERATE
        tests -= 1
        if plain:
            i, j = first[slot], second[slot]
            at = 1.0 + drift[i] + drift[j] if follows_drift else 0.0
            start = cell_offsets[slot]
            if follows_drift and scored_at[slot] == at:
                score = scores[slot]
            elif start >= 0:
                score = plain_score(i, j, cells, start, scale, offsets, beliefs, unit)
            else:
                start = count_slot(packed, store, slot, scratch)
                table, begin = (cells, start) if start >= 0 else (scratch, np.int64(0))
                score = plain_score(i, j, table, begin, scale, offsets, beliefs, unit)
            scored_at[slot] = at
        else:
            score = _current_score(state, slot, packed, store, scoring, scratch)
        scores[slot] = score
        tested_in[slot] = round_number
        verdict, displaced = PASSED, -1
        if score > threshold:
            verdict, displaced = _admit(state, store, slot, score, threshold, order, capacity)
        else:
            _freeze(state, slot)
        at = sizes[LOG_SIZE]
        log_slots[at] = slot
        log_scores[at] = score
        log_verdicts[at] = verdict
        log_displaced[at] = displaced
        sizes[LOG_SIZE] = at + 1
    return REACHED if sizes[RESERVOIR_SIZE] >= until else LIMIT


@kernel
def restore_reservoir(state, store, threshold, order, capacity):
    """Restore R after its scores changed: move what does not violate, or has no room, elsewhere.

    The new scores are in `reservoir_keys`. They are computed by another kernel, because a kernel is
    compiled again within each kernel that calls it.
    """
    keys, ties, slots = state.reservoir_keys, state.reservoir_ties, state.reservoir_slots
    remaining = np.int64(0)
    size = state.sizes[RESERVOIR_SIZE]
    for k in range(size):
        slot, score = slots[k], keys[k]
        state.score[slot] = score
        if score > threshold:
            keys[remaining], ties[remaining], slots[remaining] = score, ties[k], slot
            remaining += 1
        else:
            _freeze(state, slot)
    heapify(keys, ties, slots, remaining)
    while remaining > capacity:
        _set_aside(state, store, slots[0], threshold, order)
        remaining -= 1
        keys[0], ties[0], slots[0] = keys[remaining], ties[remaining], slots[remaining]
        sift_down(keys, ties, slots, np.int64(0), remaining)
    state.sizes[RESERVOIR_SIZE] = remaining


_AT_ONCE = 64  # scores computed before the largest is compared with the bounds of others
_TINY = 1e-300
_PAIRS_AT_ONCE = 16_384  # pairs of a batch of scores
_BATCH = 4096  # tests per kernel call, after which arrays are enlarged


class Choice(NamedTuple):
    """Edges that the activation rule chose from the reservoir.

    Attributes
    ----------
    slots : int64 array
        Chosen edges, best score first.
    skipped : int64 array
        Slots with a score of at least τ_α that share a node with a chosen edge.
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
        Slots and pair tables of the drawn pairs.
    capacity : int
        |R|.
    seed : int
    order : int
        BY_OFFSET: frozen edges return in the order of their violation offsets v_e (BC); BY_CHANCE:
        in random order (first hit); BY_SCORE: violating edges for which R has no room go back to
        the queue instead, so that R holds the best of all scores (after `screen`).
    full_queue : bool
        Whether all pairs are stored in the queue at the start.
    excluded : int array, shape (k, 2)
        Pairs that are never tested; with `screen`, see `exclude`.
    """

    def __init__(
        self,
        counts: PairCounts,
        *,
        capacity: int,
        seed: int,
        order: int = BY_OFFSET,
        full_queue: bool = False,
        excluded: np.ndarray = NO_PAIRS,
    ) -> None:
        self.counts = counts
        self.capacity = capacity
        self.order = order
        self.state = new_search_state(counts.n_variables, capacity, seed)
        self.exclude(excluded)
        if full_queue:
            self._reserve(counts.tables_possible)
            enqueue_all_pairs(self.state, counts.store, 1.0)

    @property
    def reservoir_size(self) -> int:
        """Number of edges in R."""
        return int(self.state.sizes[RESERVOIR_SIZE])

    @property
    def queue_size(self) -> int:
        """Number of stored queue entries."""
        return int(self.state.sizes[QUEUE_SIZES : QUEUE_SIZES + HEAPS].sum())

    @property
    def frozen_size(self) -> int:
        """Number of edges in L."""
        return int(self.state.sizes[FROZEN_SIZE])

    @property
    def unseen_size(self) -> int:
        """Number of pairs at default priority, which are not stored."""
        if self.state.sizes[CLOSED]:
            return 0
        return self.counts.tables_possible - int(self.counts.store.pairs.size[0])

    @property
    def refills(self) -> int:
        """Number of times that the queue was refilled from L."""
        return int(self.state.sizes[N_REFILLS])

    @property
    def tests_logged(self) -> int:
        """Number of tests in the log."""
        return int(self.state.sizes[LOG_SIZE])

    def resize(self, capacity: int) -> None:
        """Change |R|; the next `rescore` moves the weakest edges to L if there are too many."""
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

    def screen(
        self, scoring: Scoring, threshold: float, candidates: np.ndarray | None = None
    ) -> None:
        """Count all pairs and queue them in the order of their scores, best first.

        It must be called first. Where drift bounds scores, a pair is scored again only after its
        variables have moved far enough.

        Parameters
        ----------
        scoring : Scoring
            Scoring at the start.
        threshold : float
            The activation test C₂.
        candidates : int array, shape (k, 2), optional
            Pairs i < j that are counted and queued; no others are drawn later.
        """
        possible = self.counts.tables_possible if candidates is None else len(candidates)
        self._reserve(possible)
        if candidates is None:
            store_all_pairs(self.state, self.counts.store)
            self.counts.count_all()
        else:
            store_pairs(self.state, self.counts.store, candidates)
        self._score_ahead(scoring)
        left = np.flatnonzero(self.state.scored_at[:possible] == 0.0)
        self.state.score[left] = self.current_scores(scoring, left)
        enqueue_screened(self.state, self.counts.store, threshold)

    def invalidate_scores(self) -> None:
        """Compute all scores again when needed, as scores are measured differently."""
        self.state.scored_at[:] = 0.0
        self.state.slack[:] = 0.0

    def begin_step(self) -> None:
        """Clear the log of the previous step."""
        self.state.sizes[LOG_SIZE] = 0

    def boost(self, is_hub: np.ndarray, *, threshold: float) -> None:
        """Raise the priority of the inactive edges of hubs (alg. 2)."""
        new = int(np.count_nonzero(is_hub & (self.state.boosts == 0)))
        pairs = min(new * (int(self.state.sizes[N_HUBS]) + new), self.unseen_size)
        self._reserve(pairs)
        self.state = with_hub_heaps(self.state)
        boost_hubs(self.state, self.counts.store, is_hub, threshold, self.order)

    def test(
        self,
        scoring: Scoring,
        threshold: float,
        *,
        round_number: int,
        limit: int | None,
        until: int | None = None,
        promising: bool = False,
    ) -> int:
        """Test edges, each at most once per round.

        Parameters
        ----------
        scoring : Scoring
            Scoring at the current weights.
        threshold : float
            The activation test C₂: an edge violates if its score is larger.
        round_number : int
            Starts at 1; with a new number every edge may be tested again.
        limit : int or None
            Largest number of tests; None: until all edges are tested.
        until : int or None
            Stop as soon as R holds this many edges.
        promising : bool
            Stop at the first edge that would not enter R at its latest score.

        Returns
        -------
        int
            LIMIT, REACHED or EXHAUSTED, see :func:`graftviz.learning.grafting.reservoir.run_tests`.
        """
        if limit is None and self.order == BY_SCORE and len(scoring.drift) > 0:
            self._score_ahead(scoring)
        target = self.capacity + 1 if until is None else until
        # One more than the number of pairs, so that the end of a full round is detected.
        remaining = self.counts.tables_possible + 1 if limit is None else limit
        while True:
            tests = min(remaining, _BATCH)
            self._reserve(min(tests, self.unseen_size))
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
                promising,
                self.order,
                self.capacity,
                self.counts.scratch,
            )
            remaining -= self.tests_logged - before
            if ended == ENUMERATE:
                remainder = np.zeros(self.unseen_size, dtype=np.int64)
                self.state = self.state._replace(remainder=remainder)
                enumerate_remainder(self.state, self.counts.store)
            elif ended != LIMIT or remaining <= 0:
                return int(ended)

    def choose(self, alpha: float, budget: int) -> Choice:
        """Choose edges from R by the activation rule; ties are ordered by pair."""
        size = self.reservoir_size
        slots, scores = self.state.reservoir_slots[:size], self.state.reservoir_keys[:size]
        pairs = self.counts.store.pairs
        order = np.argsort(-scores)
        if np.any(np.diff(scores[order]) == 0.0):
            order = np.lexsort((pairs.second[slots], pairs.first[slots], -scores))
        slots, scores = slots[order], scores[order]
        edges = self.edges(slots)
        picked = activation(edges, scores, alpha, budget)
        for array in (edges, scores):
            array.flags.writeable = False
        view = ReservoirView(edges, scores, picked.mean, picked.tau, picked.maximum, self.capacity)
        return Choice(slots[list(picked.chosen)], slots[list(picked.skipped)], view)

    def activate(self, chosen: np.ndarray) -> None:
        """Remove chosen slots from R; `rescore` must follow before the next test."""
        size = self.reservoir_size
        state = self.state
        state.place[chosen] = ACTIVE
        keep = np.flatnonzero(state.place[state.reservoir_slots[:size]] == RESERVED)
        for array in (state.reservoir_keys, state.reservoir_ties, state.reservoir_slots):
            array[: len(keep)] = array[keep]
        state.sizes[RESERVOIR_SIZE] = len(keep)

    def exclude(self, pairs: np.ndarray) -> None:
        """Exclude pairs that were never drawn or queued from all tests."""
        if len(pairs):
            self._reserve(len(pairs))
        self.state.place[self.counts.slots(pairs)] = ACTIVE

    def take(self, pairs: np.ndarray) -> None:
        """Make frozen edges active, when all inactive edges are frozen."""
        slots = self.counts.slots(pairs)
        frozen = self.state.frozen[: self.frozen_size]
        left = frozen[~np.isin(frozen, slots)]
        self.state.frozen[: len(left)] = left
        self.state.sizes[FROZEN_SIZE] = len(left)
        self.state.place[slots] = ACTIVE

    def release(self, pairs: np.ndarray) -> None:
        """Return active edges to the frozen list."""
        for i, j in pairs.tolist():
            slot = self.counts.slot(i, j)
            self.state.frozen[self.state.sizes[FROZEN_SIZE]] = slot
            self.state.sizes[FROZEN_SIZE] += 1
            self.state.place[slot] = FROZEN

    def rescore(self, scoring: Scoring, threshold: float) -> np.ndarray:
        """Update the scores of R after a refit; return the slots moved to L."""
        before = self.frozen_size
        state = self.state
        size = int(state.sizes[RESERVOIR_SIZE])
        self._write_scores(scoring, state.reservoir_slots[:size], state.reservoir_keys)
        restore_reservoir(state, self.counts.store, threshold, self.order, self.capacity)
        return self.state.frozen[before : self.frozen_size].copy()

    def current_scores(self, scoring: Scoring, slots: np.ndarray) -> np.ndarray:
        """Return the current scores of pairs."""
        scores = np.empty(len(slots))
        self._write_scores(scoring, slots, scores)
        return scores

    def inactive_slots(self) -> np.ndarray:
        """Return the slots of inactive pairs that have been tested."""
        state, size = self.state, int(self.counts.store.pairs.size[0])
        tested = state.tested_in[:size] > 0
        return np.flatnonzero(tested & (state.place[:size] != ACTIVE))

    def inactive_scores(
        self, scoring: Scoring, *, is_current: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return slots and scores of all inactive pairs that have been tested.

        Where the drift bounds scores, only those that may be the largest are computed; the others
        are upper bounds.

        Parameters
        ----------
        is_current : bool
            Whether scores without a drift hold since the latest round of tests.
        """
        state, pairs = self.state, self.counts.store.pairs
        slots = self.inactive_slots()
        scores = state.score[slots]
        if len(scoring.drift) == 0 or scoring.is_plain:
            if not is_current:
                self._write_scores(scoring, slots, scores)
            return slots, scores
        first, second = pairs.first[slots], pairs.second[slots]
        drift = 1.0 + scoring.drift[first] + scoring.drift[second] - state.scored_at[slots]
        slack, sizes = state.slack[slots], self.counts.cardinalities
        joint = sizes[first] * sizes[second]
        dimension = np.sqrt(joint) if scoring.unit == ROOT else joint
        # A score that does not violate is a convex function of the drift, λ at its slack.
        share = drift / np.maximum(slack, _TINY)
        bounds = np.where(
            drift <= slack,
            scores + (scoring.lam - scores) * share,
            (state.norm[slots] + drift) / dimension,
        )
        bounds[drift == 0.0] = scores[drift == 0.0]
        state.slack[slots[drift > 0.0]] = 0.0  # so that a score is computed where it is requested
        order = np.argsort(-bounds, kind="stable")
        highest = -np.inf
        for start in range(0, len(order), _AT_ONCE):
            chosen = order[start : start + _AT_ONCE]
            if bounds[chosen[0]] <= highest:
                break
            exact = self.current_scores(scoring, slots[chosen])
            bounds[chosen] = exact
            highest = max(highest, float(exact.max()))
        return slots, bounds

    def _score_ahead(self, scoring: Scoring) -> None:
        """Score all counted pairs whose verdict may have changed, in batches and threads."""
        if not has_batches(scoring):
            return
        state, store = self.state, self.counts.store
        size = int(store.pairs.size[0])
        first, second = store.pairs.first[:size], store.pairs.second[:size]
        at = 1.0 + scoring.drift[first] + scoring.drift[second]
        scored_at = state.scored_at[:size]
        is_certain = (scored_at > 0.0) & (at - scored_at <= state.slack[:size])
        is_free = state.place[:size] != ACTIVE
        stale = np.flatnonzero(~is_certain & is_free & (store.cell_offsets[:size] >= 0))

        def work(slots: np.ndarray) -> None:
            found = np.empty((3, len(slots)))
            pairs = first[slots], second[slots]
            starts = store.cell_offsets[slots]
            score_batch(*pairs, starts, store.cells, self.counts.packed, scoring, found)
            state.score[slots], state.norm[slots], state.slack[slots] = found
            state.scored_at[slots] = at[slots]

        in_threads(work, np.array_split(stale, max(1, len(stale) // _PAIRS_AT_ONCE)))

    def _write_scores(self, scoring: Scoring, slots: np.ndarray, out: np.ndarray) -> None:
        """Write the current scores of `slots` to `out`."""
        packed, store, scratch = self.counts.packed, self.counts.store, self.counts.scratch
        if scoring.is_plain and len(scoring.drift) > 0:
            # Priorities and the threshold τ_α need the scores themselves, so no bounds are used.
            state = self.state
            at = 1.0 + scoring.drift[store.pairs.first[slots]]
            at += scoring.drift[store.pairs.second[slots]]
            stale = slots[state.scored_at[slots] != at]
            found = np.empty(len(stale))
            score_slots(stale, packed, store, scoring, scratch, found)
            state.score[stale], state.scored_at[slots] = found, at
            out[: len(slots)] = state.score[slots]
        elif len(scoring.drift) > 0:
            current_scores(self.state, slots, packed, store, scoring, scratch, out)
        else:
            score_slots(slots, packed, store, scoring, scratch, out)

    def edges(self, slots: np.ndarray) -> np.ndarray:
        """Return the pairs of `slots`, int32, shape (k, 2)."""
        pairs = self.counts.store.pairs
        edges = np.empty((len(slots), 2), dtype=np.int32)
        edges[:, 0], edges[:, 1] = pairs.first[slots], pairs.second[slots]
        return edges

    def log(self) -> tuple[EdgeTests, np.ndarray]:
        """Return the tests in the log and the edges that they displaced from R."""
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

    def _reserve(self, new_pairs: int) -> None:
        """Reserve `new_pairs` slots, their tables, and log entries for one batch."""
        self.counts.reserve(new_pairs)
        slots = len(self.counts.store.cell_offsets)
        self.state = with_capacity(self.state, slots, self.tests_logged + _BATCH)
