"""Edge queue: the order in which inactive edges are tested (BC §3.1.2 and alg. 2).

The order equals that of a full priority queue over all pairs, smallest first, with

    priority(i, j) = base - h_i - h_j,

base is 0 for a pair never tested and v = 1 - s/λ for a pair from the frozen list, and h_i is the
number of times that node i was boosted as a hub. Equal priorities are in random order, except that
stored entries precede pairs that are not stored. Stored are only

* pairs that were drawn before (they have a slot), in a heap, and
* pairs of two hubs.

A pair of a hub and a plain node is drawn by picking the hub with the largest h and a random
partner; a pair of two plain nodes by rejection. When rejection becomes slow, the remaining pairs
are enumerated once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.counts import add_pair
from graftviz.kernels import inner_kernel
from graftviz.pairs import find_slot
from graftviz.search.heap import heapify, pop, push
from graftviz.search.state import (
    BY_CHANCE,
    BY_OFFSET,
    BY_SCORE,
    CLOSED,
    FROZEN_SIZE,
    HUB_AT,
    N_HUBS,
    N_PLAIN,
    QUEUE_SIZE,
    QUEUED,
    REMAINDER_LISTED,
    REMAINDER_SIZE,
    SCREENED,
)

NO_EDGE = -1
ENUMERATE_FIRST = -2
_TRIES = 64


@njit(cache=True, nogil=True)
def random_word(random):
    """Return the next 64 random bits (splitmix64); `random` is the generator's state."""
    z = random[0] + np.uint64(0x9E3779B97F4A7C15)
    random[0] = z
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def random_below(random, bound):
    """Return a random integer in 0 … bound - 1."""
    # 53 scaled random bits: for all bounds in use the bias is below 1e-8.
    return np.int64(np.float64(random_word(random) >> np.uint64(11)) * (2.0**-53) * bound)


@inner_kernel
def _store(state, store, i, j):
    slot = add_pair(store, i, j)
    state.undrawn[i] -= 1
    state.undrawn[j] -= 1
    return slot


@inner_kernel
def undrawn_pairs(state, store):
    """Return the number of pairs without a slot that may be drawn."""
    if state.sizes[CLOSED]:
        return 0
    n = len(state.boosts)
    return n * (n - 1) // 2 - store.pairs.size[0]


@inner_kernel
def _priority(state, store, slot, lam, order):
    """Return base - h_i - h_j; base is 0 if never tested (or in random order), else v."""
    boost = state.boosts[store.pairs.first[slot]] + state.boosts[store.pairs.second[slot]]
    if state.tested_in[slot] == 0 or order == BY_CHANCE:
        return -float(boost)
    return 1.0 - state.score[slot] / lam - boost


@inner_kernel
def next_edge(state, store):
    """Remove the first edge from the queue.

    Returns
    -------
    int
        Its slot, or NO_EDGE (the queue is empty and every pair has a slot), or ENUMERATE_FIRST
        (call `enumerate_remainder`, then repeat).
    """
    _skip_exhausted_hubs(state)
    queued = state.sizes[QUEUE_SIZE]
    hub_at = state.sizes[HUB_AT]
    hub_left = hub_at < state.sizes[N_HUBS]
    undrawn_best = 0.0 if not hub_left else -float(state.boosts[state.hubs[hub_at]])
    any_undrawn = undrawn_pairs(state, store) > 0
    if queued > 0 and (not any_undrawn or state.queue_keys[0] <= undrawn_best):
        state.sizes[QUEUE_SIZE] = queued - 1
        return pop(state.queue_keys, state.queue_ties, state.queue_slots, queued)
    if not any_undrawn:
        return NO_EDGE
    if hub_left:
        return _draw_at_hub(state, store)
    return _draw_plain(state, store)


@inner_kernel
def _skip_exhausted_hubs(state):
    """Advance to the first hub that still has a partner without a slot."""
    while state.sizes[HUB_AT] < state.sizes[N_HUBS]:
        if state.undrawn[state.hubs[state.sizes[HUB_AT]]] > 0:
            return
        state.sizes[HUB_AT] += 1


@inner_kernel
def _draw_at_hub(state, store):
    """Draw a random undrawn pair at one of the hubs with the largest h."""
    start = state.sizes[HUB_AT]
    top = state.boosts[state.hubs[start]]
    stop = start
    while stop < state.sizes[N_HUBS] and state.boosts[state.hubs[stop]] == top:
        stop += 1
    hub = state.hubs[start]
    for _ in range(_TRIES):
        candidate = state.hubs[start + random_below(state.random, stop - start)]
        if state.undrawn[candidate] > 0:
            hub = candidate
            break
    n = len(state.boosts)
    for _ in range(_TRIES):
        partner = random_below(state.random, n)
        if partner != hub and find_slot(store.pairs, hub, partner) < 0:
            return _store(state, store, hub, partner)
    # Few partners remain: pick the k-th of them.
    skip = random_below(state.random, state.undrawn[hub])
    for partner in range(n):
        if partner != hub and find_slot(store.pairs, hub, partner) < 0:
            if skip == 0:
                return _store(state, store, hub, partner)
            skip -= 1
    return NO_EDGE


@inner_kernel
def _draw_plain(state, store):
    """Draw a random undrawn pair of plain nodes; all pairs at hubs must have slots."""
    n = len(state.boosts)
    if state.sizes[REMAINDER_LISTED] == 0:
        plain, random, count = state.plain, state.random, state.sizes[N_PLAIN]
        for _ in range(_TRIES):
            i, j = plain[random_below(random, count)], plain[random_below(random, count)]
            if i != j and find_slot(store.pairs, i, j) < 0:
                return _store(state, store, i, j)
        return ENUMERATE_FIRST
    while state.sizes[REMAINDER_SIZE] > 0:
        at = random_below(state.random, state.sizes[REMAINDER_SIZE])
        key = state.remainder[at]
        last = state.sizes[REMAINDER_SIZE] - 1
        state.remainder[at] = state.remainder[last]
        state.sizes[REMAINDER_SIZE] = last
        # Some of the remainder may have been drawn since, at a node that became a hub.
        if find_slot(store.pairs, key // n, key % n) < 0:
            return _store(state, store, key // n, key % n)
    return NO_EDGE


@njit(cache=True, nogil=True)
def enumerate_remainder(state, store):
    """List all pairs without a slot in `state.remainder`, which must be large enough."""
    n = len(state.boosts)
    size = 0
    for i in range(n):
        if state.undrawn[i] == 0:
            continue
        for j in range(i + 1, n):
            if find_slot(store.pairs, i, j) < 0:
                state.remainder[size] = i * n + j
                size += 1
    state.sizes[REMAINDER_SIZE] = size
    state.sizes[REMAINDER_LISTED] = 1


@inner_kernel
def enqueue(state, store, slot, lam, order):
    """Add a slot to the queue at its current priority."""
    key = _priority(state, store, slot, lam, order)
    size = state.sizes[QUEUE_SIZE]
    tie = random_word(state.random)
    push(state.queue_keys, state.queue_ties, state.queue_slots, size, key, tie, slot)
    state.sizes[QUEUE_SIZE] = size + 1
    state.place[slot] = QUEUED


@njit(cache=True, nogil=True)
def enqueue_all_pairs(state, store, lam):
    """Store every pair in the queue at the default priority (full queue, BC app. B)."""
    n = len(state.boosts)
    for i in range(n):
        for j in range(i + 1, n):
            if find_slot(store.pairs, i, j) < 0:
                enqueue(state, store, _store(state, store, i, j), lam, BY_OFFSET)


@njit(cache=True, nogil=True)
def store_all_pairs(state, store):
    """Assign a slot to every pair in lexicographic order; no pair may have one before."""
    n = len(state.boosts)
    for i in range(n):
        for j in range(i + 1, n):
            _store(state, store, i, j)


@njit(cache=True, nogil=True)
def store_pairs(state, store, pairs):
    """Assign a slot to each of `pairs`, and draw no others."""
    for k in range(len(pairs)):
        _store(state, store, np.int64(pairs[k, 0]), np.int64(pairs[k, 1]))
    state.sizes[CLOSED] = 1


@njit(cache=True, nogil=True)
def enqueue_screened(state, store, lam):
    """Add every pair to the queue by its stored score, though none was tested yet."""
    for slot in range(store.pairs.size[0]):
        state.tested_in[slot] = SCREENED
        enqueue(state, store, slot, lam, BY_SCORE)


@inner_kernel
def refill(state, store, round_number, lam, order):
    """Move the frozen list back to the queue, except for edges tested in this round.

    Returns
    -------
    int
        Number of edges moved.
    """
    remaining, moved = 0, 0
    for k in range(state.sizes[FROZEN_SIZE]):
        slot = state.frozen[k]
        if state.tested_in[slot] == round_number:
            state.frozen[remaining] = slot
            remaining += 1
        else:
            enqueue(state, store, slot, lam, order)
            moved += 1
    state.sizes[FROZEN_SIZE] = remaining
    return moved


@njit(cache=True, nogil=True)
def boost_hubs(state, store, is_hub, cumulative, lam, order):
    """Raise the priority of all inactive edges at hubs by one (alg. 2), at every step or once.

    The caller has reserved slots for the pairs between new hubs and all hubs.
    """
    n = len(state.boosts)
    old_hubs = state.sizes[N_HUBS]
    changed = False
    for i in range(n):
        if not is_hub[i] or (state.boosts[i] > 0 and not cumulative):
            continue
        changed = True
        state.boosts[i] += 1
        if state.boosts[i] > 1:
            continue
        for k in range(state.sizes[N_HUBS]):
            other = state.hubs[k]
            if not state.sizes[CLOSED] and find_slot(store.pairs, i, other) < 0:
                enqueue(state, store, _store(state, store, i, other), lam, order)
        state.hubs[state.sizes[N_HUBS]] = i
        state.sizes[N_HUBS] += 1
    state.sizes[HUB_AT] = 0
    if not changed:
        return
    if state.sizes[N_HUBS] != old_hubs:
        plain = 0
        for i in range(n):
            if state.boosts[i] == 0:
                state.plain[plain] = i
                plain += 1
        state.sizes[N_PLAIN] = plain
    _sort_hubs(state)
    _rekey(
        state.queue_keys,
        state.queue_slots,
        state.sizes[QUEUE_SIZE],
        state.score,
        state.tested_in,
        state.boosts,
        store.pairs.first,
        store.pairs.second,
        lam,
        order,
    )
    heapify(state.queue_keys, state.queue_ties, state.queue_slots, state.sizes[QUEUE_SIZE])


@inner_kernel
def _rekey(keys, slots, size, score, tested_in, boosts, first, second, lam, order):
    """Recompute the priority of every queue entry; it takes plain arrays for speed."""
    for k in range(size):
        slot = slots[k]
        base = 0.0 if tested_in[slot] == 0 or order == BY_CHANCE else 1.0 - score[slot] / lam
        keys[k] = base - boosts[first[slot]] - boosts[second[slot]]


@inner_kernel
def _sort_hubs(state):
    """Sort hubs by decreasing h, ties in random order."""
    count = state.sizes[N_HUBS]
    for k in range(count - 1, 0, -1):
        other = random_below(state.random, k + 1)
        state.hubs[k], state.hubs[other] = state.hubs[other], state.hubs[k]
    hubs, boosts = state.hubs, state.boosts
    for k in range(1, count):  # insertion sort, which is stable: hubs are few
        hub, at = hubs[k], k
        while at > 0 and boosts[hubs[at - 1]] < boosts[hub]:
            hubs[at] = hubs[at - 1]
            at -= 1
        hubs[at] = hub
