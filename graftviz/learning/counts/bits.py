"""Vector instructions that numba does not generate: packing comparisons, counting bits.

Counting the common bits of two planes one word at a time costs one cycle per word. Adding words
bitwise first (a carry-save adder: three words of weight w become one of weight w and one of weight
2 w, for all 64 bits and all lanes at once) leaves one word in 16 to count, which halves the time.
On processors that count the bits of whole vectors, these are counted directly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

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
