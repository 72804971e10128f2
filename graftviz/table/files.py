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
from pyarrow import parquet

from graftviz.errors import InputError
from graftviz.table.delimited import MAX_COLUMNS, read_delimited
from graftviz.table.raw import RawTable, from_frame

_DELIMITED = (".csv", ".tsv", ".txt", ".data")
PARQUET = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_MEANT = 2**31
CODE_BYTES = 4


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
    return read_delimited(content.data, content.title, header, expected)


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
            raise InputError(f"{path} is {kind}; give a CSV or parquet file.")
        return _known_suffix(title), facts.st_size


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Say in words what the system says about a path that cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except (InputError, pa.ArrowException):
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"{str(path)!r} cannot be read: {reason}.") from None


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
        kind = f"of the unknown kind {suffix!r}" if suffix else "without a suffix"
        raise InputError(
            f"{title} is a file {kind}; save the table as CSV (.csv) or parquet (.parquet)."
        )
    return suffix


def _read_parquet(content: _Content, max_bytes: int) -> RawTable:
    title = content.title
    if not content.data:
        raise InputError(f"{title}: the file is empty.")
    try:
        facts = parquet.read_metadata(io.BytesIO(content.data))
        if facts.num_columns > MAX_COLUMNS:
            raise InputError(f"{title}: there are more than {MAX_COLUMNS} columns; use fewer.")
        texts = text_columns(facts.schema)
        file = parquet.ParquetFile(io.BytesIO(content.data), read_dictionary=texts)
        # As text, one list could take any length.
        if nested := [field.name for field in file.schema_arrow if pa.types.is_nested(field.type)]:
            raise InputError(
                f"{title}: column {nested[0]!r} holds lists, not values; leave it out."
            )
        _check_unpacked(title, facts, max_bytes)
        table = file.read()
        # Only the index is taken from what pandas noted about itself: the rest may be anything.
        frame = table.drop_columns(index_columns(table.schema)).to_pandas(ignore_metadata=True)
    except InputError:
        raise
    except (pa.ArrowException, OSError, TypeError, KeyError, ValueError) as problem:
        raise unreadable_parquet(title, problem) from None
    return from_frame(frame, title)


def _check_unpacked(title: str, facts: parquet.FileMetaData, max_bytes: int) -> None:
    """Refuse, by what a file says of itself, what compression hides in it.

    Of repetitions a small file can hold any number. Every cell takes four bytes at least once it is
    a code, and text its length: both are held to the limit for the file.
    """
    groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
    values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    cells, most = max(values, facts.num_rows * facts.num_columns), max_bytes // CODE_BYTES
    if cells > most:
        raise InputError(
            f"{title} has {facts.num_rows} rows of {facts.num_columns} columns, above the limit "
            f"of {most} cells; use fewer, or raise max_bytes."
        )
    _check_size(f"{title}, unpacked,", sum(group.total_byte_size for group in groups), max_bytes)


def unreadable_parquet(title: str, problem: Exception) -> InputError:
    """Return the refusal of a damaged parquet file."""
    reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    return InputError(f"{title} cannot be read as parquet: {reason.rstrip('.')}.")


def text_columns(schema: parquet.ParquetSchema) -> list[str]:
    """Return the columns of text, to be read as dictionaries: what repeats is kept once."""
    columns = [schema.column(i) for i in range(len(schema))]
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def index_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas noted to be its index."""
    noted = schema.pandas_metadata
    listed = noted.get("index_columns") if isinstance(noted, dict) else None
    names = listed if isinstance(listed, list) else []
    return [name for name in schema.names if name in names]
