"""File table.csv, with names in the first line; protection of cells against formulas.

Spreadsheets evaluate a cell that begins with ``=``, ``+``, ``-`` or ``@``, also after a tab or a
line end; a leading apostrophe makes it text. Numbers are not changed. This is applied to tables for
people. Files that programs read (edges.csv, trace.csv, data and matrices) contain the exact names.
"""

from __future__ import annotations

import io
from typing import TypeVar

import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.data.table import DiscreteTable
from graftviz.utils.files import csv_text

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


# --- table.csv: rows of a discrete table ----------------------------------------------------------

_SPECIAL = frozenset(',"\r\n')
_DIGITS = 18  # every whole number of so many digits fits in 64 bits


def table_csv(table: DiscreteTable) -> bytes:
    """Return the table as CSV in UTF-8, with labels as values, quoted only where necessary."""
    columns = [
        _values(states).take(pa.array(codes))
        for states, codes in zip(table.labels, table.codes, strict=True)
    ]
    # Arrow quotes either all texts or none.
    quoting = any(_SPECIAL.intersection(label) for states in table.labels for label in states)
    body = io.BytesIO()
    arrow_csv.write_csv(
        pa.Table.from_arrays(columns, names=list(table.names)),
        body,
        arrow_csv.WriteOptions(include_header=False, quoting_style="needed" if quoting else "none"),
    )
    return csv_text([table.names]).encode("utf-8") + body.getvalue()


def _values(labels: tuple[str, ...]) -> pa.Array:
    """Return labels as integers, which are never quoted, if all are integers; else as text."""
    if all(_is_whole(label) for label in labels):
        return pa.array([int(label) for label in labels])
    return pa.array(labels)


def _is_whole(label: str) -> bool:
    """Return whether a label is the normal form of a 64-bit whole number."""
    is_short = len(label) <= _DIGITS and label.isascii() and label.isdecimal()
    return is_short and str(int(label)) == label
