"""Pair counts on demand: each pair is counted once and cached, up to a memory limit.

Beyond the limit a table is counted again at each request, which takes about a microsecond.

Map from pairs of variables to consecutive slots: open addressing on flat arrays. Most pairs of a
large model are never used, so memory is proportional to the number of stored pairs and not
quadratic in the number of variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graftviz.data.reading.reading import Tabular, as_table
from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.packed import (
    PackedTable,
    count_block,
    count_pair,
    counts_of_all_pairs,
    keep_packed,
    pack_table,
    pairs_bytes,
    seen_states,
)
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError

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


NOT_CACHED = -1  # the cache was full when the table was counted
NEVER_COUNTED = -2
_ROWS_AT_ONCE = 16  # variables whose planes fit into the cache together
DEFAULT_CACHE_BYTES = 1 << 30
_CACHE_BYTES: ContextVar[int] = ContextVar("limit of the pair cache", default=DEFAULT_CACHE_BYTES)


class TableStore(NamedTuple):
    """Kernel-side state of the cache: the slots of pairs and the cells of each slot.

    Attributes
    ----------
    pairs : PairMap
    cell_offsets : int64 array, one per slot (capacity)
        Start of the slot's table in `cells`, NOT_CACHED or NEVER_COUNTED.
    cells : float64 array
    used : int64 array, shape (3,)
        Numbers of cells in use, of tables counted for the first time, and of tables counted again.
    """

    pairs: PairMap
    cell_offsets: np.ndarray
    cells: np.ndarray
    used: np.ndarray


@kernel(inline="always")
def table_cells(packed, store, slot, scratch):
    """Return (cells, start): the slot's table begins at ``cells[start]``, counted if necessary.

    `scratch` receives the table if the cache is full.
    """
    start = store.cell_offsets[slot]
    if start < 0:
        start = count_slot(packed, store, slot, scratch)
    return (store.cells, start) if start >= 0 else (scratch, 0)


@kernel
def count_slot(packed, store, slot, scratch):
    """Count a slot's table into the cache, or into `scratch`; return its start or NOT_CACHED."""
    i, j = np.int64(store.pairs.first[slot]), np.int64(store.pairs.second[slot])
    states_i = packed.node_offsets[i + 1] - packed.node_offsets[i]
    states_j = packed.node_offsets[j + 1] - packed.node_offsets[j]
    size = states_i * states_j
    store.used[2 if store.cell_offsets[slot] == NOT_CACHED else 1] += 1
    start = store.used[0]
    if start + size <= len(store.cells):
        store.used[0] = start + size
        store.cell_offsets[slot] = start
        count_pair(packed, i, j, store.cells[start : start + size])
        return start
    store.cell_offsets[slot] = NOT_CACHED
    count_pair(packed, i, j, scratch)
    return NOT_CACHED


@kernel
def add_pair(store, i, j):
    """Assign a slot to the pair {i, j}, which must have none, without counting it."""
    slot = insert_pair(store.pairs, i, j)
    store.cell_offsets[slot] = NEVER_COUNTED
    return slot


@kernel
def _find_slots(pair_map, pairs, out):
    """Write the slot of each of some pairs to `out`; -1 if it has none."""
    for k in range(len(pairs)):
        out[k] = find_slot(pair_map, np.int64(pairs[k, 0]), np.int64(pairs[k, 1]))


@kernel
def _place_rows(packed, store, first, starts):
    """Assign slots to all pairs of variables `first` …, and cache space to uncounted ones.

    The starts in the cache are written to `starts`; -1 for pairs that are not to be counted.
    """
    pairs, cell_offsets, used = store.pairs, store.cell_offsets, store.used
    offsets, room = packed.node_offsets, len(store.cells)
    rows, n = starts.shape
    starts[:] = NOT_CACHED
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
            cell_offsets[slot] = NOT_CACHED
            if used[0] + size <= room:
                cell_offsets[slot] = used[0]
                starts[k, j] = used[0]
                used[0] += size


@contextmanager
def cache_limit(max_bytes: int) -> Iterator[None]:
    """Limit the cache of every :class:`PairCounts` created in this context to `max_bytes`.

    The limit applies to counts that a learner creates, without being passed through the learner.
    Like all context variables it holds for the thread (or task) that set it.
    """
    token = _CACHE_BYTES.set(max_bytes)
    try:
        yield
    finally:
        _CACHE_BYTES.reset(token)


class PairCounts:
    """Pair tables of one data set, counted on demand and cached within `max_bytes`.

    It is not thread-safe: every run has its own. The packed table is read-only and may be shared.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
    packed : PackedTable, optional
        The packed form of the same table, if available.
    max_bytes : int, optional
        Limit of the cached cells; default: that of :func:`cache_limit`, or 1 GiB.

    Raises
    ------
    InputError
        See :func:`graftviz.learning.counts.packed.pack_table`.
    """

    def __init__(
        self,
        table: Tabular,
        packed: PackedTable | None = None,
        *,
        max_bytes: int | None = None,
    ) -> None:
        table = as_table(table)
        self.packed = pack_table(table) if packed is None else packed
        self.cardinalities = table.cardinalities
        self.n_variables = table.n_variables
        are_whole = table.weights is None
        self.n_rows = int(self.packed.rows) if are_whole else self.packed.rows
        self._kind = np.int64 if are_whole else np.float64  # of counts that are handed out
        largest = int(self.cardinalities.max())
        self._scratch = np.zeros(largest * largest)
        limit = _CACHE_BYTES.get() if max_bytes is None else max_bytes
        limit = min(limit, pairs_bytes(self.cardinalities))
        self._counted = len(self.packed.pair_starts) > 0
        # Pairs that were counted in advance are read from the packed table and not cached again.
        self._max_cells = 0 if self._counted else limit // self._scratch.itemsize
        self._mean_cells = float(self.cardinalities.mean()) ** 2
        self.store = TableStore(
            pairs=new_pair_map(self.n_variables),
            cell_offsets=np.zeros(256, dtype=np.int64),
            cells=np.zeros(0),
            used=np.zeros(3, dtype=np.int64),
        )

    @property
    def varying(self) -> np.ndarray:
        """Mask of the variables with more than one observed state, shape (n,)."""
        found: np.ndarray = seen_states(self.packed.margins, self.packed.node_offsets) > 1
        return found

    @property
    def tables_possible(self) -> int:
        """Number of pairs, n (n - 1) / 2."""
        return self.n_variables * (self.n_variables - 1) // 2

    @property
    def tables_counted(self) -> int:
        """Number of distinct pairs counted so far."""
        return self.tables_possible if self._counted else int(self.store.used[1])

    @property
    def tables_recounted(self) -> int:
        """Number of times that a table was counted again because the cache was full."""
        return 0 if self._counted else int(self.store.used[2])

    @property
    def scratch(self) -> np.ndarray:
        """Buffer for one table of the largest size, for kernels."""
        return self._scratch

    def reserve(self, pairs: int, cells: int | None = None) -> None:
        """Reserve slots for `pairs` more pairs and, within the limit, cache for their cells.

        Without their number of `cells`, that of average pairs and one large one is reserved.
        """
        store = self.store
        slots = min(int(store.pairs.size[0]) + pairs, self.tables_possible)
        if slots > len(store.cell_offsets):
            pair_map = grown_pair_map(store.pairs, slots)
            offsets = np.full(len(pair_map.first), NEVER_COUNTED, dtype=np.int64)
            offsets[: len(store.cell_offsets)] = store.cell_offsets
            store = store._replace(pairs=pair_map, cell_offsets=offsets)
        if cells is None:
            cells = int(pairs * self._mean_cells * 1.05) + len(self._scratch)
        needed = int(store.used[0]) + cells
        if needed > len(store.cells) and len(store.cells) < self._max_cells:
            larger = np.empty(min(max(needed, 2 * len(store.cells)), self._max_cells))
            larger[: len(store.cells)] = store.cells
            store = store._replace(cells=larger)
        self.store = store

    def slot(self, i: int, j: int) -> int:
        """Return the slot of the pair {i, j}, assigning one if it has none."""
        found = int(find_slot(self.store.pairs, i, j))
        if found >= 0:
            return found
        self.reserve(1)
        return int(add_pair(self.store, i, j))

    def slots(self, pairs: np.ndarray) -> np.ndarray:
        """Return the slots of pairs, shape (k, 2), assigning one to those that have none."""
        found = np.empty(len(pairs), dtype=np.int64)
        # A copy, as numba compiles a kernel again for arrays that are read-only.
        _find_slots(self.store.pairs, np.array(pairs, dtype=np.int32), found)
        missing = np.flatnonzero(found < 0)
        self.reserve(len(missing))
        found[missing] = [add_pair(self.store, i, j) for i, j in pairs[missing].tolist()]
        return found

    def table(self, i: int, j: int) -> np.ndarray:
        """Return the counts of variables i and j.

        Returns
        -------
        int64 array, or float64 with case weights, shape (s_i, s_j)
            ``out[a, b]`` rows have x_i = a and x_j = b.

        Raises
        ------
        InputError
            If i and j are the same variable.
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
        counts = cells[: shape[0] * shape[1]].astype(self._kind).reshape(shape)
        return counts if i < j else counts.T

    def marginal(self, i: int) -> np.ndarray:
        """Return the counts of each state of variable i, shape (s_i,)."""
        offsets = self.packed.node_offsets
        return self.packed.margins[offsets[i] : offsets[i + 1]].astype(self._kind)

    def count_row(self, i: int) -> None:
        """Count all pairs (i, j) with j > i."""
        self.count_rows(i, i + 1)

    def count_rows(self, first: int, last: int) -> None:
        """Count all pairs (i, j) with first <= i < last and j > i.

        Counting several variables together is faster, since the planes of all partners are read
        once for all of them. Pairs that do not fit into the cache get a slot and are counted on
        request.
        """
        n = self.n_variables
        last = min(last, n - 1)
        sizes = self.cardinalities.astype(np.int64)
        following = sizes.sum() - np.cumsum(sizes)[first:last]  # states of the variables j > i
        pairs = (last - first) * (n - 1) - (first + last - 1) * (last - first) // 2
        self.reserve(pairs, int(sizes[first:last] @ following))
        for row in range(first, last, _ROWS_AT_ONCE):
            starts = np.empty((min(_ROWS_AT_ONCE, last - row), n), dtype=np.int64)
            _place_rows(self.packed, self.store, row, starts)
            count_block(self.packed, row, starts, self.store.cells)

    def count_all(self) -> None:
        """Count all pairs."""
        self.count_rows(0, self.n_variables - 1)


class CountedTable(DiscreteTable):
    """Names and labels of a table with the counts of all its pairs, and without its rows.

    Learners whose statistics are pair counts accept it; they learn what they learn from the rows.

    Parameters
    ----------
    parts : iterable of DiscreteTable
        Pieces of the rows with the same names and labels, each needed only while it is counted.
    """

    has_rows: ClassVar[bool] = False

    def __init__(self, parts: Iterable[DiscreteTable]) -> None:
        coding, packed = counts_of_all_pairs(parts)
        for name in ("names", "labels", "warnings"):
            object.__setattr__(self, name, getattr(coding, name))
        object.__setattr__(self, "_packed", packed)
        keep_packed(self, packed)

    _packed: PackedTable

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to be pickled: the parts are counted where they are."""
        raise TypeError("A counted table cannot be pickled.")

    @property
    def codes(self) -> np.ndarray:
        """Unavailable, since the rows are not in memory.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(
            "The rows of this table are not in memory; use a learner that needs only pair counts "
            "(the Bethe objective with the belief score)."
        )

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return int(self._packed.rows)

    def state_counts(self, i: int) -> np.ndarray:
        """Return the number of rows with each state of a variable."""
        at = self._packed.node_offsets
        return self._packed.margins[at[i] : at[i + 1]].astype(np.int64)
