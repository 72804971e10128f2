"""Reading of table files and uploads: size check, then the reader for the kind of file.

The metadata of a parquet file may be wrong. It serves to refuse files early: what it says of rows
and columns bounds the memory of reading them. ``row_group(k).column(i)`` of pyarrow must not be
called: damaged metadata make it end the process by a C++ exception.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from graftviz.data.reading.delimited import MAX_COLUMNS, estimated_shape, read_delimited
from graftviz.data.reading.raw import RawTable, data_columns, from_columns
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted, shortened

GZIP = ".gz"
_DELIMITED = (".csv", ".tsv", ".txt", ".data")
_PARQUET = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_READ_LIMIT = 2**31  # limits above this mean "no limit"
_MEMORY_FACTOR, _LEAST_MEMORY = 3, 2**25
_CODE_BYTES = 4
_BLOCK_BYTES = 2**25  # of decoded columns at a time
# Bytes of memory while a file is read, as measured: per byte of text, and per cell of parquet.
_TEXT_BYTE, _PARQUET_CELL = 12, 16
_DAMAGE = (
    *(pa.ArrowException, OSError, TypeError, KeyError, ValueError, OverflowError, MemoryError),
)

CheckShape = Callable[[int, int], object]
Source = str | os.PathLike[str] | BinaryIO


class _Content(NamedTuple):
    title: str
    suffix: str
    data: bytes


def read_file(
    source: Source,
    name: str | None,
    max_bytes: int,
    header: bool | None,
    expected: tuple[str, ...] | None,
    check_shape: CheckShape | None = None,
) -> RawTable:
    """Read a path or a binary file object; see :func:`graftviz.read_table`.

    `check_shape` is called with the numbers of rows and columns before any of them is read; of a
    text file they are estimated.

    Raises
    ------
    InputError
        For a path that is missing or not a file, and a file that is too large, of an unsupported
        type or damaged.
    """
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        folder = Path(source)
        parts = _parts(folder)
        _check_size(folder.name, sum(part.stat().st_size for part in parts), max_bytes)
        contents = [_load(part, None, max_bytes) for part in parts]
        return _read_parquet(folder.name, contents, max_bytes, check_shape)
    content = _load(source, name, max_bytes)
    if content.suffix in _PARQUET:
        return _read_parquet(content.title, [content], max_bytes, check_shape)
    if check_shape is not None:
        check_shape(*estimated_shape(content.data))
    return read_delimited(content.data, content.title, header, expected, _memory_limit(max_bytes))


def loading_bytes(path: Path) -> int:
    """Return the peak memory of reading a file that is not compressed, or the files of a folder.

    Raises
    ------
    InputError
        For a file that is missing, of an unsupported type, or damaged.
    """
    if path.is_dir():
        return sum(map(loading_bytes, _parts(path)))
    with _opened(path, path.name) as file:
        suffix, size = _table_suffix(path.name), file.seek(0, io.SEEK_END)
        if suffix not in _PARQUET:
            return _TEXT_BYTE * size
        with _parquet_errors(path.name):
            facts = parquet.read_metadata(file)
    return size + _PARQUET_CELL * facts.num_rows * facts.num_columns


def _memory_limit(max_bytes: int) -> int:
    """Return the maximum number of bytes of the distinct values, from that of the file."""
    return max(_MEMORY_FACTOR * max_bytes, _LEAST_MEMORY)


def _load(source: Source, name: str | None, max_bytes: int) -> _Content:
    """Return the content of a file of a known type, unpacked."""
    is_path = isinstance(source, (str, os.PathLike))
    named: Any = name or (source if is_path else getattr(source, "name", None))
    is_named = isinstance(named, (str, os.PathLike))
    title = Path(named).name if is_named else "The file"
    with _opened(source, title) as file:
        suffix = _table_suffix(title) if is_named else ""
        if file.seekable():
            _check_size(title, file.seek(0, io.SEEK_END), max_bytes)
            file.seek(0)
        data: Any = file.read(_one_more(max_bytes))
    if not isinstance(data, bytes):
        raise InputError(f"{title} is open as text; open it in binary mode.")
    # The file may have grown since its size was read, or the size may be unavailable.
    _check_size(title, len(data), max_bytes)
    if is_gzipped(title):
        data = unzipped(data, title, max_bytes)
    inferred = _PARQUET[0] if data.startswith(_PARQUET_MAGIC) else _DELIMITED[0]
    return _Content(title, suffix or inferred, data)


@contextmanager
def _opened(source: Source, title: str) -> Iterator[BinaryIO]:
    """Open a path that is an ordinary file; errors while the file is used are InputErrors."""
    try:
        if not isinstance(source, (str, os.PathLike)):
            yield source
            return
        if not stat.S_ISREG(os.stat(source).st_mode):
            raise InputError(
                f"{shortened(str(source))} is not an ordinary file; use a CSV or parquet file."
            )
        with open(source, "rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"There is no file {shortened(str(source))}.") from None
    except InputError:
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"{quoted(title)} cannot be read: {reason}.") from None


def _one_more(max_bytes: int) -> int:
    """Return a number of bytes to read, so that one more than `max_bytes` is an error.

    Python allocates this number in advance, so a huge limit is not passed on.
    """
    return max_bytes + 1 if max_bytes < _READ_LIMIT else -1


def _check_size(title: str, size: int, max_bytes: int, what: str = "has") -> None:
    if size > max_bytes:
        raise InputError(
            f"{title} {what} {size / 1e6:.1f} MB or more, above the limit of "
            f"{max_bytes / 1e6:.1f} MB; use fewer rows or columns."
        )


def _table_suffix(title: str) -> str:
    inner = title[: -len(GZIP)] if is_gzipped(title) else title
    suffix = Path(inner).suffix.lower()
    if suffix not in _DELIMITED + _PARQUET:
        kind = f"has the unsupported file type {quoted(suffix)}" if suffix else "has no suffix"
        raise InputError(f"{title} {kind}; save the table as CSV (.csv) or parquet (.parquet).")
    return suffix


# -------------------------------------------------------------------------------------------- gzip


def is_gzipped(name: str) -> bool:
    """Return whether a file of that name is compressed by gzip."""
    return name.lower().endswith(GZIP)


def unzipped(data: bytes, title: str, most: int) -> bytes:
    """Return the content of a gzip file.

    Parameters
    ----------
    data : bytes
    title : str
        Name of the file in messages.
    most : int
        Limit in bytes; no more is unpacked.

    Raises
    ------
    InputError
        If the file is damaged or truncated, or its content is larger.
    """
    try:
        with gzip.open(io.BytesIO(data)) as file:
            content = file.read(_one_more(most))
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(
            f"{title} is not a complete gzip file ({problem}); download it again."
        ) from None
    _check_size(title, len(content), most, "unpacks to")
    return content


# ----------------------------------------------------------------------------------------- parquet


@contextmanager
def _parquet_errors(title: str) -> Iterator[None]:
    """Raise :class:`InputError` instead of errors about a damaged parquet file."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGE as problem:
        reason = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
        raise InputError(
            f"{title} cannot be read as parquet ({reason.rstrip('.')}); save it again."
        ) from None


def _read_parquet(
    title: str, parts: Sequence[_Content], max_bytes: int, check_shape: CheckShape | None
) -> RawTable:
    """Read parquet files, parts of one table, in blocks of columns.

    Raises
    ------
    InputError
        For files that are damaged, too large when unpacked, or of different columns.
    """
    files = [_open_parquet(part) for part in parts]
    schema = files[0].schema_arrow
    for part, file in zip(parts, files, strict=True):
        if file.schema_arrow != schema:
            raise InputError(
                f"{part.title} has other columns, or columns of other types, than "
                f"{parts[0].title}; all parquet files of a folder are parts of one table."
            )
    n_rows, most = sum(file.metadata.num_rows for file in files), max_bytes // _CODE_BYTES
    if n_rows * len(schema) > most:
        raise InputError(
            f"{title} has {n_rows:,} rows of {len(schema):,} columns, above the limit of {most:,} "
            "cells; use fewer rows or columns."
        )
    sizes = [group.total_byte_size for file in files for group in _row_groups(file)]
    _check_size(title, max(sum(sizes), *sizes, 0), max_bytes, "unpacks to")
    widest = max(map(_cell_bytes, schema.types), default=0)
    _check_size(title, n_rows * widest, _memory_limit(max_bytes), "unpacks to")
    chosen = data_columns(schema, title)
    if check_shape is not None:
        check_shape(n_rows, len(chosen))

    def columns() -> Iterator[pa.ChunkedArray]:
        step = max(_BLOCK_BYTES // max(n_rows * widest, 1), 1)
        for start in range(0, len(chosen), step):
            block = chosen[start : start + step]
            tables = (_read_block(*each, block) for each in zip(parts, files, strict=True))
            yield from pa.concat_tables(tables).columns

    names = [field.name for field in map(schema.field, chosen)]
    return from_columns(title, names, columns(), n_rows, _memory_limit(max_bytes))


def _read_block(part: _Content, file: parquet.ParquetFile, block: Sequence[int]) -> pa.Table:
    """Read some columns of a parquet file, by position, since names may repeat."""
    with _parquet_errors(part.title):
        table = file.reader.read_all(block, use_threads=False)
        table.validate(full=True)  # pyarrow does not check the indices of damaged pages
    if table.num_rows != file.metadata.num_rows:
        raise InputError(
            f"{part.title} cannot be read as parquet: it holds {table.num_rows} rows instead of "
            f"{file.metadata.num_rows}."
        )
    return table


def _open_parquet(content: _Content) -> parquet.ParquetFile:
    """Open a parquet file; check its columns and numbers of rows."""
    title = content.title
    if not content.data:
        raise InputError(f"{title}: the file is empty.")
    with _parquet_errors(title):
        facts = parquet.read_metadata(pa.BufferReader(content.data))
        if facts.num_columns > MAX_COLUMNS:
            raise InputError(f"{title}: there are more than {MAX_COLUMNS:,} columns; use fewer.")
        schema = facts.schema.to_arrow_schema()
        data_columns(schema, title)
        # Dictionaries store each text once. Columns that are dictionaries already may be ordered;
        # if they were listed, their order would be lost.
        texts = [field.name for field in schema if not pa.types.is_dictionary(field.type)]
        file = parquet.ParquetFile(
            pa.BufferReader(content.data), metadata=facts, read_dictionary=texts, pre_buffer=False
        )
    rows = [group.num_rows for group in _row_groups(file)]
    if min(rows, default=0) < 0 or sum(rows) != facts.num_rows:
        raise InputError(
            f"{title} cannot be read as parquet: its numbers of rows are inconsistent."
        )
    return file


def _row_groups(file: parquet.ParquetFile) -> list[parquet.RowGroupMetaData]:
    return [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]


def _cell_bytes(kind: pa.DataType) -> int:
    """Return the bytes of a decoded cell; of text, those of its index into the distinct texts."""
    return kind.byte_width if pa.types.is_fixed_size_binary(kind) else 8


def _parts(folder: Path) -> list[Path]:
    """Return the parquet files of a folder by name, except hidden ones."""
    parts = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in _PARQUET and not path.name.startswith((".", "_"))
    )
    if not parts:
        raise InputError(
            f"{shortened(str(folder))} is a folder without parquet files; use a CSV or parquet "
            "file, or a folder of parquet files with the same columns."
        )
    return parts
