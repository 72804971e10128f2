"""Files of users: those of a source, unpacked; small text files; and CSV texts."""

from __future__ import annotations

import csv
import io
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, Any

from graftviz.utils.errors import InputError
from graftviz.utils.wording import shortened

FileSource = str | os.PathLike[str] | Mapping[str, bytes]  # a path, or contents of files by name


def read_text(
    source: str | os.PathLike[str] | IO[Any], fallback_title: str, max_bytes: int
) -> tuple[str, str]:
    """Read a UTF-8 text file, with or without a byte order mark.

    Returns
    -------
    title, text : str
        Name of the file in messages, and its content.

    Raises
    ------
    InputError
        When the file is missing, unreadable, too large, not UTF-8, or contains NUL characters.
    """
    try:
        if isinstance(source, (str, os.PathLike)):
            title = Path(source).name
            with Path(source).open("rb") as file:
                content: Any = file.read(max_bytes + 1)
        else:
            title = str(getattr(source, "name", fallback_title))
            content = source.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise InputError(f"{title} is larger than {max_bytes // 1_000_000} MB.")
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else str(content)
    except FileNotFoundError:
        raise InputError(f"There is no file {source}.") from None
    except InputError:  # a subclass of ValueError, handled below
        raise
    except UnicodeDecodeError:
        raise InputError(f"{title} is not UTF-8 text; save it as CSV in UTF-8.") from None
    except (OSError, ValueError) as problem:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(problem, "strerror", None) or "the name is not a valid file name"
        raise InputError(f"{shortened(str(source))} cannot be read: {reason}.") from None
    if "\0" in text:
        raise InputError(f"{title} contains NUL characters, so it is not a CSV file.")
    return title, text.removeprefix("\ufeff")


def csv_rows(title: str, text: str) -> list[list[str]]:
    """Return the rows of a CSV text, without the blanks around cells.

    Raises
    ------
    InputError
        When the text is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        return [[cell.strip() for cell in cells] for cells in reader]
    except csv.Error as problem:
        raise InputError(f"{title} is not a CSV file: {problem}.") from None


def found_files(source: FileSource, pattern: str, what: str) -> dict[str, bytes]:
    """Return the contents by name of the files in a source, unpacked, in the order of names.

    A source is a file, a zip archive, a folder of both, or contents by name. In folders and
    archives names must match `pattern`, in lower case. Files outside archives replace those of the
    same name, and files .csv those .xls. `what` describes the files in messages.
    """
    if isinstance(source, Mapping):
        found = dict(source)
    else:
        with reading(source_text(source), f"the place of {what}"):
            path, allowed = Path(source), re.compile(rf"{pattern}|.*\.zip")
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
            files = [one for one in inside if one == path or allowed.fullmatch(one.name.lower())]
            found = {file.name: file.read_bytes() for file in files}
    for archive in [name for name in found if zipfile.is_zipfile(io.BytesIO(found[name]))]:
        with (
            reading(archive, "a zip archive"),
            zipfile.ZipFile(io.BytesIO(found.pop(archive))) as z,
        ):
            members = {PurePath(member).name: member for member in sorted(z.namelist())}
            names = [name for name in members if re.fullmatch(pattern, name.lower())]
            found = {name: z.read(members[name]) for name in names} | found
    found = {n: found[n] for n in sorted(found) if f"{n.removesuffix('.xls')}.csv" not in found}
    if not found:
        raise InputError(f"{source_text(source)} holds no {what}; pass its path, or its folder.")
    return found


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Refuse a file, or a folder, of which the reading fails."""
    try:
        yield
    except InputError:
        raise
    except ImportError as problem:
        raise InputError(f"{name}: {problem} Or save the sheet as CSV.") from None
    except OSError as problem:
        raise InputError(f"{name} cannot be read: {problem.strerror or problem}.") from None
    except Exception as problem:  # noqa: BLE001 (what damaged files raise has no common class)
        words = f"missing: {problem.args[0]}" if isinstance(problem, KeyError) else str(problem)
        reason = " ".join(words.split())
        raise InputError(f"{name} is not {what} ({reason}); download it again.") from None


def source_text(source: FileSource) -> str:
    """Return a path, or the names of given files, as text."""
    return ", ".join(source) if isinstance(source, Mapping) else str(source)
