"""Short vectors of floats in registers, for kernels over few states.

A loop over s states, with s determined at run time, processes one number at a time, through memory.
``Lanes`` are vectors of s numbers, with s determined when the kernel is compiled: it is the length
of a tuple, `size`, which is passed to `load` and `splat` and whose elements are not used.
Arithmetic on them is compiled to vector instructions. They exist inside kernels only.

s numbers are stored as chunks of 4, 2 and 1, because a chunk that fills its register wastes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

_DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(32)
_DOUBLE_BYTES = 8


class LanesType(types.Type):
    """Numba type of `count` floats in registers."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.chunks = _chunks(count)
        super().__init__(name=f"Lanes({count})")


def _chunks(count: int) -> tuple[int, ...]:
    return (4,) * (count // 4) + (2,) * (count % 4 // 2) + (1,) * (count % 2)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: LanesType) -> None:
        members = [ir.VectorType(_DOUBLE, chunk) for chunk in kind.chunks]
        super().__init__(manager, kind, ir.LiteralStructType(members))


def _split(builder: Any, value: Any, kind: LanesType) -> list[Any]:
    return [builder.extract_value(value, k) for k in range(len(kind.chunks))]


def _join(builder: Any, parts: Sequence[Any]) -> Any:
    value = ir.Constant(ir.LiteralStructType([part.type for part in parts]), ir.Undefined)
    for k, part in enumerate(parts):
        value = builder.insert_value(value, part, k)
    return value


def _places(context: Any, builder: Any, array_type: Any, array: Any, at: Any, count: int) -> Any:
    """Yield the address of every chunk of ``array[at : at + count]``."""
    data = context.make_array(array_type)(context, builder, array).data
    before = 0
    for chunk in _chunks(count):
        place = builder.gep(data, [builder.add(at, ir.Constant(at.type, before))])
        yield builder.bitcast(place, ir.VectorType(_DOUBLE, chunk).as_pointer())
        before += chunk


def _load(_typing: Any, array: Any, _at: Any, size: Any) -> Any:
    """Load ``array[at : at + len(size)]`` without bounds checks."""
    kind = LanesType(len(size))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, start, _ = arguments
        parts = []
        for place in _places(context, builder, signature.args[0], values, start, kind.count):
            parts.append(builder.load(place))
            parts[-1].align = _DOUBLE_BYTES
        return _join(builder, parts)

    return kind(array, types.uintp, size), generate


def _store(_typing: Any, array: Any, _at: Any, lanes: Any) -> Any:
    """Store all lanes to ``array[at:]`` without bounds checks."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, start, value = arguments
        places = _places(context, builder, signature.args[0], values, start, lanes.count)
        for place, part in zip(places, _split(builder, value, lanes), strict=True):
            builder.store(part, place).align = _DOUBLE_BYTES
        return context.get_dummy_value()

    return types.void(array, types.uintp, lanes), generate


def _splat_chunk(builder: Any, number: Any, chunk: int) -> Any:
    undefined = ir.Constant(ir.VectorType(_DOUBLE, chunk), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_INDEX, 0))
    mask = ir.Constant(ir.VectorType(_INDEX, chunk), [0] * chunk)
    return builder.shuffle_vector(first, undefined, mask)


def _splat(_typing: Any, _number: Any, size: Any) -> Any:
    """Set every lane to the same number."""
    kind = LanesType(len(size))

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        parts = [_splat_chunk(builder, arguments[0], chunk) for chunk in kind.chunks]
        return _join(builder, parts)

    return kind(types.float64, size), generate


def _scaled(_typing: Any, lanes: Any, _number: Any) -> Any:
    """Multiply every lane by the same number."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        parts = _split(builder, arguments[0], lanes)
        factors = [_splat_chunk(builder, arguments[1], chunk) for chunk in lanes.chunks]
        pairs = zip(parts, factors, strict=True)
        return _join(builder, [_multiply(builder, *pair) for pair in pairs])

    return lanes(lanes, types.float64), generate


def _lanewise(work: Callable[[Any, Any, Any], Any], summary: str) -> Any:
    def typed(_typing: Any, left: Any, right: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pairs = zip(*(_split(builder, value, left) for value in arguments), strict=True)
            return _join(builder, [work(builder, *pair) for pair in pairs])

        return (left(left, right), generate) if left == right else None

    typed.__doc__ = summary
    return intrinsic(typed)


# "contract" allows fused multiply-add, with a single rounding.
def _add(builder: Any, left: Any, right: Any) -> Any:
    return builder.fadd(left, right, flags=("contract",))


def _multiply(builder: Any, left: Any, right: Any) -> Any:
    return builder.fmul(left, right, flags=("contract",))


def _smaller(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", left, right), left, right)


def _larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


def _any_less(_typing: Any, left: Any, right: Any) -> Any:
    """Return whether any lane of `left` is less than that of `right`, or one of them is NaN."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        found = ir.Constant(ir.IntType(1), 0)
        pairs = zip(*(_split(builder, value, left) for value in arguments), strict=True)
        for chunk, pair in zip(left.chunks, pairs, strict=True):
            bits = builder.bitcast(builder.fcmp_unordered("<", *pair), ir.IntType(chunk))
            found = builder.or_(found, builder.icmp_unsigned("!=", bits, bits.type(0)))
        return found

    return (types.boolean(left, right), generate) if left == right else None


def _lane(_typing: Any, lanes: Any, _at: Any) -> Any:
    """Return one lane; without cost where the loop over `at` is unrolled."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        value, at = arguments
        number = ir.Constant(_DOUBLE, ir.Undefined)
        before = 0
        for chunk, part in zip(lanes.chunks, _split(builder, value, lanes), strict=True):
            within = builder.sub(at, ir.Constant(at.type, before))
            is_here = builder.icmp_unsigned("<", within, ir.Constant(at.type, chunk))
            found = builder.extract_element(part, builder.trunc(within, _INDEX))
            number = builder.select(is_here, found, number)
            before += chunk
        return number

    return types.float64(lanes, types.intp), generate


def _with_lane(_typing: Any, lanes: Any, _at: Any, _number: Any) -> Any:
    """Replace one lane."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        value, at, number = arguments
        parts = []
        before = 0
        for chunk, part in zip(lanes.chunks, _split(builder, value, lanes), strict=True):
            within = builder.sub(at, ir.Constant(at.type, before))
            is_here = builder.icmp_unsigned("<", within, ir.Constant(at.type, chunk))
            changed = builder.insert_element(part, number, builder.trunc(within, _INDEX))
            parts.append(builder.select(is_here, changed, part))
            before += chunk
        return _join(builder, parts)

    return lanes(lanes, types.intp, types.float64), generate


def _halved(builder: Any, part: Any, work: Callable[[Any, Any, Any], Any]) -> Any:
    """Reduce a chunk to one number by repeated halving: the same order on every machine."""
    count = part.type.count
    while count > 1:
        count //= 2
        undefined = ir.Constant(part.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                part, undefined, ir.Constant(ir.VectorType(_INDEX, count), list(chosen))
            )
            for chosen in (range(count), range(count, 2 * count))
        )
        part = work(builder, low, high)
    return builder.extract_element(part, ir.Constant(_INDEX, 0))


def _folded(work: Callable[[Any, Any, Any], Any], summary: str) -> Any:
    def typed(_typing: Any, lanes: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            parts = _split(builder, arguments[0], lanes)
            result = _halved(builder, parts[0], work)
            for part in parts[1:]:
                result = work(builder, result, _halved(builder, part, work))
            return result

        return types.float64(lanes), generate

    typed.__doc__ = summary
    return intrinsic(typed)


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
splat: Any = intrinsic(_splat)
scaled: Any = intrinsic(_scaled)
lane: Any = intrinsic(_lane)
with_lane: Any = intrinsic(_with_lane)
any_less: Any = intrinsic(_any_less)
plus: Any = _lanewise(_add, "Add, lane by lane.")
times: Any = _lanewise(_multiply, "Multiply, lane by lane.")
minus: Any = _lanewise(lambda builder, *pair: builder.fsub(*pair), "Subtract, lane by lane.")
over: Any = _lanewise(lambda builder, *pair: builder.fdiv(*pair), "Divide, lane by lane.")
smaller: Any = _lanewise(_smaller, "Take the smaller number, lane by lane.")
larger: Any = _lanewise(_larger, "Take the larger number, lane by lane.")
total: Any = _folded(_add, "Return the sum of all lanes.")
largest: Any = _folded(_larger, "Return the largest lane.")
