"""Vector instructions that numba does not generate: packing comparisons, counting bits.

Counting the common bits of two planes one word at a time costs one cycle per word. Adding words
bitwise first (a carry-save adder: three words of weight w become one of weight w and one of weight
2 w, for all 64 bits and all lanes at once) leaves one word in 16 to count, which halves the time.
On processors that count the bits of whole vectors, these are counted directly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD_BITS = 64
_LANES = 4  # words per vector
_VECTORS = 16  # vectors added before bits are counted
BLOCK_WORDS = _LANES * _VECTORS  # the length of a plane is a multiple of this
SHORT_BLOCK_WORDS = BLOCK_WORDS // 2  # the same, for planes of sampled rows

_WORD = ir.IntType(WORD_BITS)
_VECTOR = ir.VectorType(_WORD, _LANES)


def _and_count(_context: Any, planes: Any, _row: Any, _other: Any) -> Any:
    """Count the common bits of two rows of `planes` (words in blocks of BLOCK_WORDS)."""
    return _counter(planes, _VECTORS)


def _and_count_short(_context: Any, planes: Any, _row: Any, _other: Any) -> Any:
    """Count the common bits of two rows of `planes` (words in blocks of SHORT_BLOCK_WORDS)."""
    return _counter(planes, _VECTORS // 2)


def _counter(planes: Any, vectors: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        words = builder.extract_value(array.shape, 1)
        rows = [builder.gep(array.data, [builder.mul(row, words)]) for row in arguments[1:]]
        blocks = builder.udiv(words, ir.Constant(_WORD, _LANES * vectors))
        if binding.get_host_cpu_features().get("avx512vpopcntdq", False):
            total = _count_directly(builder, rows, blocks, vectors)
        else:
            total = _count_by_carries(builder, rows, blocks, vectors)
        lanes = [builder.extract_element(total, ir.Constant(_WORD, k)) for k in range(_LANES)]
        count = lanes[0]
        for lane in lanes[1:]:
            count = builder.add(count, lane)
        return count

    return types.int64(planes, types.int64, types.int64), generate


def _count_directly(builder: Any, rows: list[Any], blocks: Any, vectors: int) -> Any:
    total = cgutils.alloca_once_value(builder, _constant(0))
    with cgutils.for_range(builder, blocks) as loop:
        found = builder.load(total)
        for k in range(vectors):
            place = builder.mul(loop.index, ir.Constant(_WORD, _LANES * vectors))
            found = builder.add(found, _ones(builder, _common(builder, rows, place, k)))
        builder.store(found, total)
    return builder.load(total)


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
and_count_short: Any = intrinsic(_and_count_short)
equal_mask: Any = intrinsic(_equal_mask)
