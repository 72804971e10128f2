"""Values that JSON can express."""

from __future__ import annotations

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
