"""Pair counts against pandas and a bincount: packing, caching and the memory bound."""

from __future__ import annotations

import itertools
import weakref

import naive
import numpy as np
import pandas as pd
import pytest
from fakes import random_table
from hypothesis import given, strategies as st
from llvmlite import binding
from numba import njit
from numba.extending import intrinsic
from search_cases import table_of

from graftviz import DiscreteTable, InputError
from graftviz.learning.counts import packed as bits
from graftviz.learning.counts.packed import count_pair, pack_table
from graftviz.learning.counts.pair_counts import (
    EMPTY,
    PairCounts,
    find_slot,
    grown_pair_map,
    insert_pair,
    new_pair_map,
)


def expected(table, i, j):
    states = table.cardinalities
    return naive.count_pair(table.codes[i], table.codes[j], int(states[i]), int(states[j]))


@pytest.mark.parametrize("rows", [1, 5, 63, 64, 65, 128, 1000])
def test_tables_equal_pandas_crosstab(rows):
    table = table_of(rows, [2, 1, 5, 3, 7, 2], rows)
    counts = PairCounts(table)
    for i, j in itertools.permutations(range(table.n_variables), 2):
        crosstab = pd.crosstab(table.codes[i], table.codes[j])
        states = table.cardinalities
        crosstab = crosstab.reindex(index=range(states[i]), columns=range(states[j]), fill_value=0)
        counted = counts.table(i, j)
        assert counted.dtype == np.int64
        np.testing.assert_array_equal(counted, crosstab.to_numpy())
        assert counted.sum() == rows


@pytest.mark.parametrize(
    ("cardinalities", "rows"),
    [
        *(([300, 2, 3], 700), ([256, 257], 64), ([1, 1, 1], 3), ([1, 2], 100), ([4] * 9, 517)),
        *(([3, 5], 4096), ([2, 4, 6], 4097), ([5, 5, 3], 20_000), ([2, 300], 9_000)),
    ],
)
def test_kernel_equals_a_bincount_and_fills_every_cell(cardinalities, rows):
    table = table_of(8, cardinalities, rows)
    packed = pack_table(table)
    for i, j in itertools.permutations(range(table.n_variables), 2):
        cells = np.full(cardinalities[i] * cardinalities[j], -7, dtype=float)
        count_pair(packed, i, j, cells)
        np.testing.assert_array_equal(cells, expected(table, i, j).reshape(-1))


@pytest.mark.parametrize("vectors_are_counted", [True, False])
def test_common_bits_are_counted_on_every_processor(monkeypatch, vectors_are_counted):
    if vectors_are_counted and not binding.get_host_cpu_features().get("avx512vpopcntdq", False):
        pytest.skip("the processor does not count the bits of vectors")
    features = {"avx512vpopcntdq": vectors_are_counted}
    monkeypatch.setattr(bits.binding, "get_host_cpu_features", lambda: features)
    one, four = intrinsic(bits._and_count), intrinsic(bits._and_counts)

    @njit
    def count(planes, row, other, counts, place):
        four(planes, row, other, counts, place)
        return one(planes, row, other)

    planes = bits.new_planes(6, 2 * bits.BLOCK_WORDS)
    assert planes.ctypes.data % 64 == 0
    assert not planes.any()
    planes[:] = np.random.default_rng(0).integers(0, 2**64, planes.shape, dtype=np.uint64)
    planes[5] = 2**64 - 1
    expected = [int(np.bitwise_count(planes[0] & planes[k]).sum()) for k in range(6)]
    counts = np.full(6, -1.0)
    assert count(planes, 0, 2, counts, 1) == expected[2]
    assert counts.tolist() == [-1.0, *expected[2:], -1.0]


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 130, 4095, 4096, 4097, 8300])
def test_planes_have_zero_bits_past_last_row(rows):
    table = random_table(rows, 6, rows)
    packed = pack_table(table)
    assert packed.rows == rows
    # 64 words of 64 bits are one block; planes have whole blocks.
    assert packed.planes.shape == ((table.cardinalities - 1).sum(), 64 * -(-rows // 4096))
    for i, states in enumerate(table.cardinalities):
        for k in range(states - 1):
            plane = packed.planes[packed.plane_offsets[i] + k]
            bits = np.unpackbits(plane.astype("<u8").view(np.uint8), bitorder="little")
            np.testing.assert_array_equal(bits[:rows], table.codes[i] == k)
            assert not bits[rows:].any()
    assert not any(array.flags.writeable for array in packed[:4])


def test_margins_match_columns_and_tables():
    table = random_table(3, 8, 333)
    counts = PairCounts(table, pack_table(table))
    for i in range(8):
        margin = np.bincount(table.codes[i], minlength=table.cardinalities[i])
        np.testing.assert_array_equal(counts.marginal(i), margin)
        for j in set(range(8)) - {i}:
            np.testing.assert_array_equal(counts.table(i, j).sum(axis=1), margin)


def test_each_pair_is_counted_once_on_first_request():
    counts = PairCounts(random_table(5, 7, 90))
    assert (counts.tables_counted, counts.tables_possible) == (0, 21)
    for _ in range(3):
        counts.table(2, 5), counts.table(5, 2), counts.table(0, 1)
    assert (counts.tables_counted, counts.tables_recounted) == (2, 0)
    counts.count_row(2)
    assert counts.tables_counted == 2 + 4 - 1
    assert counts.slot(4, 3) == counts.slot(3, 4)
    assert counts.tables_counted == 5
    counts.count_all()
    counts.count_all()
    assert (counts.tables_counted, counts.tables_recounted) == (21, 0)


@pytest.mark.parametrize("by_row", [False, True])
def test_counting_all_goes_in_order_of_pairs(by_row):
    table = random_table(6, 30, 70)
    counts = PairCounts(table)
    if by_row:
        for i in range(29):
            counts.count_row(i)
    else:
        counts.count_all()
    pairs = list(itertools.combinations(range(30), 2))
    assert [counts.slot(i, j) for i, j in pairs] == list(range(len(pairs)))
    for i, j in pairs:
        np.testing.assert_array_equal(counts.table(i, j), expected(table, i, j))
    assert counts.tables_counted == len(pairs)


@pytest.mark.parametrize("max_bytes", [0, 4, 200, 800])
def test_beyond_the_memory_bound_tables_are_counted_again(max_bytes):
    table = table_of(9, [3, 4, 5, 2, 6, 3, 4], 150)
    counts = PairCounts(table, max_bytes=max_bytes)
    pairs = list(itertools.combinations(range(7), 2))
    counts.count_all()
    assert counts.tables_counted == len(pairs)
    recounted = counts.tables_recounted
    for _ in range(2):
        for i, j in pairs:
            np.testing.assert_array_equal(counts.table(j, i), expected(table, i, j).T)
            assert counts.store.cells.nbytes <= max_bytes
        assert counts.tables_recounted > recounted
        recounted = counts.tables_recounted
    assert counts.tables_counted == len(pairs)


def test_caches_reserve_cells_of_all_pairs_only():
    table = random_table(3, n=30, rows=50)
    counts = PairCounts(table)
    for i in range(table.n_variables):
        counts.count_row(i)
    counts.count_all()
    cells = sum(a * b for a, b in itertools.combinations(table.cardinalities.tolist(), 2))
    assert len(counts.store.cells) == counts.store.used[0] == cells
    assert len(counts.store.pairs.first) == counts.tables_possible
    assert counts.tables_recounted == 0


def test_a_table_in_memory_is_packed_once_and_released():
    table = random_table(3, n=2, rows=50)
    planes = weakref.ref(PairCounts(table).packed.planes)
    assert PairCounts(table).packed.planes is planes()
    assert PairCounts(table.sample(40, 0)).packed.planes is not planes()
    del table
    assert planes() is None


def test_pair_of_a_variable_with_itself_is_refused():
    counts = PairCounts(DiscreteTable.from_codes(np.array([[0, 1], [1, 0]])))
    with pytest.raises(InputError, match="given twice"):
        counts.table(1, 1)
    assert counts.tables_counted == 0


# The map from pairs to slots.


def check(pairs, slots):
    """Check that every stored pair is found in both orientations, and slots name pairs."""
    assert pairs.size[0] == len(slots)
    assert (pairs.keys != EMPTY).sum() == len(slots)
    assert len(pairs.keys) >= 2 * len(pairs.first)
    for (i, j), slot in slots.items():
        assert find_slot(pairs, i, j) == find_slot(pairs, j, i) == slot
        assert (pairs.first[slot], pairs.second[slot]) == (min(i, j), max(i, j))


@given(st.integers(2, 12), st.integers(1, 5), st.data())
def test_pair_map_matches_dict(n, capacity, data):
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


def test_pair_map_of_very_many_variables():
    """Check that keys of 5 · 10¹⁵ pairs neither overflow nor collide."""
    n = 100_000_000
    rng = np.random.default_rng(1)
    wanted = {(n - 2, n - 1), (0, n - 1), (0, 1)}
    while len(wanted) < 3000:
        i, j = sorted(rng.integers(0, n, 2).tolist())
        wanted |= {(i, j)} if i < j else set()
    pairs = new_pair_map(n, len(wanted))
    check(pairs, {(i, j): insert_pair(pairs, i, j) for i, j in sorted(wanted)})
    assert find_slot(pairs, 1, n - 1) == EMPTY
