"""Tables of Arrow in memory: of pyarrow, Polars, DuckDB and others with the Arrow interface."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from graftviz.errors import InputError
from graftviz.table.arrow import NO_LIMIT, ColumnBuilder
from graftviz.table.parquet_files import check_nested, index_columns
from graftviz.table.raw import RawTable, row_place

_TITLE = "The table"


class ArrowTable(Protocol):
    """Object that offers its rows by the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule with the stream."""


def has_arrow_interface(source: Any) -> bool:
    """Return whether an object offers its rows by the Arrow C stream interface."""
    return hasattr(source, "__arrow_c_stream__")


def from_arrow(source: Any) -> RawTable:
    """Return the columns of a table in memory.

    Parameters
    ----------
    source : pyarrow.Table, polars.DataFrame or any object with ``__arrow_c_stream__``

    Raises
    ------
    InputError
        For nested columns, and objects that are no table.
    """
    try:
        table = pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise InputError(
            f"The {type(source).__name__} cannot be read as a table ({problem}); pass a DataFrame."
        ) from None
    check_nested(table.schema, _TITLE)
    index = index_columns(table.schema)
    chosen = [i for i, name in enumerate(table.schema.names) if name not in index]
    names = tuple(table.schema.names[i].strip() for i in chosen)
    builder = ColumnBuilder(_TITLE, names, NO_LIMIT)
    for start, i in enumerate(chosen):
        chunks = table.column(i).chunks or [pa.nulls(0, table.schema.field(i).type)]
        for chunk in chunks:
            builder.add([_as_text(chunk)], start)
    columns = builder.columns()
    found = RawTable(_TITLE, names, columns, table.num_rows, row_place, named=True)
    return found._replace(orders=columns.orders([table.schema.field(i).type for i in chosen]))


def _as_text(array: pa.Array) -> pa.Array:
    """Return other encodings of text as strings; other arrays unchanged."""
    kind = array.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if isinstance(array, pa.DictionaryArray) and not pa.types.is_string(kind.value_type):
        return pa.DictionaryArray.from_arrays(
            array.indices, _as_text(array.dictionary), ordered=kind.ordered
        )
    return array
