"""Parts that records and messages of several views share: numbers, and the nodes of a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

DIGITS = 6
_MAX_COUNT = 100_000


def number(value: float | None, digits: int = DIGITS) -> float | None:
    """Return a number of some significant digits; None for None, NaN and infinities."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def numbers(values: Iterable[float], digits: int = DIGITS) -> list[float | None]:
    """Return numbers of some significant digits; None for NaN and infinities."""
    return [number(value, digits) for value in values]


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Return nested mappings and sequences with their floats rounded, as plain dicts and lists."""
    if isinstance(value, float):
        return number(value, digits)
    if isinstance(value, Mapping):
        return {key: rounded(entry, digits) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry, digits) for entry in value]
    return value


def placed_nodes(
    names: Sequence[str], positions: np.ndarray, *, has_natural_positions: bool
) -> dict[str, Any]:
    """Return the variables of a graph and their positions, 0 … 10000, y downwards.

    Natural positions (a grid, a map) keep their aspect ratio.
    """
    return {
        "names": list(names),
        "positions": np.rint(positions).astype(int).tolist(),
        "given": has_natural_positions,
    }


def json_object(parts: Mapping[str, str | None]) -> str:
    """Return a JSON object of members that are JSON texts, without members that are None."""
    pairs = (f'"{name}":{text}' for name, text in parts.items() if text is not None)
    return "{" + ",".join(pairs) + "}"


def whole_number(value: object, default: int) -> int:
    """Return a number from the browser as a whole number within the limits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return int(max(0, min(_MAX_COUNT, value)))


def share_of(value: object) -> float | None:
    """Return a number from 0 to 1 the browser sent; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return None
    return float(value)
