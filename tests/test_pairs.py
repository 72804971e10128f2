"""The map from pairs to slots against a dict, through growth, in either orientation."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, strategies as st

from graftviz.pairs import EMPTY, find_slot, grown_pair_map, insert_pair, new_pair_map


def check(pairs, slots):
    """Every stored pair is found from both sides, at its slot, and slots name their pairs."""
    assert pairs.size[0] == len(slots)
    assert (pairs.keys != EMPTY).sum() == len(slots)
    assert len(pairs.keys) >= 2 * len(pairs.first)
    for (i, j), slot in slots.items():
        assert find_slot(pairs, i, j) == find_slot(pairs, j, i) == slot
        assert (pairs.first[slot], pairs.second[slot]) == (min(i, j), max(i, j))


@given(st.integers(2, 12), st.integers(1, 5), st.data())
def test_behaves_like_a_dict(n, capacity, data):
    pairs, slots = new_pair_map(n, capacity), {}
    node = st.integers(0, n - 1)
    edges = st.tuples(node, node).filter(lambda edge: edge[0] != edge[1])
    for i, j in data.draw(st.lists(edges, max_size=60)):
        key = (min(i, j), max(i, j))
        assert find_slot(pairs, i, j) == slots.get(key, EMPTY)
        if key not in slots:
            pairs = grown_pair_map(pairs, len(slots) + 1)
            slots[key] = insert_pair(pairs, i, j)
    check(pairs, slots)
    for pair in itertools.combinations(range(n), 2):
        assert find_slot(pairs, *pair) == slots.get(pair, EMPTY)


def test_slots_are_consecutive_and_survive_growth():
    pairs, slots = new_pair_map(50, 1), {}
    order = np.random.default_rng(4).permutation(list(itertools.combinations(range(50), 2)))
    for k, (i, j) in enumerate(order.tolist()):
        pairs = grown_pair_map(pairs, k + 1)
        slots[i, j] = insert_pair(pairs, j, i)
        assert slots[i, j] == k
    check(pairs, slots)


def test_very_many_variables():
    """Keys of ten thousand million million pairs neither overflow nor collide."""
    n = 100_000_000
    rng = np.random.default_rng(1)
    wanted = {(n - 2, n - 1), (0, n - 1), (0, 1)}
    while len(wanted) < 3000:
        i, j = sorted(rng.integers(0, n, 2).tolist())
        wanted |= {(i, j)} if i < j else set()
    pairs = new_pair_map(n, len(wanted))
    check(pairs, {(i, j): insert_pair(pairs, i, j) for i, j in sorted(wanted)})
    assert find_slot(pairs, 1, n - 1) == EMPTY
