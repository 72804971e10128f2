"""Strict JSON of values with numpy scalars, infinities and NaN."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """Return `value` with plain lists and numbers; infinities and NaN become None."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return json_value(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, indent: int = 2) -> str:
    """Return the JSON text of a file with :func:`json_value` of `value`."""
    text = json.dumps(json_value(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"
