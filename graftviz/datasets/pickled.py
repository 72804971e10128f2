"""Safe reader of arrays and lists of numbers from pickles.

A pickle is a program: ``pickle.load`` on a file from the Internet can execute arbitrary code. This
reader replaces the few names that arrays, dicts and lists of numbers need by stand-ins that only
record their arguments. All other names are rejected before anything is called.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from typing import Any

import numpy as np

from graftviz.errors import InputError

_KINDS = "biuf"  # kinds of dtypes: bool, signed and unsigned integers, floats
# Exceptions raised for damaged or foreign pickles, in addition to UnpicklingError.
_DAMAGE_ERRORS = (
    *(EOFError, AttributeError, LookupError, TypeError, ValueError, OverflowError),
    *(MemoryError, RecursionError, struct.error),
)


class _Recorder:
    """Stand-in for a numpy object, which records its arguments and its state."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = ()

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    """Unpickler that accepts only arrays, dicts, defaultdicts and lists."""

    def __init__(self, content: bytes) -> None:
        # Pickles of Python 2 hold the bytes of an array as text.
        super().__init__(io.BytesIO(content), encoding="latin-1")

        # Created for every file, so that a file cannot change the classes for others.
        class Array(_Recorder):
            pass

        class DType(_Recorder):
            pass

        def mapping(*_default: Any) -> dict[Any, Any]:
            return {}

        def encoded(text: str, _encoding: str = "") -> bytes:
            return text.encode("latin-1")

        self._stand_ins: dict[tuple[str, str], Any] = {
            ("numpy", "dtype"): DType,
            ("numpy", "ndarray"): "ndarray",
            ("collections", "defaultdict"): mapping,
            ("__builtin__", "list"): "list",
            ("builtins", "list"): "list",
            ("_codecs", "encode"): encoded,
        }
        for core in ("numpy.core.multiarray", "numpy._core.multiarray"):
            self._stand_ins[core, "_reconstruct"] = Array
        self.array, self.dtype = Array, DType

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name; raise UnpicklingError for all other names."""
        if (module, name) not in self._stand_ins:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return self._stand_ins[module, name]


def unpickled_array(content: bytes, title: str) -> np.ndarray:
    """Return the array of numbers in a pickle, as float64 or int64.

    Raises
    ------
    InputError
        When the pickle holds anything else, is damaged, or refers to names that arrays do not
        need.
    """
    unpickler, found = _load(content, title)
    if not isinstance(found, unpickler.array):
        raise InputError(f"{title} does not hold an array; download it again.")
    try:
        return _array(found, unpickler.dtype)
    except _DAMAGE_ERRORS as problem:
        raise InputError(f"{title} does not hold an array of numbers ({problem}).") from None


def unpickled_adjacency(content: bytes, title: str) -> dict[int, list[int]]:
    """Return the lists of neighbours, by node, in a pickle.

    Raises
    ------
    InputError
        As :func:`unpickled_array`.
    """
    _, found = _load(content, title)
    if not isinstance(found, dict) or not all(
        _is_number(node) and isinstance(near, list) and all(_is_number(other) for other in near)
        for node, near in found.items()
    ):
        raise InputError(f"{title} does not hold lists of neighbours; download it again.")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _load(content: bytes, title: str) -> tuple[_Unpickler, Any]:
    unpickler = _Unpickler(content)
    try:
        return unpickler, unpickler.load()
    except (pickle.UnpicklingError, *_DAMAGE_ERRORS) as problem:
        raise InputError(
            f"{title} is not the published pickle of numbers ({problem}); download it again."
        ) from None


def _array(recorder: Any, dtype_stand_in: type) -> np.ndarray:
    """Return the array for a recorded state: version, shape, type, order and bytes."""
    _, shape, kind, by_columns, content = recorder.state
    if not isinstance(kind, dtype_stand_in):
        raise TypeError("its type is missing")
    order = kind.state[1] if kind.state else "|"  # type: ignore[attr-defined]
    dtype = np.dtype(f"{'' if order == '|' else order}{kind.arguments[0]}")  # type: ignore[attr-defined]
    if dtype.kind not in _KINDS:
        raise TypeError(f"its type is {dtype}")
    raw = content.encode("latin-1") if isinstance(content, str) else content
    if not isinstance(raw, bytes):
        raise TypeError("its content is not bytes")
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(raw)} bytes cannot have the shape {shape}")
    array = np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if by_columns else "C")
    return array.astype(np.float64 if dtype.kind == "f" else np.int64)
