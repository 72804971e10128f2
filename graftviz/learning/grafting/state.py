"""Flat state of the streaming search: queue, reservoir, frozen list, and the log of tests.

Every pair that was drawn has a slot (:mod:`graftviz.learning.counts.pairs`) and is in exactly one
place. Pairs that were never drawn have no slot; their priority is the default ρ₀ = 0, and they are
not stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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
