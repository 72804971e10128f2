"""Parquet files: checks of the metadata, and reading in batches of rows or blocks of columns.

pyarrow spends some time on every column of every batch. A table that fits into memory is therefore
read in blocks of columns, each of as many rows at a time as the block permits.

The metadata of a file may be wrong. It serves to reject files early and to choose the size of
batches; the memory of the rows is measured while they are read. ``row_group(k).column(i)`` of
pyarrow must not be called: damaged metadata make it end the process by a C++ exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from graftviz.errors import InputError
from graftviz.table.delimited import MAX_COLUMNS
from graftviz.wording import quoted, shortened

_BATCH_BYTES = 2**24  # of decoded cells
_MOST_ROWS = 2**17
_BLOCK_COLUMNS = 64
CODE_BYTES = 4
# Bytes per cell while a file is read completely.
_READ_CELL = 6
_WIDE_CELL = 4  # more for numbers of eight bytes
_OBJECT_CELL = 32  # for types that become Python objects
PARQUET = (".parquet", ".pq")


class Parquet(NamedTuple):
    """Open parquet file whose metadata has passed all checks.

    Attributes
    ----------
    title : str
    file : pyarrow.parquet.ParquetFile
    rows : int
        Number of rows according to the metadata.
    columns : list of int
        Positions of the columns that are read: all but those that the metadata of pandas lists as
        index.
    fields : list of pyarrow.Field
        Fields of these columns.
    """

    title: str
    file: parquet.ParquetFile
    rows: int
    columns: list[int]
    fields: list[pa.Field]

    @property
    def names(self) -> tuple[str, ...]:
        """Names without surrounding white space."""
        return tuple(field.name.strip() for field in self.fields)

    def batches(self, most_rows: int = _MOST_ROWS) -> Iterator[list[pa.Array]]:
        """Yield the columns of some rows, at least one batch (which may have no rows).

        Raises
        ------
        InputError
            When the number of rows differs from the metadata.
        pyarrow.ArrowException, OSError
            For damaged pages.
        """
        return self._rows_of(slice(None), most_rows)

    def blocks(self) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield some rows of some columns, and the position of the first of these columns.

        A column comes after all rows of those before it. Errors are those of :meth:`batches`.
        """
        for start in range(0, len(self.columns), _BLOCK_COLUMNS):
            for arrays in self._rows_of(slice(start, start + _BLOCK_COLUMNS), _MOST_ROWS):
                yield start, arrays

    def _rows_of(self, block: slice, most_rows: int) -> Iterator[list[pa.Array]]:
        """Yield batches of rows of a block of columns."""
        fields, columns = self.fields[block], self.columns[block]
        if self.rows == 0:
            yield [pa.nulls(0, field.type) for field in fields]
            return
        width = sum(_cell_bytes(field.type) for field in fields)
        rows = min(max(_BATCH_BYTES // max(width, 1), 1), most_rows, _MOST_ROWS)
        found = 0
        # By position, since names may repeat.
        for batch in self.file.reader.iter_batches(
            rows,
            row_groups=list(range(self.file.num_row_groups)),
            column_indices=columns,
            use_threads=False,
        ):
            found += batch.num_rows
            arrays = batch.columns
            for array in arrays:
                if isinstance(array, pa.DictionaryArray):
                    array.validate(full=True)  # pyarrow does not check the indices of damaged pages
            yield arrays
        if found != self.rows:
            raise InputError(
                f"{self.title} cannot be read as parquet: it holds {found} rows instead of "
                f"{self.rows}."
            )


@contextmanager
def open_parquet(
    source: Path | pa.Buffer,
    title: str,
    max_bytes: int | None = None,
    check_shape: Callable[[int, int], object] | None = None,
) -> Iterator[Parquet]:
    """Open a parquet file; close it at the end of the block.

    Parameters
    ----------
    source : path or buffer
    title : str
        Source name for messages.
    max_bytes : int, optional
        Maximum size of the unpacked file in bytes; four times the maximum number of cells.
    check_shape : callable, optional
        Called with the numbers of rows and columns before any of them is read.

    Raises
    ------
    InputError
        For a file that is empty, damaged or too large, and for nested columns; also for errors of
        pyarrow inside the block.
    """
    size = source.size if isinstance(source, pa.Buffer) else source.stat().st_size
    if size == 0:
        raise InputError(f"{title}: the file is empty.")
    file: parquet.ParquetFile | None = None
    try:
        facts = parquet.read_metadata(_file_of(source))
        if facts.num_columns > MAX_COLUMNS:
            raise InputError(f"{title}: there are more than {MAX_COLUMNS:,} columns; use fewer.")
        file = parquet.ParquetFile(
            _file_of(source),
            metadata=facts,
            read_dictionary=_text_columns(facts.schema),
            pre_buffer=False,
        )
        checked = _checked(file, title, max_bytes)
        if check_shape is not None:
            check_shape(checked.rows, len(checked.columns))
        yield checked
    except InputError:
        raise
    except (
        pa.ArrowException,
        OSError,
        TypeError,
        KeyError,
        ValueError,
        OverflowError,
        MemoryError,
    ) as problem:
        reason = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
        raise InputError(
            f"{title} cannot be read as parquet ({reason.rstrip('.')}); save it again."
        ) from None
    finally:
        if file is not None:
            file.close()


def parquet_parts(folder: Path) -> list[Path]:
    """Return the parquet files of a folder by name, except hidden ones.

    Raises
    ------
    InputError
        If there is none.
    """
    parts = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in PARQUET and not path.name.startswith((".", "_"))
    )
    if not parts:
        raise InputError(
            f"{shortened(str(folder))} is a folder without parquet files; use a CSV or parquet "
            "file, or a folder of parquet files with the same columns."
        )
    return parts


def check_part(part: Parquet, first: Parquet) -> None:
    """Raise :class:`InputError` if the columns of a part differ from those of the first part."""
    if (part.names, [field.type for field in part.fields]) != (
        first.names,
        [field.type for field in first.fields],
    ):
        raise InputError(
            f"{part.title} has other columns, or columns of other types, than {first.title}; all "
            "parquet files of a folder are parts of one table."
        )


def _file_of(source: Path | pa.Buffer) -> Path | pa.BufferReader:
    return pa.BufferReader(source) if isinstance(source, pa.Buffer) else source


def _checked(file: parquet.ParquetFile, title: str, max_bytes: int | None) -> Parquet:
    facts, schema = file.metadata, file.schema_arrow
    check_nested(schema, title)
    groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
    rows = [group.num_rows for group in groups]
    if min(rows, default=0) < 0 or sum(rows) != facts.num_rows:
        raise InputError(
            f"{title} cannot be read as parquet: its numbers of rows are inconsistent."
        )
    if max_bytes is not None:
        cells, most = sum(rows) * len(schema), max_bytes // CODE_BYTES
        if cells > most:
            raise InputError(
                f"{title} has {facts.num_rows:,} rows of {len(schema):,} columns, above the limit "
                f"of {most:,} cells; use fewer rows or columns."
            )
        unpacked = sum(group.total_byte_size for group in groups)
        if unpacked > max_bytes or max((g.total_byte_size for g in groups), default=0) > max_bytes:
            raise InputError(
                f"{title}, unpacked, has {unpacked / 1e6:.1f} MB or more, above the limit of "
                f"{max_bytes / 1e6:.1f} MB; use fewer rows or columns."
            )
    index = index_columns(schema)
    columns = [i for i, name in enumerate(schema.names) if name not in index]
    return Parquet(title, file, facts.num_rows, columns, [schema.field(i) for i in columns])


def check_nested(schema: pa.Schema, title: str) -> None:
    """Raise :class:`InputError` for nested columns.

    Lists are not read as text, since the text of a list has no maximum length.
    """
    if nested := [field.name for field in schema if pa.types.is_nested(_stored(field.type))]:
        raise InputError(f"{title}: column {quoted(nested[0])} is nested; leave it out.")


def _text_columns(schema: parquet.ParquetSchema) -> list[str]:
    """Return the columns of text, which are read as dictionaries to store each text once.

    Ordered columns are stored as dictionaries; if they were listed, their order would be lost.
    """
    columns = [schema.column(i) for i in range(len(schema))]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    if not texts:
        return []
    kinds = {field.name: field.type for field in schema.to_arrow_schema()}
    return [name for name in texts if not pa.types.is_dictionary(kinds.get(name, pa.null()))]


def index_columns(schema: pa.Schema) -> set[str]:
    """Return the names of the columns that the metadata of pandas lists as index."""
    noted = schema.pandas_metadata
    listed = noted.get("index_columns") if isinstance(noted, dict) else None
    return {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()


def _stored(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def reading_bytes(kind: pa.DataType) -> int:
    """Return the bytes per cell of a column while it is read and encoded, as measured."""
    kind = _stored(kind)
    if pa.types.is_decimal(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return _OBJECT_CELL
    return _READ_CELL + (_WIDE_CELL if _cell_bytes(kind) >= 8 else 0)


def _cell_bytes(kind: pa.DataType) -> int:
    """Return the bytes of a decoded cell; for text, those of its index into the distinct texts."""
    kind = _stored(kind)
    try:
        return max(kind.bit_width // 8, 1)
    except ValueError:  # no fixed width
        return 4
