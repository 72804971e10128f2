"""Sums over the rows whose bits are set: the inner loop of scores by rows.

A processor adds sixteen contiguous numbers at once and masks those whose bit is 0. Compilers do not
generate this from a plain loop, so it is written in LLVM instructions here. All numbers are added
in the same order on every machine.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WIDTH = 16  # numbers in a vector
_WORD = 64  # bits in a word
_CHUNKS = _WORD // _WIDTH
_SUMS = 8  # least number of independent sums, to avoid a chain of dependent additions
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, _WIDTH)
_BITS = ir.VectorType(ir.IntType(1), _WIDTH)
_INDEX = ir.IntType(32)


def _folded(builder: Any, vector: Any) -> Any:
    """Return the sum of the entries of a vector, by repeated halving."""
    count = _WIDTH
    while count > 1:
        count //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                vector, undefined, ir.Constant(ir.VectorType(_INDEX, count), list(chosen))
            )
            for chosen in (range(count), range(count, 2 * count))
        )
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, ir.Constant(_INDEX, 0))


def _add_masked(
    _typing: Any,
    numbers: Any,
    _at: Any,
    _width: Any,
    bits: Any,
    _first_word: Any,
    _words: Any,
    out: Any,
    _into: Any,
    columns: Any,
) -> Any:
    """Add to ``out[into + t]`` the sum of column t over the rows with a bit, t < len(columns).

    Column t holds 64 numbers for each of the `words` words of bits that begin at `first_word`; it
    starts at ``numbers[at + t * width]``. Only the length of the tuple `columns` is used. Bounds
    are not checked.
    """
    count = len(columns)
    chains = min(_CHUNKS, max(1, _SUMS // count))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, at, width, planes, first_word, words, sums, into, _ = arguments
        data = context.make_array(signature.args[0])(context, builder, values).data
        masks = context.make_array(signature.args[3])(context, builder, planes).data
        target = context.make_array(signature.args[6])(context, builder, sums).data
        zero = ir.Constant(_VECTOR, [0.0] * _WIDTH)
        partial = [
            [cgutils.alloca_once_value(builder, zero) for _ in range(chains)] for _ in range(count)
        ]
        with cgutils.for_range(builder, words, intp=words.type) as loop:
            word = builder.load(builder.gep(masks, [builder.add(first_word, loop.index)]))
            row = builder.mul(loop.index, ir.Constant(words.type, _WORD))
            for chunk in range(_CHUNKS):
                shifted = builder.lshr(word, ir.Constant(word.type, chunk * _WIDTH))
                chosen = builder.bitcast(builder.trunc(shifted, ir.IntType(_WIDTH)), _BITS)
                first = builder.add(builder.add(at, row), ir.Constant(words.type, chunk * _WIDTH))
                for t in range(count):
                    place = builder.add(first, builder.mul(width, ir.Constant(width.type, t)))
                    pointer = builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())
                    vector = builder.load(pointer)
                    vector.align = 4
                    so_far = partial[t][chunk % chains]
                    masked = builder.select(chosen, vector, zero)
                    builder.store(builder.fadd(builder.load(so_far), masked), so_far)
        for t in range(count):
            vector = builder.load(partial[t][0])
            for chain in range(1, chains):
                vector = builder.fadd(vector, builder.load(partial[t][chain]))
            number = builder.fpext(_folded(builder, vector), ir.DoubleType())
            pointer = builder.gep(target, [builder.add(into, ir.Constant(into.type, t))])
            builder.store(builder.fadd(builder.load(pointer), number), pointer)
        return context.get_dummy_value()

    whole = types.intp
    return (
        types.void(numbers, whole, whole, bits, whole, whole, out, whole, columns),
        generate,
    )


add_masked: Any = intrinsic(_add_masked)
