"""Strict JSON of values with numpy scalars, infinities and NaN."""

from __future__ import annotations

import json
import math
from typing import Any


def json_value(value: Any) -> Any:
    """Return `value` with numpy scalars as Python scalars, and infinities and NaN as None."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, indent: int = 2) -> str:
    """Return the JSON text of a file with :func:`json_value` of `value`."""
    text = json.dumps(json_value(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"


def attributes(owner: Any, *names: str) -> dict[str, Any]:
    """Return attributes of an object by their names."""
    return {name: getattr(owner, name) for name in names}
