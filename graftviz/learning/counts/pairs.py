"""Map from pairs of variables to consecutive slots: open addressing on flat arrays.

Most pairs of a large model are never used, so memory is proportional to the number of stored pairs
and not quadratic in the number of variables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import kernel

EMPTY = -1
_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive keys


class PairMap(NamedTuple):
    """Kernel-side state of the map; slot k holds the pair (first[k], second[k]), first < second.

    Attributes
    ----------
    keys : int64 array, power of two
        first · n + second, or -1.
    slots : int32 array, same length
    first, second : int32 arrays, one entry per slot (capacity)
    size : int64 array, shape (1,)
        Number of slots in use.
    n : int
        Number of variables.
    """

    keys: np.ndarray
    slots: np.ndarray
    first: np.ndarray
    second: np.ndarray
    size: np.ndarray
    n: int


def new_pair_map(n: int, capacity: int = 256) -> PairMap:
    """Return an empty map for pairs of `n` variables with a capacity of `capacity` pairs."""
    table = 1 << max(4, int(2 * capacity - 1).bit_length())
    return PairMap(
        keys=np.full(table, EMPTY, dtype=np.int64),
        slots=np.zeros(table, dtype=np.int32),
        first=np.zeros(capacity, dtype=np.int32),
        second=np.zeros(capacity, dtype=np.int32),
        size=np.zeros(1, dtype=np.int64),
        n=n,
    )


def grown_pair_map(pairs: PairMap, capacity: int) -> PairMap:
    """Return a map with the same slots and a capacity of at least `capacity` pairs."""
    if capacity <= len(pairs.first):
        return pairs
    doubled = min(2 * len(pairs.first), pairs.n * (pairs.n - 1) // 2)
    larger = new_pair_map(pairs.n, max(capacity, doubled))
    _reinsert(pairs, larger)
    return larger


@kernel(inline="always")
def _home(key, mask):
    return np.int64((np.uint64(key) * _FIBONACCI) >> np.uint64(20)) & mask


@kernel
def find_slot(pairs, i, j):
    """Return the slot of the pair {i, j}, or -1."""
    # Extracting an array from a tuple costs a reference count: once here, not at every probe.
    keys = pairs.keys
    key = np.int64(i) * pairs.n + j if i < j else np.int64(j) * pairs.n + i
    mask = len(keys) - 1
    at = _home(key, mask)
    while keys[at] != EMPTY:
        if keys[at] == key:
            return np.int64(pairs.slots[at])
        at = (at + 1) & mask
    return np.int64(EMPTY)


@kernel
def insert_pair(pairs, i, j):
    """Store the pair {i, j}, which must be absent, and return its new slot.

    The caller must have reserved capacity; as tables are at most half full, probes are short.
    """
    if i > j:
        i, j = j, i
    keys = pairs.keys
    key = np.int64(i) * pairs.n + j
    mask = len(keys) - 1
    at = _home(key, mask)
    while keys[at] != EMPTY:
        at = (at + 1) & mask
    slot = pairs.size[0]
    keys[at] = key
    pairs.slots[at] = slot
    pairs.first[slot] = i
    pairs.second[slot] = j
    pairs.size[0] = slot + 1
    return slot


@kernel
def _reinsert(old, new):
    for slot in range(old.size[0]):
        insert_pair(new, np.int64(old.first[slot]), np.int64(old.second[slot]))
