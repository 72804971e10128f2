"""Pair counts on demand, from bit-packed one-hot planes.

Each variable with s states is stored as s - 1 bit planes of N bits. The number of rows in state
(a, b) is the population count of the AND of two planes; only (s_i - 1)(s_j - 1) cells are counted,
the rest follow from the margins. A pair is counted once and kept, up to a memory bound; beyond it
tables are counted again whenever they are asked for, which costs about a microsecond.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from graftviz.errors import InputError
from graftviz.pairs import PairMap, find_slot, grown_pair_map, insert_pair, new_pair_map
from graftviz.table import DiscreteTable

NOT_KEPT = -1  # the cache was full when the table was counted
NEVER_COUNTED = -2
DEFAULT_CACHE_BYTES = 1 << 30


class PackedTable(NamedTuple):
    """Read-only, kernel-side form of a table.

    Attributes
    ----------
    planes : uint64 array, shape (P, W)
        W = ⌈N / 64⌉ words a plane; bits past the last row are zero.
    plane_offsets : int64 array, shape (n + 1,)
        Variable i owns planes ``plane_offsets[i]`` … (s_i - 1 of them).
    margins : int32 array, flat
        Counts of each state of each variable.
    node_offsets : int64 array, shape (n + 1,)
        Variable i owns ``margins[node_offsets[i]:node_offsets[i + 1]]``.
    rows : int
    """

    planes: np.ndarray
    plane_offsets: np.ndarray
    margins: np.ndarray
    node_offsets: np.ndarray
    rows: int


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


def _popcount_instruction(_typing_context: Any, _word: Any) -> Any:
    """Generate the processor's own population count of a 64-bit word."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(function, arguments)

    return types.uint64(types.uint64), generate


_popcount: Any = intrinsic(_popcount_instruction)


@njit(cache=True, nogil=True)
def _pack_variable(codes, states, planes):
    """Set bit r of plane k where ``codes[r] == k``, for k < states - 1, a word at a time."""
    rows = len(codes)
    words = np.zeros(states, dtype=np.uint64)
    for w in range(planes.shape[1]):
        words[:] = 0
        start = 64 * w
        for bit in range(min(64, rows - start)):
            words[codes[start + bit]] |= np.uint64(1) << np.uint64(bit)
        for k in range(states - 1):
            planes[k, w] = words[k]


@njit(cache=True, nogil=True)
def count_pair(packed, i, j, out):
    """Write the counts of pair (i, j) into `out`, row-major, s_i · s_j cells."""
    margin_i, margin_j = packed.node_offsets[i], packed.node_offsets[j]
    states_i = packed.node_offsets[i + 1] - margin_i
    states_j = packed.node_offsets[j + 1] - margin_j
    planes_i, planes_j = packed.plane_offsets[i], packed.plane_offsets[j]
    words = packed.planes.shape[1]
    for b in range(states_j):
        out[(states_i - 1) * states_j + b] = packed.margins[margin_j + b]
    for a in range(states_i - 1):
        plane_a = packed.planes[planes_i + a]
        rest = packed.margins[margin_i + a]
        for b in range(states_j - 1):
            plane_b = packed.planes[planes_j + b]
            total = np.uint64(0)
            for w in range(words):
                total += _popcount(plane_a[w] & plane_b[w])
            count = np.int32(total)
            out[a * states_j + b] = count
            rest -= count
            out[(states_i - 1) * states_j + b] -= count
        out[a * states_j + states_j - 1] = rest
        out[(states_i - 1) * states_j + states_j - 1] -= rest


@njit(cache=True, nogil=True, inline="always")
def table_cells(packed, store, slot, scratch):
    """Return (cells, start): the slot's table begins at ``cells[start]``, counted if need be.

    `scratch` receives the table when the cache is full.
    """
    start = store.cell_offsets[slot]
    if start < 0:
        start = _count_slot(packed, store, slot, scratch)
    return (store.cells, start) if start >= 0 else (scratch, 0)


@njit(cache=True, nogil=True)
def _count_slot(packed, store, slot, scratch):
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
def _count_all(packed, store, row, scratch):
    """Count every pair (row, j), j > row."""
    for j in range(row + 1, store.pairs.n):
        slot = find_slot(store.pairs, row, j)
        if slot < 0:
            slot = add_pair(store, row, j)
        if store.cell_offsets[slot] == NEVER_COUNTED:
            _count_slot(packed, store, slot, scratch)


def pack_table(table: DiscreteTable) -> PackedTable:
    """Bit-pack a table; costs about a nanosecond per entry."""
    cardinalities = table.cardinalities
    plane_offsets = np.concatenate([[0], np.cumsum(cardinalities - 1)])
    node_offsets = np.concatenate([[0], np.cumsum(cardinalities)])
    words = (table.n_rows + 63) // 64
    planes = np.zeros((int(plane_offsets[-1]), words), dtype=np.uint64)
    margins = np.zeros(int(node_offsets[-1]), dtype=np.int32)
    for i, states in enumerate(cardinalities):
        codes = table.codes[i]
        if states > 1:
            _pack_variable(codes, int(states), planes[plane_offsets[i] : plane_offsets[i + 1]])
        margins[node_offsets[i] : node_offsets[i + 1]] = np.bincount(codes, minlength=states)
    for array in (planes, plane_offsets, margins, node_offsets):
        array.flags.writeable = False
    return PackedTable(planes, plane_offsets, margins, node_offsets, table.n_rows)


class PairCounts:
    """Pair tables of one data set, counted on demand and cached within `max_bytes`.

    Not thread-safe: every run owns one. The packed table is read-only and may be shared.

    Parameters
    ----------
    table : DiscreteTable
    packed : PackedTable, optional
        The packed form of the same table, if at hand.
    max_bytes : int
        Bound on the cached cells.
    """

    def __init__(
        self,
        table: DiscreteTable,
        packed: PackedTable | None = None,
        *,
        max_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        self.packed = pack_table(table) if packed is None else packed
        self.cardinalities = table.cardinalities
        self.n_variables = table.n_variables
        self.n_rows = table.n_rows
        largest = int(self.cardinalities.max())
        self._scratch = np.zeros(largest * largest, dtype=np.int32)
        self._max_cells = max_bytes // 4
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
        return int(self.store.used[1])

    @property
    def tables_recounted(self) -> int:
        """How often a table was counted again because the cache was full."""
        return int(self.store.used[2])

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
        self.reserve(1)
        found = int(find_slot(self.store.pairs, i, j))
        return found if found >= 0 else int(add_pair(self.store, i, j))

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
            start = int(_count_slot(self.packed, self.store, slot, self._scratch))
        cells = self.store.cells[start:] if start >= 0 else self._scratch
        counts = cells[: shape[0] * shape[1]].astype(np.int64).reshape(shape)
        return counts if i < j else counts.T

    def marginal(self, i: int) -> np.ndarray:
        """Return the counts of each state of variable i, shape (s_i,)."""
        offsets = self.packed.node_offsets
        return self.packed.margins[offsets[i] : offsets[i + 1]].astype(np.int64)

    def count_row(self, i: int) -> None:
        """Count all pairs (i, j) with j > i."""
        self.reserve(self.n_variables - 1 - i)
        _count_all(self.packed, self.store, i, self._scratch)

    def count_all(self) -> None:
        """Count all pairs, as edge grafting needs them."""
        self.reserve(self.tables_possible - int(self.store.pairs.size[0]))
        for i in range(self.n_variables - 1):
            _count_all(self.packed, self.store, i, self._scratch)
