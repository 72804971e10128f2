"""Checks of records for the browser: strict JSON of plain types, and the documented keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

PLAYER = (Path(__file__).resolve().parents[1] / "docs" / "player.md").read_text(encoding="utf-8")


def documented_keys(section: str) -> set[str]:
    """Return the keys in the first column of a table of docs/player.md."""
    text = PLAYER.split(f"## {section}")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


def strict(value: Any) -> Any:
    """Return a value after a round trip through strict JSON, which only plain types survive."""
    restored = json.loads(json.dumps(value, allow_nan=False))
    assert restored == value
    return restored


def check_types(value: Any) -> None:
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            check_types(entry)
    else:
        assert value is None or type(value) in (str, int, float, bool)
