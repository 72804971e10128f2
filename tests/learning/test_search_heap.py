"""The three-array heap against heapq, with ties."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given, strategies as st

from graftviz.learning.grafting.queue import heapify, pop, push, sift_down, sift_up

# Few different keys and ties, so that equal ones occur.
entries = st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), max_size=40)


def arrays(content, room=0):
    keys, ties, slots = np.zeros((3, len(content) + room))
    keys[: len(content)] = [key for key, _ in content]
    ties[: len(content)] = [tie for _, tie in content]
    slots[: len(content)] = range(len(content))
    return keys, ties.astype(np.uint64), slots.astype(np.int64)


def drain(keys, ties, slots, size):
    """Pop all entries; check their order and that entries keep their slots."""
    order = []
    while size:
        front = (float(keys[0]), int(ties[0]))
        order.append((front, int(pop(keys, ties, slots, size))))
        size -= 1
    return order


def check_order(order, content):
    assert [front for front, _ in order] == sorted(content)
    assert sorted(slot for _, slot in order) == list(range(len(content)))
    assert all(front == content[slot] for front, slot in order)


@given(
    st.lists(st.one_of(st.none(), st.tuples(st.integers(-2, 2), st.integers(0, 2))), max_size=60)
)
def test_pushes_and_pops_agree_with_heapq(operations):
    heap, size, plain = arrays([], room=len(operations)), 0, []
    content = []
    for operation in operations:
        if operation is not None:
            push(*heap, size, float(operation[0]), np.uint64(operation[1]), len(content))
            heapq.heappush(plain, operation)
            content.append(operation)
            size += 1
        elif plain:
            assert content[pop(*heap, size)] == heapq.heappop(plain)
            size -= 1
    assert size == len(plain)


@given(entries.filter(bool), st.data())
def test_changed_entry_is_moved_to_its_position(content, data):
    heap = arrays(content)
    heapify(*heap, len(content))
    at = data.draw(st.integers(0, len(content) - 1))
    key = data.draw(st.integers(-3, 3))
    slot = int(heap[2][at])
    larger = key > heap[0][at]
    heap[0][at] = key
    if larger:
        sift_down(*heap, at, len(content))
    else:
        sift_up(*heap, at)
    content[slot] = (key, content[slot][1])
    check_order(drain(*heap, len(content)), content)


def test_entries_beyond_the_size_are_unchanged():
    heap = arrays([(3, 0), (1, 0), (2, 0), (-9, 0)])
    heapify(*heap, 3)
    assert [slot for _, slot in drain(*heap, 3)] == [1, 2, 0]
    assert heap[0][3] == -9
