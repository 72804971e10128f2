"""Edge tests as kernels: count, score, and admit violating edges to the reservoir (BC alg. 3)."""

from __future__ import annotations

import numpy as np

from graftviz.learning.counts.pair_counts import count_slot
from graftviz.learning.grafting.heap import heapify, push, sift_down
from graftviz.learning.grafting.queue import (
    ENUMERATE_FIRST,
    NO_EDGE,
    enqueue,
    next_edge,
    queue_front,
    random_word,
    refill,
)
from graftviz.learning.grafting.state import (
    BY_SCORE,
    FROZEN,
    FROZEN_SIZE,
    LOG_SIZE,
    N_REFILLS,
    RESERVED,
    RESERVOIR_SIZE,
)
from graftviz.learning.scores.kernels import plain_score, score_slot, score_with_slack
from graftviz.learning.trace import ADMITTED, DISPLACED_MINIMUM, PASSED, TOO_WEAK
from graftviz.utils.compiling import inner_kernel, kernel

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
    """Return the score of a slot, computing it only if its verdict may have changed."""
    if len(scoring.drift) == 0:
        score = score_slot(slot, packed, store, scoring, scratch)
        state.score[slot], state.scored_at[slot] = score, 0.0
        return score
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
