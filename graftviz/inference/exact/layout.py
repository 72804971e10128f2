"""Memory layout of all tables, planned before any allocation.

All tables are stored in one array. The upward pass computes messages in the order of elimination;
the downward pass computes marginals in reverse order, and each of its steps needs the messages that
its clique received. So either all messages are stored, or, when memory is short, the order is cut
into segments: only the messages that cross into a segment are stored, and those inside it are
recomputed when the downward pass reaches it. That costs one more upward pass, for any number of
segments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import inner_kernel, kernel

_MOST_LARGE = 4000  # largest number of tables that are stored in holes of variable size
_LEEWAYS = (0.0, 0.4)  # share of a segment by which a cut may be moved
_STEPS = 8  # slot sizes per power of two
_HOLES, _HOLE_END, _SLOTS, _SLOT_END, _SPARE = range(5)
_SEGMENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class Layout(NamedTuple):
    """Offsets of all tables in one array.

    Attributes
    ----------
    bounds : int64 array, shape (segments + 1,)
        Boundaries of the segments of the order.
    first, again, belief : int64 arrays, shape (n,)
        Offsets of the message of each place in the upward pass, of the message when it is
        recomputed (-1: it is not), and of the belief in the downward pass.
    entries : int
        Length of the array.
    """

    bounds: np.ndarray
    first: np.ndarray
    again: np.ndarray
    belief: np.ndarray
    entries: int


class _FreeList(NamedTuple):
    """Free space during allocation, for the kernels.

    Attributes
    ----------
    hole_at, hole_end : int64 arrays
        Bounds of the holes for large tables, ascending; the last hole is unbounded.
    free_slot : int64 array, one per kind of small table
        Index of the first free slot; -1: none.
    slot_at, next_slot : int64 arrays
        Offset of each free slot, and the next free slot of its kind.
    counts : int64 array, shape (5,)
        Number of holes, end of the space used by large tables, number of slot entries, end of the
        space used by slots, first spare slot entry.
    """

    hole_at: np.ndarray
    hole_end: np.ndarray
    free_slot: np.ndarray
    slot_at: np.ndarray
    next_slot: np.ndarray
    counts: np.ndarray


def lay_out(parent: np.ndarray, sizes: np.ndarray, most_entries: float) -> Layout:
    """Return the layout with the fewest segments that fits into `most_entries` entries.

    If none does, return the smallest one.

    Parameters
    ----------
    parent : int64 array, shape (n,)
        The place that receives each message, later in the order; -1 at roots.
    sizes : int64 array, shape (n,)
        Number of entries of each message.
    most_entries : float
    """
    cuts = ((segments, leeway) for segments in _SEGMENTS for leeway in _LEEWAYS)
    best = _layout(parent, sizes, 1, 0.0)
    for segments, leeway in cuts:
        if best.entries <= most_entries:
            break
        found = _layout(parent, sizes, segments, leeway)
        if found.entries < best.entries:
            best = found
    return best


def _layout(parent: np.ndarray, sizes: np.ndarray, segments: int, leeway: float) -> Layout:
    bounds = _cut(parent, sizes, segments, leeway)
    return Layout(bounds, *_place(parent, sizes, bounds))


@kernel
def _cut(parent, sizes, segments, leeway):
    """Cut the order into segments whose messages take about the same space.

    Each cut is moved, by at most `leeway` of a segment, to where the messages that cross it, which
    must be stored, are smallest.
    """
    n = len(parent)
    bounds = np.empty(segments + 1, dtype=np.int64)
    bounds[0], bounds[segments] = 0, n
    crossing, total = np.zeros(n + 1), 0.0
    for k in range(n):
        total += sizes[k]
        crossing[k + 1] += crossing[k] + (sizes[k] if parent[k] >= 0 else 0)
        if parent[k] >= 0:
            crossing[parent[k] + 1] -= sizes[k]
    done, at = 0.0, 0
    for g in range(1, segments):
        while at < n and done < total * (g - leeway) / segments:
            done += sizes[at]
            at += 1
        bounds[g] = at
        while at < n and done < total * (g + leeway) / segments:
            done += sizes[at]
            at += 1
            if crossing[at] <= crossing[bounds[g]]:
                bounds[g] = at
    return bounds


def _place(
    parent: np.ndarray, sizes: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the last four fields of :class:`Layout`."""
    large = max(int(sizes.sum()) // _MOST_LARGE, 1)
    # Sizes of small tables are rounded up to few values, so that tables can reuse slots.
    exponent = np.maximum(np.ceil(np.log2(sizes) * _STEPS), 0).astype(np.int64)
    rounded = np.maximum(np.floor(2.0 ** (np.arange(exponent.max() + 1) / _STEPS)), 1)
    room = np.maximum(rounded[exponent].astype(np.int64), sizes)
    kinds, kind = np.unique(np.where(sizes <= large, room, -1), return_inverse=True)
    starts = np.searchsorted(np.sort(parent), np.arange(-1, len(parent) + 1))
    children = np.argsort(parent, kind="stable")
    kind = np.where(kinds[kind] < 0, -1, kind).astype(np.int64)
    found = _allocate(parent, sizes, bounds, starts.astype(np.int64), children, kinds, kind)
    return found[0], found[1], found[2], int(found[3])


@kernel
def _allocate(parent, sizes, bounds, starts, children, kinds, kind):
    """Assign an offset to every table for its lifetime.

    Small tables, which have a kind, are stored in slots of their kind's size, large ones in holes.
    """
    n, last = len(parent), len(bounds) - 2
    segment = np.empty(n, dtype=np.int64)
    for g in range(last + 1):
        segment[bounds[g] : bounds[g + 1]] = g
    first, again = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    belief = np.full(n, -1, dtype=np.int64)
    free = _FreeList(
        np.empty(3 * n + 8, dtype=np.int64),
        np.empty(3 * n + 8, dtype=np.int64),
        np.full(len(kinds), -1, dtype=np.int64),
        np.empty(3 * n + 8, dtype=np.int64),
        np.empty(3 * n + 8, dtype=np.int64),
        np.zeros(5, dtype=np.int64),
    )
    free.hole_at[0], free.hole_end[0] = 0, np.int64(2**62)
    free.counts[_HOLES], free.counts[_SPARE] = 1, -1
    for k in range(n):
        first[k] = _reserve(free, kinds, kind[k], sizes[k])
        if segment[k] != last:
            for at in range(starts[k + 1], starts[k + 2]):
                c = children[at]
                if segment[c] == segment[k]:
                    _release(free, kind[c], first[c], sizes[c])
    for g in range(last, -1, -1):
        if g != last:
            for k in range(bounds[g], bounds[g + 1]):
                if parent[k] >= 0 and segment[parent[k]] == g:
                    again[k] = _reserve(free, kinds, kind[k], sizes[k])
        for k in range(bounds[g + 1] - 1, bounds[g] - 1, -1):
            if parent[k] < 0:
                belief[k] = _reserve(free, kinds, kind[k], sizes[k])
            for at in range(starts[k + 1], starts[k + 2]):
                belief[children[at]] = _reserve(
                    free, kinds, kind[children[at]], sizes[children[at]]
                )
            for at in range(starts[k + 1], starts[k + 2]):
                c = children[at]
                _release(free, kind[c], again[c] if again[c] >= 0 else first[c], sizes[c])
            _release(free, kind[k], belief[k], sizes[k])
    # Slots precede the holes, so large tables are shifted behind all slots.
    slots = free.counts[_SLOT_END]
    for k in range(n):
        if kind[k] < 0:
            first[k] += slots
            belief[k] += slots
            again[k] += slots if again[k] >= 0 else 0
    return first, again, belief, slots + free.counts[_HOLE_END]


@inner_kernel
def _reserve(free, kinds, kind, size):
    """Allocate space for a table; return its offset."""
    if kind >= 0:
        slot = free.free_slot[kind]
        if slot >= 0:
            free.free_slot[kind] = free.next_slot[slot]
            at = free.slot_at[slot]
            free.next_slot[slot] = free.counts[_SPARE]  # the entry itself can be reused
            free.counts[_SPARE] = slot
            return at
        at = free.counts[_SLOT_END]
        free.counts[_SLOT_END] += kinds[kind]
        return at
    hole_at, hole_end, holes = free.hole_at, free.hole_end, free.counts[_HOLES]
    h = 0
    while hole_end[h] - hole_at[h] < size:
        h += 1
    at = hole_at[h]
    hole_at[h] += size
    free.counts[_HOLE_END] = max(free.counts[_HOLE_END], at + size)
    if hole_at[h] == hole_end[h]:
        for later in range(h, holes - 1):
            hole_at[later], hole_end[later] = hole_at[later + 1], hole_end[later + 1]
        free.counts[_HOLES] = holes - 1
    return at


@inner_kernel
def _release(free, kind, at, size):
    """Free the space of a table."""
    if kind >= 0:
        slot = free.counts[_SPARE]
        if slot >= 0:
            free.counts[_SPARE] = free.next_slot[slot]
        else:
            slot = free.counts[_SLOTS]
            free.counts[_SLOTS] += 1
        free.slot_at[slot], free.next_slot[slot] = at, free.free_slot[kind]
        free.free_slot[kind] = slot
        return
    hole_at, hole_end, holes = free.hole_at, free.hole_end, free.counts[_HOLES]
    h = holes
    while h > 0 and hole_at[h - 1] > at:
        h -= 1
    end = at + size
    joins_before = h > 0 and hole_end[h - 1] == at
    if h < holes and hole_at[h] == end:
        if not joins_before:
            hole_at[h] = at
            return
        hole_end[h - 1] = hole_end[h]
        for later in range(h, holes - 1):
            hole_at[later], hole_end[later] = hole_at[later + 1], hole_end[later + 1]
        free.counts[_HOLES] = holes - 1
    elif joins_before:
        hole_end[h - 1] = end
    else:
        for later in range(holes, h, -1):
            hole_at[later], hole_end[later] = hole_at[later - 1], hole_end[later - 1]
        hole_at[h], hole_end[h] = at, end
        free.counts[_HOLES] = holes + 1
