"""Files a piece at a time: parquet by batches of rows, delimited text by blocks of whole lines."""

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
from graftviz.table.files import PARQUET, measured, refusing
from graftviz.table.parquet_files import open_parquet
from graftviz.table.raw import RawTable, row_place

_BATCH_CELLS = 2**22  # cells held raw at a time; each takes some 25 bytes until it is coded
_LEAST_ROWS, _MOST_ROWS = 1024, 2**20
_BLOCK_BYTES = 2**25  # of text


class Extent(NamedTuple):
    """How large a file is, as far as can be told without reading it.

    Attributes
    ----------
    title : str
    bytes : int
    rows, columns : int or None
        None for delimited text.
    wide_columns : int
        Columns of numbers of eight bytes.
    """

    title: str
    bytes: int
    rows: int | None
    columns: int | None
    wide_columns: int = 0

    @property
    def cells(self) -> int:
        """Number of cells; of delimited text the most there can be."""
        if self.rows is None or self.columns is None:
            return self.bytes // 2  # a character and a delimiter each
        return self.rows * self.columns


class Source(NamedTuple):
    """A file that can be read in pieces, from its beginning, as often as needed.

    Attributes
    ----------
    path : Path
    extent : Extent
    header, expected
        See :func:`graftviz.table.delimited.read_delimited`; whether the first line of a text holds
        names is decided by its first block.
    block : int or None
        Bytes of text, or cells of a parquet file, read at a time; None: as suits.
    """

    path: Path
    extent: Extent
    header: bool | None = None
    expected: tuple[str, ...] | None = None
    block: int | None = None

    def batches(self) -> Iterator[RawTable]:
        """Yield the table piece by piece, one at least (it may have no rows).

        Raises
        ------
        InputError
            When the file cannot be read, or no table.
        """
        if self.extent.columns is None:
            yield from _text_batches(self)
        else:
            least = _LEAST_ROWS if self.block is None else 1
            rows = (self.block or _BATCH_CELLS) // max(self.extent.columns, 1)
            yield from _parquet_batches(self.path, min(max(rows, least), _MOST_ROWS))


def file_extent(path: Path) -> Extent:
    """Tell how large a file is.

    Raises
    ------
    InputError
        For a file that is missing, of an unknown kind or damaged.
    """
    suffix, size = measured(path, path.name)
    if suffix not in PARQUET:
        return Extent(path.name, size, None, None)
    with refusing(path), open_parquet(path, path.name) as source:
        schema = source.file.schema
        kinds = [schema.column(i).physical_type for i in range(len(schema))]
        wide = sum(kind in ("INT64", "DOUBLE", "INT96") for kind in kinds)
        return Extent(path.name, size, source.rows, len(schema), wide)


def _parquet_batches(path: Path, rows: int) -> Iterator[RawTable]:
    start = 0
    with refusing(path), open_parquet(path, path.name) as source:
        kinds = [field.type for field in source.fields]
        for arrays in source.batches(rows):
            columns = ArrowColumns(path.name, source.names, arrays, kinds, NO_LIMIT)
            n_rows = len(arrays[0]) if arrays else 0
            place = _shifted(row_place, start)
            yield RawTable(path.name, source.names, columns, n_rows, place, named=True)
            start += n_rows


def chosen_columns(raw: RawTable, chosen: Sequence[int]) -> RawTable:
    """Return a table of some columns, in the order of `chosen`, all of them made."""
    names = tuple(raw.names[i] for i in chosen)
    return raw._replace(names=names, columns=tuple(raw.columns[i] for i in chosen))


def _shifted(place: Callable[[int], str], start: int) -> Callable[[int], str]:
    return lambda row: place(start + row)


def _text_batches(source: Source) -> Iterator[RawTable]:
    title = source.extent.title
    shape: Shape | None = None
    line = 1
    with refusing(source.path), source.path.open("rb") as file:
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
