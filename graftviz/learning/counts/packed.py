"""Tables as bit-packed one-hot planes, and the counting of pairs from them.

Each variable with s states is stored as s - 1 bit planes of N bits. The number of rows in state
(a, b) is the population count of the AND of two planes; only (s_i - 1)(s_j - 1) cells are counted,
the rest follow from the margins.

Counts of all pairs, made in advance, can replace the planes: they are sums over parts of the rows.

Vector instructions that numba does not generate: packing comparisons, counting bits. Counting the
common bits of two planes one word at a time costs one cycle per word. Adding words bitwise first (a
carry-save adder: three words of weight w become one of weight w and one of weight 2 w, for all 64
bits and all lanes at once) leaves one word in 16 to count, which halves the time. On processors
that count the bits of whole vectors, these are counted directly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from graftviz.data.table import DiscreteTable
from graftviz.utils.compiling import inner_kernel, kernel
from graftviz.utils.errors import InputError

WORD_BITS = 64
_LANES = 4  # words per vector
_VECTORS = 16  # vectors added before bits are counted
BLOCK_WORDS = _LANES * _VECTORS  # the length of a plane is a multiple of this
SHORT_BLOCK_WORDS = BLOCK_WORDS // 2  # the same, for planes of sampled rows
PLANES_AT_ONCE = _LANES  # planes that and_counts compares with another one
_LINE = 8  # words of a cache line

_WORD = ir.IntType(WORD_BITS)
_VECTOR = ir.VectorType(_WORD, _LANES)


def new_planes(count: int, words: int) -> np.ndarray:
    """Return `count` empty planes that start at cache lines, which makes reading vectors faster."""
    size = count * words
    memory = np.zeros(size + _LINE, dtype=np.uint64)
    start = -memory.ctypes.data % (_LINE * memory.itemsize) // memory.itemsize
    return memory[start : start + size].reshape(count, words)


def _and_count(_context: Any, planes: Any, _row: Any, _other: Any) -> Any:
    """Count the common bits of two rows of `planes` (words in blocks of BLOCK_WORDS)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        total = _totals(builder, array, arguments[1], [arguments[2]], _VECTORS)[0]
        lanes = [builder.extract_element(total, ir.Constant(_WORD, k)) for k in range(_LANES)]
        count = lanes[0]
        for lane in lanes[1:]:
            count = builder.add(count, lane)
        return count

    return types.int64(planes, types.int64, types.int64), generate


def _and_counts(
    _context: Any, planes: Any, _row: Any, _others: Any, counts: Any, _place: Any
) -> Any:
    """Write the numbers of common bits of a row and four rows from `others`.

    The words of `planes` are in blocks of SHORT_BLOCK_WORDS. The numbers are written to `counts`
    (float64) from `place`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        others = [builder.add(arguments[2], ir.Constant(_WORD, k)) for k in range(_LANES)]
        totals = _totals(builder, array, arguments[1], others, _VECTORS // 2)
        low = _paired(builder, totals[0], totals[1], (0, 4, 2, 6), 1)
        high = _paired(builder, totals[2], totals[3], (0, 4, 2, 6), 1)
        sums = _paired(builder, low, high, (0, 1, 4, 5), 2)
        sums = builder.uitofp(sums, ir.VectorType(ir.DoubleType(), _LANES))
        out = context.make_array(signature.args[3])(context, builder, arguments[3])
        place = builder.gep(out.data, [arguments[4]])
        builder.store(sums, builder.bitcast(place, sums.type.as_pointer()), align=WORD_BITS // 8)
        return context.get_dummy_value()

    return types.none(planes, types.int64, types.int64, counts, types.int64), generate


def _paired(builder: Any, x: Any, y: Any, lanes: tuple[int, ...], step: int) -> Any:
    """Return the sum of these lanes of x and then y, and of those `step` further on."""
    kind = ir.VectorType(ir.IntType(32), _LANES)
    chosen = (lanes, [lane + step for lane in lanes])
    return builder.add(*(builder.shuffle_vector(x, y, ir.Constant(kind, k)) for k in chosen))


def _totals(builder: Any, array: Any, row: Any, others: list[Any], vectors: int) -> list[Any]:
    """Return for each of `others` the numbers of bits in common with `row`, by lanes."""
    words = builder.extract_value(array.shape, 1)
    start, *starts = (builder.gep(array.data, [builder.mul(k, words)]) for k in (row, *others))
    blocks = builder.udiv(words, ir.Constant(_WORD, _LANES * vectors))
    if binding.get_host_cpu_features().get("avx512vpopcntdq", False):
        return _count_directly(builder, start, starts, blocks, vectors)
    return [_count_by_carries(builder, [start, other], blocks, vectors) for other in starts]


def _count_directly(
    builder: Any, row: Any, others: list[Any], blocks: Any, vectors: int
) -> list[Any]:
    totals = [cgutils.alloca_once_value(builder, _constant(0)) for _ in others]
    with cgutils.for_range(builder, blocks) as loop:
        found = [builder.load(total) for total in totals]
        for k in range(vectors):
            place = builder.mul(loop.index, ir.Constant(_WORD, _LANES * vectors))
            for m, other in enumerate(others):
                common = _common(builder, [row, other], place, k)
                found[m] = builder.add(found[m], _ones(builder, common))
        for total, value in zip(totals, found, strict=True):
            builder.store(value, total)
    return [builder.load(total) for total in totals]


def _count_by_carries(builder: Any, rows: list[Any], blocks: Any, vectors: int) -> Any:
    weights = vectors.bit_length() - 1  # partial sums of weight 1, 2, 4, … below `vectors`
    partial = [cgutils.alloca_once_value(builder, _constant(0)) for _ in range(weights)]
    total = cgutils.alloca_once_value(builder, _constant(0))
    with cgutils.for_range(builder, blocks) as loop:
        sums = [builder.load(pointer) for pointer in partial]
        place = builder.mul(loop.index, ir.Constant(_WORD, _LANES * vectors))

        def carry(level: int, start: int) -> Any:
            """Add 2^(level + 1) vectors to the partial sums; return the carry."""
            if level == 0:
                two = [_common(builder, rows, place, start + k) for k in (0, 1)]
            else:
                two = [carry(level - 1, start + k * 2**level) for k in (0, 1)]
            sums[level], carried = _full_adder(builder, sums[level], *two)
            return carried

        last = carry(weights - 1, 0)
        for pointer, value in zip(partial, sums, strict=True):
            builder.store(value, pointer)
        builder.store(builder.add(builder.load(total), _ones(builder, last)), total)
    result = builder.load(total)
    for pointer in reversed(partial):
        ones = _ones(builder, builder.load(pointer))
        result = builder.add(builder.shl(result, _constant(1)), ones)
    return result


def _full_adder(builder: Any, x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """Return sum and carry, in a form that maps to ternary logic instructions."""
    differ = builder.xor(x, y)
    carried = builder.xor(x, builder.and_(differ, builder.xor(x, z)))
    return builder.xor(differ, z), carried


def _common(builder: Any, rows: list[Any], place: Any, k: int) -> Any:
    """Return the intersection of vector k, counted from word `place`, of both rows."""
    at = builder.add(place, ir.Constant(_WORD, _LANES * k))
    two = [
        builder.load(
            builder.bitcast(builder.gep(row, [at]), _VECTOR.as_pointer()), align=WORD_BITS // 8
        )
        for row in rows
    ]
    return builder.and_(*two)


def _ones(builder: Any, vector: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    count = cgutils.get_or_insert_function(builder.module, kind, f"llvm.ctpop.v{_LANES}i64")
    return builder.call(count, [vector])


def _constant(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * _LANES)


def _equal_mask(_context: Any, codes: Any, _start: Any, _code: Any) -> Any:
    """Return a word whose bit r is set if ``codes[start + r] == code``; 64 codes are read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        kind = array.data.type.pointee
        vector = ir.VectorType(kind, WORD_BITS)
        place = builder.gep(array.data, [arguments[1]])
        seen = builder.load(builder.bitcast(place, vector.as_pointer()), align=kind.width // 8)
        code = arguments[2]
        if kind.width < WORD_BITS:
            code = builder.trunc(code, kind)
        first = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), code, first)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WORD_BITS), [0] * WORD_BITS)
        repeated = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), everywhere)
        return builder.bitcast(builder.icmp_unsigned("==", seen, repeated), _WORD)

    return types.uint64(codes, types.int64, types.int64), generate


and_count: Any = intrinsic(_and_count)
and_counts: Any = intrinsic(_and_counts)
equal_mask: Any = intrinsic(_equal_mask)


MAX_ROWS = 2**31 - 1  # a pair of planes is counted in 32 bits
_PACKED: WeakKeyDictionary[DiscreteTable, PackedTable] = WeakKeyDictionary()  # tables in memory


class PackedTable(NamedTuple):
    """Kernel-side form of a table, read-only.

    Attributes
    ----------
    planes : uint64 array, shape (P, W)
        W words per plane, ⌈N / 64⌉ rounded up to whole blocks of 64; bits past the last row are
        zero. W = 0 if `pair_cells` is used instead.
    plane_offsets : int64 array, shape (n + 1,)
        Variable i has the s_i - 1 planes from ``plane_offsets[i]``.
    margins : float64 array, flat
        Counts of each state of each variable.
    node_offsets : int64 array, shape (n + 1,)
        Margins of variable i are ``margins[node_offsets[i]:node_offsets[i + 1]]``.
    rows : float
        N.
    pair_cells : float64 array
        The counts of all pairs in lexicographic order, if they were counted in advance.
    pair_starts : int64 array
        Start of the pairs (i, i + 1), (i, i + 2), … in `pair_cells`; empty if it is not used.
    codes : unsigned array, shape (n, N)
        Rows of a table with case weights, which are counted from their codes; otherwise no rows.
    weights : float64 array, shape (N,)
        Case weights. With them, counts are sums of weights. All counts are float64, with and
        without weights, so that the same kernels serve both; whole numbers are exact.
    """

    planes: np.ndarray
    plane_offsets: np.ndarray
    margins: np.ndarray
    node_offsets: np.ndarray
    rows: float
    pair_cells: np.ndarray
    pair_starts: np.ndarray
    codes: np.ndarray
    weights: np.ndarray


@kernel
def _pack_variable(codes, states, planes, margins):
    """Set bit r of plane k if ``codes[r] == k``, for k < states - 1, and add to the margins."""
    rows = len(codes)
    whole = rows // WORD_BITS
    for k in range(states - 1):
        for w in range(whole):
            planes[k, w] = equal_mask(codes, WORD_BITS * w, k)
    for r in range(WORD_BITS * whole, rows):
        if codes[r] < states - 1:
            planes[codes[r], whole] |= np.uint64(1) << np.uint64(r % WORD_BITS)
    last = (rows + WORD_BITS - 1) // WORD_BITS
    rest = rows
    for k in range(states - 1):
        count = _count_bits(planes, k, last)
        margins[k] += count
        rest -= count
    margins[states - 1] += rest


@inner_kernel
def _count_bits(planes, k, words):
    """Return the number of set bits in the first words of plane k."""
    total = np.int64(0)
    for w in range(words):
        word = planes[k, w]
        word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
        word = (word & np.uint64(0x3333333333333333)) + (
            (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
        )
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return total


@kernel
def count_pair(packed, i, j, out):
    """Write the counts of pair (i, j) to `out`, row-major, s_i · s_j cells."""
    if len(packed.pair_starts) > 0:
        _copy_pair(packed, i, j, out)
    elif len(packed.weights) > 0:
        _add_weights(packed, i, j, out)
    else:
        # Arrays are extracted from the tuple once, as each extraction costs a reference count.
        planes, starts, margins = packed.planes, packed.plane_offsets, packed.margins
        _count_planes(planes, starts, margins, packed.node_offsets, i, j, out, np.int64(0))


@inner_kernel
def _add_weights(packed, i, j, out):
    """Write the sums of the weights of the rows in each pair of states to `out`."""
    codes, weights, offsets = packed.codes, packed.weights, packed.node_offsets
    states_j = offsets[j + 1] - offsets[j]
    out[: (offsets[i + 1] - offsets[i]) * states_j] = 0
    for r in range(len(weights)):
        out[codes[i, r] * states_j + codes[j, r]] += weights[r]


@inner_kernel
def _count_planes(planes, plane_offsets, margins, offsets, i, j, out, at):
    """Count pair (i, j) from its planes into ``out[at:]``."""
    margin_i, margin_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - margin_i, offsets[j + 1] - margin_j
    planes_i, planes_j = plane_offsets[i], plane_offsets[j]
    last = at + (states_i - 1) * states_j
    for b in range(states_j):
        out[last + b] = margins[margin_j + b]
    for a in range(states_i - 1):
        row = at + a * states_j
        rest = margins[margin_i + a]
        for b in range(states_j - 1):
            count = np.int32(and_count(planes, planes_i + a, planes_j + b))
            out[row + b] = count
            rest -= count
            out[last + b] -= count
        out[row + states_j - 1] = rest
        out[last + states_j - 1] -= rest


@kernel
def count_block(packed, first, starts, cells):
    """Count the pairs of variables `first` … with all later variables into `cells`.

    Parameters
    ----------
    starts : int64 array, shape (rows, n)
        Start of the counts of pair (first + k, j) in `cells`; -1: the pair is skipped.
    """
    planes, plane_offsets = packed.planes, packed.plane_offsets
    margins, offsets = packed.margins, packed.node_offsets
    rows, n = starts.shape
    # The planes of these few variables stay in the cache while those of partners are read once.
    for j in range(first + 1, n):
        for k in range(min(rows, j - first)):
            at = starts[k, j]
            if at < 0:
                continue
            if len(packed.pair_starts) > 0:
                _copy_pair(packed, first + k, j, cells[at:])
            elif len(packed.weights) > 0:
                _add_weights(packed, first + k, j, cells[at:])
            else:
                _count_planes(planes, plane_offsets, margins, offsets, first + k, j, cells, at)


@inner_kernel
def _copy_pair(packed, i, j, out):
    """Copy the counts of a pair that was counted in advance, transposed if i > j."""
    low, high = min(i, j), max(i, j)
    offsets, cells = packed.node_offsets, packed.pair_cells
    states_i, states_j = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
    states_low = offsets[low + 1] - offsets[low]
    at = packed.pair_starts[low] + states_low * (offsets[high] - offsets[low + 1])
    for a in range(states_i):
        for b in range(states_j):
            k = a * states_j + b if i < j else b * states_i + a
            out[a * states_j + b] = cells[at + k]


@kernel
def _add_row(part, i, at, cells, scratch):
    """Add the counts of the pairs (i, j), j > i, of a part of the rows to ``cells[at:]``."""
    offsets = part.node_offsets
    states_i = offsets[i + 1] - offsets[i]
    for j in range(i + 1, len(offsets) - 1):
        size = states_i * (offsets[j + 1] - offsets[j])
        count_pair(part, i, j, scratch)
        for k in range(size):
            cells[at + k] += scratch[k]
        at += size


def seen_states(margins: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the number of states of each variable that occur, from the counts of all states."""
    seen: np.ndarray = np.add.reduceat(np.asarray(margins) > 0, offsets[:-1], dtype=np.int64)
    return seen


def pairs_bytes(cardinalities: np.ndarray) -> int:
    """Return the size of the counts of all pairs in bytes."""
    total, squares = int(cardinalities.sum()), int((cardinalities**2).sum())
    return 8 * (total**2 - squares) // 2


def pack_table(table: DiscreteTable) -> PackedTable:
    """Return a table as bit planes, which takes about 0.5 ns per entry.

    The planes are cached as long as the table is used.

    Raises
    ------
    InputError
        If there are more rows than a count can hold.
    """
    packed = _PACKED.get(table)
    if packed is None:
        packed = _newly_packed(table)
        keep_packed(table, packed)
    return packed


def keep_packed(table: DiscreteTable, packed: PackedTable) -> None:
    """Let :func:`pack_table` return `packed` for a table as long as the table is used."""
    _PACKED[table] = packed


def counts_of_all_pairs(parts: Iterable[DiscreteTable]) -> tuple[DiscreteTable, PackedTable]:
    """Return the coding of a table, and the counts of all its pairs, from parts of its rows."""
    coding, total, cells = None, None, np.zeros(0)
    for part in parts:
        packed = _newly_packed(part)
        if coding is None or total is None:
            coding = DiscreteTable.coding(part.names, part.labels, part.warnings)
            total = _empty(part.cardinalities, 0)
            starts = _pair_starts(part.cardinalities, total.node_offsets)
            cells = np.zeros(int(starts[-1]))  # no pair begins at the last variable
        assert (part.names, part.labels) == (coding.names, coding.labels)
        scratch = np.zeros(int(part.cardinalities.max()) ** 2)
        for i in range(part.n_variables - 1):
            _add_row(packed, i, starts[i], cells, scratch)
        margins, rows = total.margins + packed.margins, total.rows + packed.rows
        total = total._replace(margins=margins, rows=rows)
    if coding is None or total is None:
        raise InputError("There are no rows to count.")
    return coding, _frozen(total._replace(pair_cells=cells, pair_starts=starts))


def _newly_packed(table: DiscreteTable) -> PackedTable:
    if table.n_rows > MAX_ROWS:
        raise InputError(
            f"The table has {table.n_rows:,} rows, more than the {MAX_ROWS:,} that counts of 32 "
            "bits can hold; use fewer."
        )
    if table.weights is not None:
        return _with_weights(table, table.weights)
    packed = _empty(table.cardinalities, table.n_rows)
    for i, states in enumerate(table.cardinalities.tolist()):
        start, at = packed.plane_offsets[i], packed.node_offsets[i]
        planes = packed.planes[start : start + states - 1]
        _pack_variable(table.codes[i], states, planes, packed.margins[at : at + states])
    return _frozen(packed)


def _pair_starts(sizes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the start of the counts of the pairs (i, i + 1), … for every variable i."""
    row_sizes = sizes * (offsets[-1] - offsets[1:])
    starts: np.ndarray = np.concatenate([[0], np.cumsum(row_sizes)[:-1]])
    return starts


def _frozen(packed: PackedTable) -> PackedTable:
    """Return the table with read-only arrays."""
    for array in packed:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return packed


def _with_weights(table: DiscreteTable, weights: np.ndarray) -> PackedTable:
    """Return a table with case weights, to be counted from its codes."""
    margins = [table.state_counts(i) for i in range(table.n_variables)]
    packed = _empty(table.cardinalities, 0)._replace(
        margins=np.concatenate(margins),
        rows=float(table.total_weight),
        codes=table.codes,
        weights=weights,
    )
    return _frozen(packed)


def _plane_words(rows: int) -> int:
    return -(-rows // (WORD_BITS * BLOCK_WORDS)) * BLOCK_WORDS


def _empty(cardinalities: np.ndarray, rows: int) -> PackedTable:
    plane_offsets = np.concatenate([[0], np.cumsum(cardinalities - 1)])
    node_offsets = np.concatenate([[0], np.cumsum(cardinalities)])
    return PackedTable(
        planes=new_planes(int(plane_offsets[-1]), _plane_words(rows)),
        plane_offsets=plane_offsets,
        margins=np.zeros(int(node_offsets[-1])),
        node_offsets=node_offsets,
        rows=float(rows),
        pair_cells=np.zeros(0),
        pair_starts=np.zeros(0, dtype=np.int64),
        codes=np.zeros((len(cardinalities), 0), dtype=np.uint8),
        weights=np.zeros(0),
    )
