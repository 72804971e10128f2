"""Numbers out of pickles, without running what a pickle may ask for.

A pickle is a program: loading one from the net with ``pickle.load`` hands it the machine. Here the
few names that arrays, dicts and lists of numbers need are answered by stand-ins which only note
what they were given; every other name is refused before anything is called.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from typing import Any

import numpy as np

from graftviz.errors import InputError

_KINDS = "biuf"  # of numbers: truth values, whole numbers with and without sign, fractions
# What a damaged or foreign pickle stumbles over, beside UnpicklingError.
_STUMBLES = (
    *(EOFError, AttributeError, LookupError, TypeError, ValueError, OverflowError),
    *(MemoryError, RecursionError, struct.error),
)


class _Note:
    """Stands for an object of numpy's: notes what it was made of and what state it was given."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = ()

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows arrays, dicts with a default, and lists, and nothing else."""

    def __init__(self, content: bytes) -> None:
        # Pickles of Python 2 hold the bytes of an array as text.
        super().__init__(io.BytesIO(content), encoding="latin-1")

        # Made anew for every file: what one file does to a class, no other one sees.
        class Array(_Note):
            pass

        class DType(_Note):
            pass

        def mapping(*_default: Any) -> dict[Any, Any]:
            return {}

        def encoded(text: str, _encoding: str = "") -> bytes:
            return text.encode("latin-1")

        self._known: dict[tuple[str, str], Any] = {
            ("numpy", "dtype"): DType,
            ("numpy", "ndarray"): "ndarray",
            ("collections", "defaultdict"): mapping,
            ("__builtin__", "list"): "list",
            ("builtins", "list"): "list",
            ("_codecs", "encode"): encoded,
        }
        for core in ("numpy.core.multiarray", "numpy._core.multiarray"):
            self._known[core, "_reconstruct"] = Array
        self.array, self.dtype = Array, DType

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name; refuse all that are not known."""
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return self._known[module, name]


def unpickled_array(content: bytes, title: str) -> np.ndarray:
    """Return the one array of numbers that a pickle holds, as float64 or int64.

    Raises
    ------
    InputError
        When it holds anything else, is damaged, or names something that arrays have no use for.
    """
    unpickler, found = _loaded(content, title)
    if not isinstance(found, unpickler.array):
        raise InputError(f"{title} holds no array; download it again.")
    try:
        return _array(found, unpickler.dtype)
    except _STUMBLES as problem:
        raise InputError(f"{title} holds no array of numbers ({problem}).") from None


def unpickled_adjacency(content: bytes, title: str) -> dict[int, list[int]]:
    """Return the lists of neighbours that a pickle holds by node.

    Raises
    ------
    InputError
        As :func:`unpickled_array`.
    """
    _, found = _loaded(content, title)
    if not isinstance(found, dict) or not all(
        _is_number(node) and isinstance(near, list) and all(_is_number(other) for other in near)
        for node, near in found.items()
    ):
        raise InputError(f"{title} holds no lists of neighbours; download it again.")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _loaded(content: bytes, title: str) -> tuple[_Unpickler, Any]:
    unpickler = _Unpickler(content)
    try:
        return unpickler, unpickler.load()
    except (pickle.UnpicklingError, *_STUMBLES) as problem:
        raise InputError(
            f"{title} is no pickle of numbers as published ({problem}); download it again."
        ) from None


def _array(note: Any, dtype_stand_in: type) -> np.ndarray:
    """Return the array whose state was noted: version, shape, type, order and bytes."""
    _, shape, kind, by_columns, content = note.state
    if not isinstance(kind, dtype_stand_in):
        raise TypeError("its type is not told")
    order = kind.state[1] if kind.state else "|"  # type: ignore[attr-defined]
    dtype = np.dtype(f"{'' if order == '|' else order}{kind.arguments[0]}")  # type: ignore[attr-defined]
    if dtype.kind not in _KINDS:
        raise TypeError(f"it holds {dtype}")
    raw = content.encode("latin-1") if isinstance(content, str) else content
    if not isinstance(raw, bytes):
        raise TypeError("its content is not told as bytes")
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(raw)} bytes cannot have the shape {shape}")
    array = np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if by_columns else "C")
    return array.astype(np.float64 if dtype.kind == "f" else np.int64)
