"""Reading of table files and uploads: size check, then the reader for the kind of file."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from graftviz.errors import InputError
from graftviz.table.arrow import ColumnBuilder
from graftviz.table.delimited import estimated_shape, read_delimited
from graftviz.table.gzipped import is_gzipped, unzipped, without_suffix
from graftviz.table.parquet_files import PARQUET, check_part, open_parquet, parquet_parts
from graftviz.table.raw import RawTable, row_place
from graftviz.wording import quoted, shortened

_DELIMITED = (".csv", ".tsv", ".txt", ".data")
_PARQUET_MAGIC = b"PAR1"
_READ_LIMIT = 2**31  # limits above this mean "no limit"
_MEMORY_FACTOR, _LEAST_MEMORY = 3, 2**25


class _Content(NamedTuple):
    title: str
    suffix: str
    data: bytes


def read_file(
    source: str | os.PathLike[str] | BinaryIO,
    name: str | None,
    max_bytes: int,
    header: bool | None,
    expected: tuple[str, ...] | None,
    check_shape: Callable[[int, int], object] | None = None,
) -> RawTable:
    """Read a path or a binary file object; see :func:`graftviz.table.read_table`.

    `check_shape` is called with the numbers of rows and columns before any of them is read; of a
    text file they are estimated.

    Raises
    ------
    InputError
        For a path that is missing or not a file, and a file that is too large, of an unsupported
        type or damaged.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        with input_errors(path):
            is_folder = path.is_dir()
        if is_folder:
            return _read_parts(path, max_bytes, check_shape)
        content = _from_path(path, name, max_bytes)
    else:
        content = _from_upload(source, name, max_bytes)
    if is_gzipped(content.title):
        content = content._replace(data=unzipped(content.data, content.title, max_bytes))
    if content.suffix in PARQUET:
        return _read_parquet(content, max_bytes, check_shape)
    if check_shape is not None:
        check_shape(*estimated_shape(content.data))
    limit = memory_limit(max_bytes)
    return read_delimited(content.data, content.title, header, expected, limit)


def memory_limit(max_bytes: int) -> int:
    """Return the maximum number of bytes of the columns, from the limit on the file size."""
    return max(_MEMORY_FACTOR * max_bytes, _LEAST_MEMORY)


def suffix_and_size(path: Path, title: str) -> tuple[str, int]:
    """Return the suffix of a file, without ".gz" at the end, and its size.

    Raises
    ------
    InputError
        For a path that is missing or not a file, and a file of an unsupported type.
    """
    with input_errors(path):
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise InputError(
                f"{shortened(str(path))} is not an ordinary file; use a CSV or parquet file."
            )
        return _table_suffix(title), facts.st_size


@contextmanager
def input_errors(path: Path) -> Iterator[None]:
    """Raise :class:`InputError` instead of errors of the operating system about a path."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"There is no file {shortened(str(path))}.") from None
    except (InputError, pa.ArrowException):
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"{quoted(str(path))} cannot be read: {reason}.") from None


def _from_path(path: Path, name: str | None, max_bytes: int) -> _Content:
    title = name or path.name
    suffix, size = suffix_and_size(path, title)
    _check_size(title, size, max_bytes)
    with input_errors(path), path.open("rb") as file:
        return _Content(title, suffix, _read_at_most(file, title, max_bytes))


def _from_upload(file: BinaryIO, name: str | None, max_bytes: int) -> _Content:
    file_name = name or getattr(file, "name", None)
    title = Path(file_name).name if isinstance(file_name, str) else "The file"
    try:
        if file.seekable():
            _check_size(title, file.seek(0, io.SEEK_END), max_bytes)
            file.seek(0)
        data = _read_at_most(file, title, max_bytes)
    except InputError:
        raise
    except (OSError, ValueError) as problem:
        raise InputError(f"{title} cannot be read: {problem}.") from None
    if isinstance(file_name, str):
        return _Content(title, _table_suffix(title), data)
    kinds = PARQUET if data.startswith(_PARQUET_MAGIC) else _DELIMITED
    return _Content(title, kinds[0], data)


def _read_at_most(file: BinaryIO, title: str, max_bytes: int) -> bytes:
    # Python allocates the requested number of bytes in advance, so a huge limit is not passed on.
    data: Any = file.read(max_bytes + 1 if max_bytes < _READ_LIMIT else -1)
    if not isinstance(data, bytes):
        raise InputError(f"{title} is open as text; open it in binary mode.")
    # The file may have grown since its size was read, or the size may be unavailable.
    _check_size(title, len(data), max_bytes)
    return data


def _check_size(title: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InputError(
            f"{title} has {size / 1e6:.1f} MB or more, above the limit of {max_bytes / 1e6:.1f} "
            "MB; use fewer rows or columns."
        )


def _table_suffix(title: str) -> str:
    suffix = Path(without_suffix(title)).suffix.lower()
    if suffix not in _DELIMITED + PARQUET:
        kind = f"has the unsupported file type {quoted(suffix)}" if suffix else "has no suffix"
        raise InputError(f"{title} {kind}; save the table as CSV (.csv) or parquet (.parquet).")
    return suffix


def _read_parquet(
    content: _Content, max_bytes: int, check_shape: Callable[[int, int], object] | None
) -> RawTable:
    title = content.title
    with open_parquet(pa.py_buffer(content.data), title, max_bytes, check_shape) as source:
        builder = ColumnBuilder(title, source.names, memory_limit(max_bytes))
        for start, arrays in source.blocks():
            builder.add(arrays, start)
        columns = builder.columns()
    found = RawTable(title, source.names, columns, source.rows, row_place, named=True)
    return found._replace(orders=columns.orders([f.type for f in source.fields]))


def _read_parts(
    folder: Path, max_bytes: int, check_shape: Callable[[int, int], object] | None
) -> RawTable:
    """Read the parquet files of a folder, parts of one table, in the order of their names."""
    parts = parquet_parts(folder)
    _check_size(folder.name, sum(part.stat().st_size for part in parts), max_bytes)
    builder, first, rows = None, None, 0
    for part in parts:
        with input_errors(part), open_parquet(part, part.name, max_bytes) as source:
            first = source if first is None else first
            check_part(source, first)
            rows += source.rows
            if check_shape is not None:
                check_shape(rows, len(source.columns))
            if builder is None:
                builder = ColumnBuilder(folder.name, source.names, memory_limit(max_bytes))
            for arrays in source.batches():
                builder.add(arrays)
    assert builder is not None  # a folder has at least one part
    assert first is not None
    columns = builder.columns()
    found = RawTable(folder.name, builder.names, columns, rows, row_place, named=True)
    return found._replace(orders=columns.orders([f.type for f in first.fields]))
