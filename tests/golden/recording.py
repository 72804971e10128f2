"""Recorded files: where they are, how they are written, what computes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden import command_line, learners, pages
from tests.golden.comparison import comparable, differences

FOLDER = Path(__file__).parent / "recorded"
_LONG = 100  # characters of a line that is divided


def recordings() -> dict[str, Callable[[], Any]]:
    """Return the functions that compute what is recorded, by name."""
    return {**learners.recordings(), **command_line.recordings(), **pages.recordings()}


def computed(name: str) -> Any:
    """Compute what is recorded under a name, as a comparable value."""
    return comparable(recordings()[name]())


def record(name: str, value: Any) -> None:
    """Write a comparable value to its file."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(value) + "\n", encoding="utf-8")


def mismatches(name: str, found: Any) -> list[str]:
    """Return a message for each place in which a value differs from the recorded one."""
    path = path_of(name)
    if not path.exists():
        return [f"{path.name} is missing: run python -m tests.golden --record {name}"]
    recorded = comparable(json.loads(path.read_text(encoding="utf-8")))
    return [f"{name}.json: {message}" for message in differences(recorded, found)]


def path_of(name: str) -> Path:
    """Return the file of a recording."""
    return FOLDER / f"{name}.json"


def recorded_names() -> set[str]:
    """Return the names of all recorded files."""
    return {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.json")}


def _text(value: Any) -> str:
    """Return JSON with a line for each part, so that changes can be read line by line."""
    short = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if len(short) <= _LONG or not isinstance(value, dict | list):
        return short
    if isinstance(value, dict):
        keyed = ((json.dumps(key, ensure_ascii=False) + ":", item) for key, item in value.items())
        return "{\n" + ",\n".join(key + _text(item) for key, item in keyed) + "\n}"
    if not any(isinstance(item, dict | list) for item in value):
        return short
    return "[\n" + ",\n".join(map(_text, value)) + "\n]"
