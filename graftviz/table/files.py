"""Files and uploads: found, measured before they are read, passed to the reader of their kind."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from graftviz.errors import InputError
from graftviz.table.arrow import Gathering
from graftviz.table.delimited import read_delimited
from graftviz.table.parquet_files import open_parquet
from graftviz.table.raw import RawTable, row_place
from graftviz.wording import quoted, shortened

_DELIMITED = (".csv", ".tsv", ".txt", ".data")
PARQUET = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_MEANT = 2**31
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
) -> RawTable:
    """Read a path or a binary file object; see :func:`graftviz.table.read_table`.

    Raises
    ------
    InputError
        For a file that is missing, no file, too large, of an unknown kind or damaged.
    """
    if isinstance(source, (str, os.PathLike)):
        content = _from_path(Path(source), name, max_bytes)
    else:
        content = _from_upload(source, name, max_bytes)
    if content.suffix in PARQUET:
        return _read_parquet(content, max_bytes)
    limit = memory_limit(max_bytes)
    return read_delimited(content.data, content.title, header, expected, limit)


def memory_limit(max_bytes: int) -> int:
    """Return the bytes that the columns of a file may take, by the limit of its size."""
    return max(_MEMORY_FACTOR * max_bytes, _LEAST_MEMORY)


def measured(path: Path, title: str) -> tuple[str, int]:
    """Return suffix and size of a file.

    Raises
    ------
    InputError
        For a file that is missing, no file, or of an unknown kind.
    """
    with refusing(path):
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            kind = "a folder" if stat.S_ISDIR(facts.st_mode) else "no ordinary file"
            raise InputError(f"{shortened(str(path))} is {kind}; give a CSV or parquet file.")
        return _known_suffix(title), facts.st_size


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Say in words what the system says about a path that cannot be read."""
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
    suffix, size = measured(path, title)
    _check_size(title, size, max_bytes)
    with refusing(path), path.open("rb") as file:
        return _Content(title, suffix, _read_at_most(file, title, max_bytes))


def _from_upload(file: BinaryIO, name: str | None, max_bytes: int) -> _Content:
    told = name or getattr(file, "name", None)
    title = Path(told).name if isinstance(told, str) else "The file"
    try:
        if file.seekable():
            _check_size(title, file.seek(0, io.SEEK_END), max_bytes)
            file.seek(0)
        data = _read_at_most(file, title, max_bytes)
    except InputError:
        raise
    except (OSError, ValueError) as problem:
        raise InputError(f"{title} cannot be read: {problem}.") from None
    if isinstance(told, str):
        return _Content(title, _known_suffix(title), data)
    kinds = PARQUET if data.startswith(_PARQUET_MAGIC) else _DELIMITED
    return _Content(title, kinds[0], data)


def _read_at_most(file: BinaryIO, title: str, max_bytes: int) -> bytes:
    # Python sets aside as much memory as a read asks for: a limit without meaning is not passed on.
    data: Any = file.read(max_bytes + 1 if max_bytes < _MEANT else -1)
    if not isinstance(data, bytes):
        raise InputError(f"{title} is open as text; open it in binary mode.")
    # It may have grown since it was measured, or could not be measured.
    _check_size(title, len(data), max_bytes)
    return data


def _check_size(title: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InputError(
            f"{title} has {size / 1e6:.1f} MB or more, above the limit of {max_bytes / 1e6:.1f} "
            "MB; use fewer rows or columns, or raise max_bytes."
        )


def _known_suffix(title: str) -> str:
    suffix = Path(title).suffix.lower()
    if suffix not in _DELIMITED + PARQUET:
        kind = f"of the unknown kind {quoted(suffix)}" if suffix else "without a suffix"
        raise InputError(
            f"{title} is a file {kind}; save the table as CSV (.csv) or parquet (.parquet)."
        )
    return suffix


def _read_parquet(content: _Content, max_bytes: int) -> RawTable:
    title = content.title
    with open_parquet(pa.py_buffer(content.data), title, max_bytes) as source:
        gathering = Gathering(title, source.names, memory_limit(max_bytes))
        for arrays in source.batches():
            gathering.add(arrays)
        columns = gathering.columns()
    return RawTable(title, source.names, columns, source.rows, row_place, named=True)
