"""Edge queue: the order in which inactive edges are tested (BC §3.1.2 and alg. 2).

The order equals that of a full priority queue over all pairs, smallest first, with

    priority(i, j) = base - h_i - h_j,

base is 0 for a pair never tested and v = 1 - s/λ for a pair from the frozen list, and h_i is the
number of times that node i was boosted as a hub. Equal priorities are in random order, except that
stored entries precede pairs that are not stored.

A boost raises all hubs by one, so the order of pairs with the same number c of hubs stays the same.
There is one heap for each c, with keys priority + c T, where T is the number of boosts: a boost
changes only the keys of pairs at nodes that have become a hub, or no longer are. Stored are only

* pairs that were drawn before (they have a slot), in a heap, and
* pairs of two hubs.

A pair of a hub and a plain node is drawn by picking the hub with the largest h and a random
partner; a pair of two plain nodes by rejection. When rejection becomes slow, the remaining pairs
are enumerated once.

Flat state of the streaming search: queue, reservoir, frozen list, and the log of tests.

Every pair that was drawn has a slot (:mod:`graftviz.learning.counts.pair_counts`) and is in exactly
one place. Pairs that were never drawn have no slot; their priority is the default ρ₀ = 0, and they
are not stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graftviz.learning.counts.pair_counts import add_pair, find_slot
from graftviz.utils.compiling import inner_kernel, kernel


@kernel(inline="always")
def _before(keys, ties, a, b):
    return keys[a] < keys[b] or (keys[a] == keys[b] and ties[a] < ties[b])


@kernel(inline="always")
def _swap(keys, ties, slots, a, b):
    keys[a], keys[b] = keys[b], keys[a]
    ties[a], ties[b] = ties[b], ties[a]
    slots[a], slots[b] = slots[b], slots[a]


@kernel
def sift_up(keys, ties, slots, at):
    """Restore the heap after entry `at` got smaller (or was appended)."""
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(keys, ties, at, parent):
            return
        _swap(keys, ties, slots, at, parent)
        at = parent


@kernel
def sift_down(keys, ties, slots, at, size):
    """Restore the heap after entry `at` got larger."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _before(keys, ties, child + 1, child):
            child += 1
        if not _before(keys, ties, child, at):
            return
        _swap(keys, ties, slots, at, child)
        at = child


@kernel
def heapify(keys, ties, slots, size):
    """Make a heap of the first `size` entries, in linear time."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(keys, ties, slots, at, size)


@kernel
def push(keys, ties, slots, size, key, tie, slot):
    """Append an entry to a heap of `size` entries; the caller updates the size."""
    keys[size], ties[size], slots[size] = key, tie, slot
    sift_up(keys, ties, slots, size)


@kernel
def pop(keys, ties, slots, size):
    """Remove the smallest entry and return its slot; the caller updates the size."""
    slot = slots[0]
    last = size - 1
    keys[0], ties[0], slots[0] = keys[last], ties[last], slots[last]
    sift_down(keys, ties, slots, np.int64(0), last)
    return slot


# Value of `tested_in` of a pair that was never tested but has a score for its priority.
SCREENED = -1

# Orders in which tested pairs are tested again: at random (first hit), by their offsets once the
# queue is empty (BC), or always by their latest scores (after screening).
BY_CHANCE, BY_OFFSET, BY_SCORE = 0, 1, 2

# Places of a slot.
QUEUED, RESERVED, FROZEN, ACTIVE = 1, 2, 3, 4

# Positions in `sizes`.
QUEUE_SIZES, RESERVOIR_SIZE, FROZEN_SIZE, LOG_SIZE = 0, 3, 4, 5  # one queue size per heap
N_HUBS, HUB_AT, N_PLAIN, REMAINDER_SIZE, REMAINDER_LISTED = 6, 7, 8, 9, 10
N_REFILLS, CLOSED, N_BOOSTS = 11, 12, 13
_N_SIZES = 14
HEAPS = 3  # of the queue: of the pairs with no, one, and two hubs


class SearchState(NamedTuple):
    """Kernel-side state; arrays "per slot" grow with the number of drawn pairs.

    Attributes
    ----------
    score : float64, per slot
        The latest score.
    scored_at : float64, per slot
        1 + drift_i + drift_j when it was computed, if the scoring has a drift; 0: unknown.
    norm, slack : float64, per slot
        The norm at that time, and the drift up to which the pair provably does not violate; 0 if it
        violates. See :func:`graftviz.learning.scores.kernels.slack_of`.
    place : int8, per slot
    tested_in : int32, per slot
        Round of the latest test, from 1; 0: never tested; SCREENED: never tested either.
    queue_keys, queue_ties, queue_slots : arrays of shape (1 or HEAPS, slots)
        Min-heaps of priorities, see :mod:`graftviz.learning.grafting.queue`; ties are random.
    reservoir_keys, reservoir_ties, reservoir_slots : arrays of length |R|
        Min-heap of scores.
    frozen : int64, per slot
        Slots in the frozen list L; the priority v_e = 1 - s_e / λ follows from `score`.
    boosts : int64, shape (n,)
        h_i: number of boosts of node i; an edge's priority is base - h_i - h_j.
    is_hub : int64, shape (n,)
        1 for the nodes that the latest boost of N_BOOSTS raised, and may raise again; else 0.
    undrawn : int64, shape (n,)
        Number of pairs of node i without a slot.
    hubs, plain : int64, shape (n,)
        Nodes with h > 0, largest first, ties shuffled; nodes with h = 0.
    remainder : int64
        Keys i · n + j of the pairs without a slot, listed once few remain.
    log_slots, log_scores, log_verdicts, log_displaced : arrays
        Tests of the current step; `log_displaced` is the slot displaced from R, or -1.
    sizes : int64
        Fill levels and counters, at the positions named in this module; CLOSED is 1 if pairs
        without a slot are not drawn.
    random : uint64, shape (1,)
        State of the random generator.
    """

    score: np.ndarray
    scored_at: np.ndarray
    norm: np.ndarray
    slack: np.ndarray
    place: np.ndarray
    tested_in: np.ndarray
    queue_keys: np.ndarray
    queue_ties: np.ndarray
    queue_slots: np.ndarray
    reservoir_keys: np.ndarray
    reservoir_ties: np.ndarray
    reservoir_slots: np.ndarray
    frozen: np.ndarray
    boosts: np.ndarray
    is_hub: np.ndarray
    undrawn: np.ndarray
    hubs: np.ndarray
    plain: np.ndarray
    remainder: np.ndarray
    log_slots: np.ndarray
    log_scores: np.ndarray
    log_verdicts: np.ndarray
    log_displaced: np.ndarray
    sizes: np.ndarray
    random: np.ndarray


_PER_SLOT: dict[str, Any] = {
    "score": np.float64,
    "scored_at": np.float64,
    "norm": np.float64,
    "slack": np.float64,
    "place": np.int8,
    "tested_in": np.int32,
    "frozen": np.int64,
}
_QUEUE: dict[str, Any] = {
    "queue_keys": np.float64,
    "queue_ties": np.uint64,
    "queue_slots": np.int64,
}
_LOG: dict[str, Any] = {
    "log_slots": np.int64,
    "log_scores": np.float64,
    "log_verdicts": np.int8,
    "log_displaced": np.int64,
}


def new_search_state(n: int, reservoir: int, seed: int) -> SearchState:
    """Return the state before the first test, with every pair at default priority."""
    sizes = np.zeros(_N_SIZES, dtype=np.int64)
    sizes[N_PLAIN] = n
    start = np.random.default_rng(seed).integers(0, 2**63, size=1, dtype=np.int64)
    per_slot = {name: np.zeros(0, dtype=kind) for name, kind in _PER_SLOT.items()}
    queue = {name: np.zeros((1, 0), dtype=kind) for name, kind in _QUEUE.items()}
    log = {name: np.zeros(0, dtype=kind) for name, kind in _LOG.items()}
    return SearchState(
        reservoir_keys=np.zeros(reservoir),
        reservoir_ties=np.zeros(reservoir, dtype=np.uint64),
        reservoir_slots=np.zeros(reservoir, dtype=np.int64),
        boosts=np.zeros(n, dtype=np.int64),
        is_hub=np.zeros(n, dtype=np.int64),
        undrawn=np.full(n, n - 1, dtype=np.int64),
        hubs=np.zeros(n, dtype=np.int64),
        plain=np.arange(n, dtype=np.int64),
        remainder=np.zeros(0, dtype=np.int64),
        sizes=sizes,
        random=start.astype(np.uint64),
        **per_slot,
        **queue,
        **log,
    )


def with_capacity(state: SearchState, slots: int, log: int) -> SearchState:
    """Return the state with arrays enlarged to at least `slots` slots and `log` log entries."""
    larger = {}
    if slots > len(state.score):
        for name, kind in _PER_SLOT.items():
            larger[name] = _longer(getattr(state, name), slots, kind)
        larger |= _queue(state, len(state.queue_keys), slots)
    if log > len(state.log_slots):
        for name, kind in _LOG.items():
            larger[name] = _longer(getattr(state, name), max(log, 2 * len(state.log_slots)), kind)
    return state._replace(**larger) if larger else state


def with_hub_heaps(state: SearchState) -> SearchState:
    """Return the state with heaps for the pairs with hubs, which runs without the rule lack."""
    if len(state.queue_keys) == HEAPS:
        return state
    return state._replace(**_queue(state, HEAPS, len(state.score)))


def _queue(state: SearchState, heaps: int, slots: int) -> dict[str, np.ndarray]:
    """Return copies of the queue's arrays in a larger shape."""
    arrays = {}
    for name, kind in _QUEUE.items():
        array = getattr(state, name)
        arrays[name] = np.zeros((heaps, slots), dtype=kind)
        arrays[name][: len(array), : array.shape[1]] = array
    return arrays


def _longer(array: np.ndarray, length: int, kind: Any) -> np.ndarray:
    grown: np.ndarray = np.zeros(length, dtype=kind)
    grown[: len(array)] = array
    return grown


NO_EDGE = -1
ENUMERATE_FIRST = -2
_TRIES = 64


@kernel
def random_word(random):
    """Return the next 64 random bits (splitmix64); `random` is the generator's state."""
    z = random[0] + np.uint64(0x9E3779B97F4A7C15)
    random[0] = z
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
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
def _place_in_queue(state, store, slot, lam, order):
    """Return the heap and the key of a slot; base is 0 if never tested (or in random order)."""
    i, j = store.pairs.first[slot], store.pairs.second[slot]
    hubs = state.is_hub[i] + state.is_hub[j]
    boost = state.boosts[i] + state.boosts[j] - hubs * state.sizes[N_BOOSTS]
    if state.tested_in[slot] == 0 or order == BY_CHANCE:
        return hubs, -float(boost)
    return hubs, 1.0 - state.score[slot] / lam - boost


@inner_kernel
def queue_front(state):
    """Return the heap with the first edge of the queue (-1: empty) and the priority of the edge."""
    found, least, tie = -1, np.inf, np.uint64(0)
    for heap in range(len(state.queue_keys)):
        if state.sizes[QUEUE_SIZES + heap] == 0:
            continue
        key = state.queue_keys[heap, 0] - heap * state.sizes[N_BOOSTS]
        if key < least or (key == least and state.queue_ties[heap, 0] < tie):
            found, least, tie = heap, key, state.queue_ties[heap, 0]
    return found, least


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
    heap, priority = queue_front(state)
    hub_at = state.sizes[HUB_AT]
    hub_left = hub_at < state.sizes[N_HUBS]
    undrawn_best = 0.0 if not hub_left else -float(state.boosts[state.hubs[hub_at]])
    any_undrawn = undrawn_pairs(state, store) > 0
    if heap >= 0 and (not any_undrawn or priority <= undrawn_best):
        queued = state.sizes[QUEUE_SIZES + heap]
        state.sizes[QUEUE_SIZES + heap] = queued - 1
        return pop(state.queue_keys[heap], state.queue_ties[heap], state.queue_slots[heap], queued)
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


@kernel
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
    _insert(state, store, slot, random_word(state.random), lam, order)
    state.place[slot] = QUEUED


@inner_kernel
def _insert(state, store, slot, tie, lam, order):
    heap, key = _place_in_queue(state, store, slot, lam, order)
    size = state.sizes[QUEUE_SIZES + heap]
    keys, ties, slots = state.queue_keys[heap], state.queue_ties[heap], state.queue_slots[heap]
    push(keys, ties, slots, size, key, tie, slot)
    state.sizes[QUEUE_SIZES + heap] = size + 1


@kernel
def enqueue_all_pairs(state, store, lam):
    """Store every pair in the queue at the default priority (full queue, BC app. B)."""
    n = len(state.boosts)
    for i in range(n):
        for j in range(i + 1, n):
            if find_slot(store.pairs, i, j) < 0:
                enqueue(state, store, _store(state, store, i, j), lam, np.int64(BY_OFFSET))


@kernel
def store_all_pairs(state, store):
    """Assign a slot to every pair in lexicographic order; no pair may have one before."""
    n = len(state.boosts)
    for i in range(n):
        for j in range(i + 1, n):
            _store(state, store, i, j)


@kernel
def store_pairs(state, store, pairs):
    """Assign a slot to each of `pairs`, and draw no others."""
    for k in range(len(pairs)):
        _store(state, store, np.int64(pairs[k, 0]), np.int64(pairs[k, 1]))
    state.sizes[CLOSED] = 1


@kernel
def enqueue_screened(state, store, lam):
    """Add every pair to the queue by its stored score, though none was tested yet."""
    for slot in range(store.pairs.size[0]):
        state.tested_in[slot] = SCREENED
        # As a constant of Python, the order would have numba compile `enqueue` again.
        enqueue(state, store, slot, lam, np.int64(BY_SCORE))


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


@kernel
def boost_hubs(state, store, is_hub, lam, order):
    """Raise the priority of all inactive edges at hubs by one (alg. 2).

    The caller has reserved slots for the pairs between new hubs and all hubs, and three heaps.
    """
    n = len(state.boosts)
    state.sizes[HUB_AT] = 0
    state.sizes[N_BOOSTS] += 1
    changed, first_new = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    boosted, any_changed = False, False
    for i in range(n):
        if is_hub[i]:
            first_new[i] = state.boosts[i] == 0
            state.boosts[i] += 1
            boosted = True
        changed[i] = state.is_hub[i] != is_hub[i]
        any_changed |= changed[i]
        state.is_hub[i] = is_hub[i]
    if any_changed:
        _move_entries(state, store, changed, lam, order)
    if not boosted:
        return
    for i in range(n):
        if not first_new[i]:
            continue
        for k in range(state.sizes[N_HUBS]):
            other = state.hubs[k]
            if not state.sizes[CLOSED] and find_slot(store.pairs, i, other) < 0:
                enqueue(state, store, _store(state, store, i, other), lam, order)
        state.hubs[state.sizes[N_HUBS]] = i
        state.sizes[N_HUBS] += 1
    if first_new.any():
        plain = 0
        for i in range(n):
            if state.boosts[i] == 0:
                state.plain[plain] = i
                plain += 1
        state.sizes[N_PLAIN] = plain
    _sort_hubs(state)


@inner_kernel
def _move_entries(state, store, changed, lam, order):
    """Move the queue entries at changed nodes to the place of their new priority."""
    first, second = store.pairs.first, store.pairs.second
    total = 0
    for heap in range(len(state.queue_keys)):
        total += state.sizes[QUEUE_SIZES + heap]
    moved, moved_ties = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.uint64)
    count = 0
    for heap in range(len(state.queue_keys)):
        keys, ties, slots = state.queue_keys[heap], state.queue_ties[heap], state.queue_slots[heap]
        size, remaining = state.sizes[QUEUE_SIZES + heap], 0
        for k in range(size):
            slot = slots[k]
            if changed[first[slot]] or changed[second[slot]]:
                moved[count], moved_ties[count] = slot, ties[k]
                count += 1
            else:
                keys[remaining], ties[remaining], slots[remaining] = keys[k], ties[k], slot
                remaining += 1
        if remaining < size:
            heapify(keys, ties, slots, np.int64(remaining))
        state.sizes[QUEUE_SIZES + heap] = remaining
    for k in range(count):
        _insert(state, store, moved[k], moved_ties[k], lam, order)


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
