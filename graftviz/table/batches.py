"""Files a piece at a time: parquet by batches of rows, delimited text by blocks of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from graftviz.errors import InputError
from graftviz.table.delimited import MAX_COLUMNS, Shape, Text, read_more, read_start
from graftviz.table.files import (
    PARQUET,
    index_columns,
    measured,
    refusing,
    text_columns,
    unreadable_parquet,
)
from graftviz.table.raw import RawColumn, RawTable, row_place, series_column

_BATCH_CELLS = 2**22  # cells held raw at a time; each takes some 25 bytes until it is coded
_LEAST_ROWS, _MOST_ROWS = 1024, 2**20
_BLOCK_BYTES = 2**25  # of text
_LONGEST_RECORD = 2**26


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
    with _OpenParquet(path) as file:
        facts = file.metadata
        kinds = [facts.schema.column(i).physical_type for i in range(facts.num_columns)]
        wide = sum(kind in ("INT64", "DOUBLE", "INT96") for kind in kinds)
        return Extent(path.name, size, facts.num_rows, facts.num_columns, wide)


class _OpenParquet:
    """Open a parquet file, and turn what goes wrong with it into words."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: parquet.ParquetFile | None = None

    def __enter__(self) -> parquet.ParquetFile:
        with refusing(self._path):
            if self._path.stat().st_size == 0:
                raise InputError(f"{self._path.name}: the file is empty.")
        try:
            facts = parquet.read_metadata(self._path)
            self._file = parquet.ParquetFile(
                self._path, read_dictionary=text_columns(facts.schema), pre_buffer=False
            )
        except (pa.ArrowException, OSError) as problem:
            raise unreadable_parquet(self._path.name, problem) from None
        if facts.num_columns > MAX_COLUMNS:
            raise InputError(
                f"{self._path.name}: there are more than {MAX_COLUMNS} columns; use fewer."
            )
        return self._file

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if self._file is not None:
            self._file.close()
        if isinstance(problem, InputError):
            return
        if isinstance(problem, pa.ArrowException | OSError | TypeError | KeyError | ValueError):
            raise unreadable_parquet(self._path.name, problem) from None


def _parquet_batches(path: Path, rows: int) -> Iterator[RawTable]:
    with _OpenParquet(path) as file:
        schema = file.schema_arrow
        left_out = set(index_columns(schema))
        chosen = [name for name in schema.names if name not in left_out] if left_out else None
        if file.metadata.num_rows == 0:
            yield _raw_batch(path.name, _empty_batch(schema, chosen), 0)
        start = 0
        for batch in file.iter_batches(batch_size=rows, columns=chosen, use_threads=False):
            yield _raw_batch(path.name, batch, start)
            start += batch.num_rows


def _empty_batch(schema: pa.Schema, chosen: list[str] | None) -> pa.RecordBatch:
    fields = [field for field in schema if chosen is None or field.name in chosen]
    arrays = [pa.nulls(0, field.type) for field in fields]
    return pa.RecordBatch.from_arrays(arrays, [field.name for field in fields])


class ArrowColumns(Sequence[RawColumn]):
    """The columns of a batch, each made when it is asked for.

    Attributes
    ----------
    arrays : list of pyarrow arrays
        What they are made of.
    """

    def __init__(self, title: str, names: tuple[str, ...], arrays: list[pa.Array]) -> None:
        self.arrays = arrays
        self._title = title
        self._names = names

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        try:
            return series_column(self.arrays[i].to_pandas())
        except UnicodeError:
            raise InputError(
                f"{self._title}: column {self._names[i]!r} holds text that is no valid Unicode, or "
                "bytes that are no UTF-8; clean it."
            ) from None


def arrow_array(raw: RawTable, i: int) -> pa.Array | None:
    """Return the array that column i is made of, if it comes from one."""
    return raw.columns.arrays[i] if isinstance(raw.columns, ArrowColumns) else None


def chosen_columns(raw: RawTable, chosen: Sequence[int]) -> RawTable:
    """Return a table of some columns, in the order asked for, all of them made."""
    names = tuple(raw.names[i] for i in chosen)
    return raw._replace(names=names, columns=tuple(raw.columns[i] for i in chosen))


def _raw_batch(title: str, batch: pa.RecordBatch, start: int) -> RawTable:
    names = tuple(name.strip() for name in batch.schema.names)
    columns = ArrowColumns(title, names, batch.columns)
    return RawTable(title, names, columns, batch.num_rows, _shifted(row_place, start), named=True)


def _shifted(place: Callable[[int], str], start: int) -> Callable[[int], str]:
    return lambda row: place(start + row)


def _text_batches(source: Source) -> Iterator[RawTable]:
    title = source.extent.title
    shape: Shape | None = None
    line = 1
    with refusing(source.path), source.path.open("rb") as file:
        for data in _blocks(file, title, source.block or _BLOCK_BYTES):
            text = Text(data, title, line)
            if shape is None:
                raw, shape = read_start(text, source.header, source.expected)
            else:
                raw = read_more(text, shape)
            yield raw
            line += len(data.splitlines())
    if shape is None:
        raise InputError(f"{title}: the file is empty.")


def _blocks(file: BinaryIO, title: str, size: int) -> Iterator[bytes]:
    """Cut a text into pieces of about `size` bytes, each the end of a record.

    The first piece holds two records at least, if there are so many: whether the first line
    holds names is decided by what stands below it.
    """
    kept = b""
    first = True
    while True:
        read = file.read(size)
        kept += read
        if not read:
            if kept:
                yield kept
            return
        end = _last_record_end(kept)
        if first and end and _last_record_end(kept[: end - 1]) == 0:
            end = 0
        if end == 0:
            if len(kept) > max(_LONGEST_RECORD, 2 * size):
                raise InputError(
                    f"{title}: a record of more than {_LONGEST_RECORD // 2**20} MB; look for a "
                    "quotation mark that is never closed."
                )
            continue
        first = False
        yield kept[:end]
        kept = kept[end:]


def _last_record_end(data: bytes) -> int:
    """Return where the last whole record of `data` ends; 0 if there is none.

    Line ends inside quotation marks end no record: marks before a record's end are even in number.
    The very last byte is no safe end, as it may be the first half of a line end.
    """
    mark = b"\n" if b"\n" in data else b"\r"
    end = data.rfind(mark, 0, len(data) - (mark == b"\r"))
    quotes = data.count(b'"', 0, end + 1)
    while end >= 0:
        if quotes % 2 == 0:
            return end + 1
        before = data.rfind(mark, 0, end)
        quotes -= data.count(b'"', before + 1, end)
        end = before
    return 0
