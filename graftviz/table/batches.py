"""Files read in pieces: parquet in batches of rows, delimited text in blocks of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from graftviz.errors import InputError
from graftviz.table.arrow import NO_LIMIT, ArrowColumns
from graftviz.table.delimited import (
    Shape,
    Text,
    count_line_ends,
    cut,
    read_more,
    read_start,
)
from graftviz.table.files import input_errors, suffix_and_size
from graftviz.table.gzipped import is_gzipped
from graftviz.table.parquet_files import (
    PARQUET,
    check_part,
    open_parquet,
    parquet_parts,
    reading_bytes,
)
from graftviz.table.raw import RawTable, has_index, row_place, without_index

_BATCH_CELLS = 2**22  # uncoded cells in memory at a time; each takes about 25 bytes
_LEAST_ROWS, _MOST_ROWS = 1024, 2**20
_BLOCK_BYTES = 2**25  # of text


class Extent(NamedTuple):
    """Size of a file, as far as it can be determined without reading all of it.

    Attributes
    ----------
    title : str
    bytes : int
    rows, columns : int or None
        None for delimited text.
    row_bytes : int
        Memory of a row of parquet while it is read; 0 for delimited text.
    """

    title: str
    bytes: int
    rows: int | None
    columns: int | None
    row_bytes: int = 0


class BatchSource(NamedTuple):
    """File that can be read in pieces, from its beginning, any number of times.

    Attributes
    ----------
    path : Path
    extent : Extent
    header, expected
        See :func:`graftviz.table.delimited.read_delimited`; whether the first line of a text holds
        names is decided from its first block.
    block : int or None
        Bytes of text, or cells of a parquet file, read at a time; None: the default size.
    """

    path: Path
    extent: Extent
    header: bool | None = None
    expected: tuple[str, ...] | None = None
    block: int | None = None

    def batches(self) -> Iterator[RawTable]:
        """Yield the pieces of the table, at least one (which may have no rows).

        Raises
        ------
        InputError
            When the file cannot be read, or is not a table.
        """
        omits = None
        for raw in self._batches():
            if omits is None:  # decided from the first batch
                omits = has_index(raw) and raw.names[0] not in (self.expected or ())
            yield without_index(raw) if omits else raw

    def _batches(self) -> Iterator[RawTable]:
        if self.extent.columns is None:
            yield from _text_batches(self)
        else:
            least = _LEAST_ROWS if self.block is None else 1
            rows = (self.block or _BATCH_CELLS) // max(self.extent.columns, 1)
            yield from _parquet_batches(self.path, min(max(rows, least), _MOST_ROWS))


def file_extent(path: Path) -> Extent:
    """Return the size of a file.

    Raises
    ------
    InputError
        For a file that is missing, of an unsupported type, compressed or damaged.
    """
    with input_errors(path):
        if path.is_dir():
            return _extent_of_parts(path)
    suffix, size = suffix_and_size(path, path.name)
    if is_gzipped(path.name):
        raise InputError(f"{path.name} is compressed and cannot be read in parts; unpack it first.")
    if suffix not in PARQUET:
        return Extent(path.name, size, None, None)
    with input_errors(path), open_parquet(path, path.name) as source:
        row = sum(reading_bytes(field.type) for field in source.fields)
        return Extent(path.name, size, source.rows, len(source.file.schema), row)


def _extent_of_parts(folder: Path) -> Extent:
    """Return the size of a table in the parquet files of a folder."""
    parts = [file_extent(part) for part in parquet_parts(folder)]
    return Extent(
        folder.name,
        sum(part.bytes for part in parts),
        sum(part.rows or 0 for part in parts),
        max(part.columns or 0 for part in parts),
        max(part.row_bytes for part in parts),
    )


def _parquet_batches(path: Path, rows: int) -> Iterator[RawTable]:
    start, first = 0, None
    for part in parquet_parts(path) if path.is_dir() else [path]:
        with input_errors(part), open_parquet(part, part.name) as source:
            first = source if first is None else first
            check_part(source, first)
            kinds = [field.type for field in source.fields]
            for arrays in source.batches(rows):
                columns = ArrowColumns(path.name, source.names, arrays, kinds, NO_LIMIT)
                n_rows = len(arrays[0]) if arrays else 0
                place = _shift(row_place, start)
                raw = RawTable(path.name, source.names, columns, n_rows, place, named=True)
                yield raw._replace(orders=columns.orders(kinds))
                start += n_rows


def select_columns(raw: RawTable, chosen: Sequence[int]) -> RawTable:
    """Return a table of the columns `chosen`, in that order, all converted."""
    names = tuple(raw.names[i] for i in chosen)
    return raw._replace(names=names, columns=tuple(raw.columns[i] for i in chosen))


def _shift(place: Callable[[int], str], start: int) -> Callable[[int], str]:
    return lambda row: place(start + row)


def _text_batches(source: BatchSource) -> Iterator[RawTable]:
    title = source.extent.title
    shape: Shape | None = None
    line = 1
    with input_errors(source.path), source.path.open("rb") as file:
        for data in cut(file, title, source.block or _BLOCK_BYTES):
            text = Text(data, title, line)
            if shape is None:
                raw, shape = read_start(text, source.header, source.expected)
            else:
                raw = read_more(text, shape)
            yield raw._replace(columns=tuple(raw.columns))
            line += count_line_ends(data)
    if shape is None:
        raise InputError(f"{title}: the file is empty.")
