"""Binary min-heap on three parallel arrays: key, tie-break, slot."""

from __future__ import annotations

import numpy as np

from graftviz.utils.compiling import kernel


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
