"""Pair counts on demand: each pair is counted once and kept, up to a memory bound.

Beyond the bound tables are counted again whenever they are asked for, which costs about a
microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.counts.packed import PackedTable, count_block, count_pair, pack_table
from graftviz.errors import InputError
from graftviz.pairs import PairMap, find_slot, grown_pair_map, insert_pair, new_pair_map
from graftviz.table import DiscreteTable

NOT_KEPT = -1  # the cache was full when the table was counted
NEVER_COUNTED = -2
_ROWS_AT_ONCE = 16  # their planes should fit into a near cache
DEFAULT_CACHE_BYTES = 1 << 30
_CACHE_BYTES: ContextVar[int] = ContextVar("bound of the pair cache", default=DEFAULT_CACHE_BYTES)


class TableStore(NamedTuple):
    """Kernel-side state of the cache: which pairs have a slot, and the cells of each slot.

    Attributes
    ----------
    pairs : PairMap
    cell_offsets : int64 array, one per slot (capacity)
        Start of the slot's table in `cells`, or -1 where it is not kept.
    cells : int32 array
    used : int64 array, shape (3,)
        Cells in use; tables counted for the first time; tables counted again.
    """

    pairs: PairMap
    cell_offsets: np.ndarray
    cells: np.ndarray
    used: np.ndarray


@njit(cache=True, nogil=True, inline="always")
def table_cells(packed, store, slot, scratch):
    """Return (cells, start): the slot's table begins at ``cells[start]``, counted if need be.

    `scratch` receives the table when the cache is full.
    """
    start = store.cell_offsets[slot]
    if start < 0:
        start = count_slot(packed, store, slot, scratch)
    return (store.cells, start) if start >= 0 else (scratch, 0)


@njit(cache=True, nogil=True)
def count_slot(packed, store, slot, scratch):
    """Count a slot's table into the cache, or into `scratch`; return its start or NOT_KEPT."""
    i, j = store.pairs.first[slot], store.pairs.second[slot]
    states_i = packed.node_offsets[i + 1] - packed.node_offsets[i]
    states_j = packed.node_offsets[j + 1] - packed.node_offsets[j]
    size = states_i * states_j
    store.used[2 if store.cell_offsets[slot] == NOT_KEPT else 1] += 1
    start = store.used[0]
    if start + size <= len(store.cells):
        store.used[0] = start + size
        store.cell_offsets[slot] = start
        count_pair(packed, i, j, store.cells[start : start + size])
        return start
    store.cell_offsets[slot] = NOT_KEPT
    count_pair(packed, i, j, scratch)
    return NOT_KEPT


@njit(cache=True, nogil=True)
def add_pair(store, i, j):
    """Give the pair {i, j} a slot (it must have none) without counting it."""
    slot = insert_pair(store.pairs, i, j)
    store.cell_offsets[slot] = NEVER_COUNTED
    return slot


@njit(cache=True, nogil=True)
def _place_rows(packed, store, first, starts):
    """Give all pairs of rows `first` … slots, and those not counted yet places in the cache.

    The places are written to `starts`; -1 where nothing is to be counted.
    """
    pairs, cell_offsets, used = store.pairs, store.cell_offsets, store.used
    offsets, room = packed.node_offsets, len(store.cells)
    rows, n = starts.shape
    starts[:] = NOT_KEPT
    for k in range(rows):
        i = first + k
        for j in range(i + 1, n):
            slot = find_slot(pairs, i, j)
            if slot < 0:
                slot = insert_pair(pairs, i, j)
                cell_offsets[slot] = NEVER_COUNTED
            if cell_offsets[slot] != NEVER_COUNTED:
                continue
            used[1] += 1
            size = (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
            cell_offsets[slot] = NOT_KEPT
            if used[0] + size <= room:
                cell_offsets[slot] = used[0]
                starts[k, j] = used[0]
                used[0] += size


@contextmanager
def cache_bound(max_bytes: int) -> Iterator[None]:
    """Bound the cache of every :class:`PairCounts` made inside by `max_bytes`.

    So a bound reaches the counts without passing through the learner that makes them. It holds
    for the thread (or task) that opened it, as context variables do.
    """
    token = _CACHE_BYTES.set(max_bytes)
    try:
        yield
    finally:
        _CACHE_BYTES.reset(token)


class PairCounts:
    """Pair tables of one data set, counted on demand and cached within `max_bytes`.

    Not thread-safe: every run owns one. The packed table is read-only and may be shared.

    Parameters
    ----------
    table : DiscreteTable
        Also one that is read in chunks: it is packed chunk by chunk, or, if there is no memory
        for that, all its pairs are counted right now.
    packed : PackedTable, optional
        The packed form of the same table, if at hand.
    max_bytes : int, optional
        Bound on the cached cells; default: that of :func:`cache_bound`, or 1 GiB.

    Raises
    ------
    InputError
        See :func:`graftviz.counts.packed.counting_plan`.
    """

    def __init__(
        self,
        table: DiscreteTable,
        packed: PackedTable | None = None,
        *,
        max_bytes: int | None = None,
    ) -> None:
        self.packed = pack_table(table) if packed is None else packed
        self.cardinalities = table.cardinalities
        self.n_variables = table.n_variables
        self.n_rows = table.n_rows
        largest = int(self.cardinalities.max())
        self._scratch = np.zeros(largest * largest, dtype=np.int32)
        bound = _CACHE_BYTES.get() if max_bytes is None else max_bytes
        self._counted = len(self.packed.pair_starts) > 0
        # What has been counted beforehand is looked up where it lies: no need to keep it twice.
        self._max_cells = 0 if self._counted else bound // 4
        self._mean_cells = float(self.cardinalities.mean()) ** 2
        self.store = TableStore(
            pairs=new_pair_map(self.n_variables),
            cell_offsets=np.zeros(256, dtype=np.int64),
            cells=np.zeros(0, dtype=np.int32),
            used=np.zeros(3, dtype=np.int64),
        )

    @property
    def tables_possible(self) -> int:
        """n (n - 1) / 2."""
        return self.n_variables * (self.n_variables - 1) // 2

    @property
    def tables_counted(self) -> int:
        """Number of different pairs counted so far."""
        return self.tables_possible if self._counted else int(self.store.used[1])

    @property
    def tables_recounted(self) -> int:
        """How often a table was counted again because the cache was full."""
        return 0 if self._counted else int(self.store.used[2])

    @property
    def scratch(self) -> np.ndarray:
        """Room for one table of the largest size, for kernels."""
        return self._scratch

    def reserve(self, pairs: int) -> None:
        """Make room for `pairs` more pairs, and (within the bound) for their cells."""
        store = self.store
        slots = int(store.pairs.size[0]) + pairs
        if slots > len(store.cell_offsets):
            pair_map = grown_pair_map(store.pairs, slots)
            offsets = np.full(len(pair_map.first), NEVER_COUNTED, dtype=np.int64)
            offsets[: len(store.cell_offsets)] = store.cell_offsets
            store = store._replace(pairs=pair_map, cell_offsets=offsets)
        wanted = int(store.used[0]) + int(pairs * self._mean_cells * 1.05) + len(self._scratch)
        if wanted > len(store.cells) and len(store.cells) < self._max_cells:
            cells = np.empty(min(max(wanted, 2 * len(store.cells)), self._max_cells), np.int32)
            cells[: len(store.cells)] = store.cells
            store = store._replace(cells=cells)
        self.store = store

    def slot(self, i: int, j: int) -> int:
        """Return the slot of the pair {i, j}, giving it one if it has none."""
        found = int(find_slot(self.store.pairs, i, j))
        if found >= 0:
            return found
        self.reserve(1)
        return int(add_pair(self.store, i, j))

    def table(self, i: int, j: int) -> np.ndarray:
        """Return the counts of variables i and j.

        Returns
        -------
        int64 array, shape (s_i, s_j)
            ``out[a, b]`` rows have x_i = a and x_j = b.

        Raises
        ------
        InputError
            When i and j are the same variable.
        """
        if i == j:
            raise InputError(f"A pair table needs two variables; variable {i} was given twice.")
        slot = self.slot(i, j)
        low, high = min(i, j), max(i, j)
        shape = (int(self.cardinalities[low]), int(self.cardinalities[high]))
        start = int(self.store.cell_offsets[slot])
        if start < 0:
            start = int(count_slot(self.packed, self.store, slot, self._scratch))
        cells = self.store.cells[start:] if start >= 0 else self._scratch
        counts = cells[: shape[0] * shape[1]].astype(np.int64).reshape(shape)
        return counts if i < j else counts.T

    def marginal(self, i: int) -> np.ndarray:
        """Return the counts of each state of variable i, shape (s_i,)."""
        offsets = self.packed.node_offsets
        return self.packed.margins[offsets[i] : offsets[i + 1]].astype(np.int64)

    def count_row(self, i: int) -> None:
        """Count all pairs (i, j) with j > i."""
        self.count_rows(i, i + 1)

    def count_rows(self, first: int, last: int) -> None:
        """Count all pairs (i, j) with first <= i < last and j > i.

        Several rows at once take less time than one after the other, since the planes of all
        partners are fetched once for all of them. Pairs for which the cache has no room get a slot
        and are counted when they are asked for.
        """
        n = self.n_variables
        last = min(last, n - 1)
        self.reserve((last - first) * (n - 1) - (first + last - 1) * (last - first) // 2)
        for row in range(first, last, _ROWS_AT_ONCE):
            starts = np.empty((min(_ROWS_AT_ONCE, last - row), n), dtype=np.int64)
            _place_rows(self.packed, self.store, row, starts)
            count_block(self.packed, row, starts, self.store.cells)

    def count_all(self) -> None:
        """Count all pairs, as edge grafting needs them."""
        self.reserve(self.tables_possible - int(self.store.pairs.size[0]))
        self.count_rows(0, self.n_variables - 1)
