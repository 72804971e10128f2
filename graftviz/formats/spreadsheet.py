"""Cells that a spreadsheet shows instead of running them.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, also behind
a tab or a line end; with an apostrophe in front it is text. Numbers are left alone.

This is for tables that people look at. Files that programs read back (edges.csv, trace.csv, data
and matrices) keep every name as it is.
"""

from __future__ import annotations

from typing import TypeVar

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
T = TypeVar("T")


def shown_cell(value: T) -> T | str:
    """Return a cell as it is, or as text where a spreadsheet would calculate it."""
    if not isinstance(value, str) or not value.lstrip(" ").startswith(_STARTS):
        return value
    return value if _is_number(value) else f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text
