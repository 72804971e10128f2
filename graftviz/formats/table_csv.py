"""table.csv: the rows of a discrete table for any program, names in the first line."""

from __future__ import annotations

import io

import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.table import DiscreteTable
from graftviz.table.csv_text import csv_text

_SPECIAL = frozenset(',"\r\n')
_DIGITS = 18  # of any whole number that fits 64 bits


def table_csv(table: DiscreteTable) -> bytes:
    """Return the table as CSV in UTF-8, values by their labels, quoted only where need be."""
    columns = [
        _values(states).take(pa.array(codes))
        for states, codes in zip(table.labels, table.codes, strict=True)
    ]
    # Arrow quotes all text or none.
    quoting = any(_SPECIAL.intersection(label) for states in table.labels for label in states)
    body = io.BytesIO()
    arrow_csv.write_csv(
        pa.Table.from_arrays(columns, names=list(table.names)),
        body,
        arrow_csv.WriteOptions(include_header=False, quoting_style="needed" if quoting else "none"),
    )
    return csv_text([table.names]).encode("utf-8") + body.getvalue()


def _values(labels: tuple[str, ...]) -> pa.Array:
    """Return labels as whole numbers if they are, which are never quoted, else as text."""
    if all(_is_whole(label) for label in labels):
        return pa.array([int(label) for label in labels])
    return pa.array(labels)


def _is_whole(label: str) -> bool:
    """Whether a label is how a number of 64 bits is written."""
    is_short = len(label) <= _DIGITS and label.isascii() and label.isdecimal()
    return is_short and str(int(label)) == label
