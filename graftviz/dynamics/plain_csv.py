"""Fast reader of large CSV files of plain numbers, without diagnosis of errors."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.errors import InputError
from graftviz.table.arrow import ColumnBuilder
from graftviz.table.files import memory_limit
from graftviz.table.labels import MISSING_TOKENS, is_number
from graftviz.table.raw import RawTable, check_names, row_place

LEAST_BYTES = 5_000_000  # the general reader is fast enough for smaller files


def read_plain_csv(source: object, max_bytes: int) -> RawTable | None:
    """Read a large CSV file of names and numbers; return None for any other file.

    The first column may hold any text, since it may hold times. Long tables, which have a column
    "series", are not read. The table names rows instead of lines, so callers that report errors
    read the file again with the general reader.
    """
    if not isinstance(source, (str, os.PathLike)) or Path(source).suffix.lower() != ".csv":
        return None
    path = Path(source)
    try:
        if not LEAST_BYTES <= path.stat().st_size <= max_bytes:
            return None
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = [name.strip() for name in next(csv.reader(file), [])]
        check_names(path.name, names)
        if len(names) < 2 or "series" in names or all(is_number(name) for name in names):
            return None
        table = arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(skip_rows=1, column_names=names),
            parse_options=arrow_csv.ParseOptions(quote_char=False),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.float64() for name in names[1:]} | {names[0]: pa.string()},
                null_values=sorted(MISSING_TOKENS),
                strings_can_be_null=True,
            ),
        )
        builder = ColumnBuilder(path.name, tuple(names), memory_limit(max_bytes))
        for batch in table.to_batches():
            builder.add(batch.columns)
        columns = builder.columns()
        return RawTable(path.name, tuple(names), columns, table.num_rows, row_place, named=True)
    except (OSError, ValueError, csv.Error, InputError, pa.ArrowException):
        return None
