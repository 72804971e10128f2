"""Protection of CSV cells against evaluation as formulas in spreadsheets.

Spreadsheets evaluate a cell that begins with ``=``, ``+``, ``-`` or ``@``, also after a tab or a
line end; a leading apostrophe makes it text. Numbers are not changed.

This is applied to tables for people. Files that programs read (edges.csv, trace.csv, data and
matrices) contain the exact names.
"""

from __future__ import annotations

from typing import TypeVar

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
T = TypeVar("T")


def shown_cell(value: T) -> T | str:
    """Return `value`, with a leading apostrophe if a spreadsheet would evaluate it."""
    if not isinstance(value, str) or not value.lstrip(" ").startswith(_STARTS):
        return value
    return value if _is_number(value) else f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text
