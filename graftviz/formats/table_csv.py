"""table.csv: the rows of a discrete table for any program, names in the first line."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.table import DiscreteTable

_SPECIAL = frozenset(',"\r\n')


def table_csv(table: DiscreteTable) -> bytes:
    """Return the table as CSV in UTF-8, values by their labels, quoted only where need be."""
    header = io.StringIO(newline="")
    csv.writer(header, lineterminator="\n").writerow(table.names)
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
    return header.getvalue().encode("utf-8") + body.getvalue()


def _values(labels: tuple[str, ...]) -> pa.Array:
    """Return labels as whole numbers if they are, which are never quoted, else as text."""
    if all(label.isascii() and label.isdecimal() and str(int(label)) == label for label in labels):
        return pa.array([int(label) for label in labels])
    return pa.array(labels)
