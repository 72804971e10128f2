"""Comparison of JSON values, without sentences, labels, times and random names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

TOLERANCE = 1e-9  # relative or absolute
# Processors round differently, and an iteration more or less may follow from it.
ITERATIONS = {"result.work.structure": 1e-3, "result.work.coefficients": 1e-3}
DIGITS = 12  # significant digits of recorded floats

# Fields that are left out, by key or by the keys of the field and its parent. Nothing else
# decides about it.
SENTENCES = {
    *("alt", "bpNote", "claim", "claims.measured", "closing", "course.measure", "exactNote"),
    *("facts", "legend", "missing", "note", "notes", "opening", "place", "problem", "sentence"),
    *("settings", "split", "steps.head", "steps.sub", "stop", "stop_reason", "tauText", "text"),
    *("tips", "title", "valueText", "words"),
}
LABELS = {
    *("head.objective", "header.objective", "objective_name", "outcome.yardstick"),
    *("racers.name", "rule.name", "rules.name", "runs.name"),
}
TIMES = {
    *("bpSeconds", "date", "exactSeconds", "inference_seconds", "learning_seconds", "seconds"),
}
RANDOM_NAMES = {"graph.id", "race", "run", "token"}
OF_THE_MACHINE = {"bytes", "machine", "peak_memory_mb", "sha256", "version", "versions"}
LEFT_OUT = frozenset(SENTENCES | LABELS | TIMES | RANDOM_NAMES | OF_THE_MACHINE)

_MOST_SHOWN = 80  # characters of a value in a message
_MISSING = object()


def comparable(value: Any, parent: str = "") -> Any:
    """Return a JSON value without the fields of :data:`LEFT_OUT`, its floats rounded.

    Parameters
    ----------
    value : JSON value
    parent : str
        Key of the field that holds the value.

    Raises
    ------
    TypeError
        For a value that is not JSON.
    """
    if isinstance(value, Mapping):
        return {
            str(key): comparable(item, key)
            for key, item in value.items()
            if LEFT_OUT.isdisjoint((key, f"{parent}.{key}"))
        }
    if isinstance(value, list | tuple):
        return [comparable(item, parent) for item in value]
    if isinstance(value, float):
        # JSON has no name for these.
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} is not JSON")


def differences(recorded: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yield a message for each place in which two comparable values differ.

    Parameters
    ----------
    recorded, found : JSON values
    path : str
        Path of both within the file.
    """
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in dict.fromkeys((*recorded, *found)):
            inner = f"{path}.{key}" if path else key
            yield from differences(recorded.get(key, _MISSING), found.get(key, _MISSING), inner)
    elif isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            yield f"{path}: recorded {len(recorded)} entries, found {len(found)}"
        for k, (old, new) in enumerate(zip(recorded, found, strict=False)):
            yield from differences(old, new, f"{path}[{k}]")
    elif not _is_equal(recorded, found, ITERATIONS.get(path, TOLERANCE)):
        yield f"{path}: recorded {_shown(recorded)}, found {_shown(found)}"


def _is_equal(recorded: Any, found: Any, tolerance: float) -> bool:
    if _is_number(recorded) and _is_number(found):
        return math.isclose(recorded, found, rel_tol=tolerance, abs_tol=tolerance)
    return type(recorded) is type(found) and bool(recorded == found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = "nothing" if value is _MISSING else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
