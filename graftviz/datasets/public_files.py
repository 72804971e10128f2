"""Search for downloaded files: single files, in zip archives, or in a folder with other files."""

from __future__ import annotations

import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from graftviz.errors import InputError

MAX_BYTES = 300_000_000  # maximum size of a file; the largest published one has about 50 MB
FileSource = str | os.PathLike[str] | Mapping[str, bytes]  # a path, or names and contents of files
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, ValueError),
    *(OverflowError, NotImplementedError, RuntimeError),
)


class FoundFile(NamedTuple):
    """File that can be loaded.

    Attributes
    ----------
    name : str
        Name without folders.
    title : str
        Name in messages.
    load : callable
        Returns the content; raises InputError.
    """

    name: str
    title: str
    load: Callable[[], bytes]


def find_files(path: FileSource, pattern: str, description: str) -> list[FoundFile]:
    """Return the files at `path` whose names match a regular expression, in natural order.

    The names of a single file and of given contents need not match. In a folder, files outside zip
    archives take precedence over files in archives with the same name up to the last dot.

    Parameters
    ----------
    path : path or mapping
        A file, a zip archive or a folder; or the contents of files and archives by name.
    pattern : str
        Regular expression for whole names, in lower case.
    description : str
        Description of the files, for the message if there are none.

    Raises
    ------
    InputError
        When there is nothing at `path`, or no file that matches.
    """
    if isinstance(path, Mapping):
        found = [file for item in path.items() for file in _uploaded(*item, pattern)]
    elif is_bare_file(path):
        found = [_bare(Path(path))]
    else:
        found = files_inside(path, pattern)
    if not found:
        place = path_text(path)
        raise InputError(f"{place} holds no {description}; pass the path of the file itself.")
    single: dict[str, FoundFile] = {}
    for file in found:
        single.setdefault(PurePosixPath(file.name.lower()).stem, file)
    return [single[stem] for stem in sorted(single, key=_natural)]


def path_text(path: FileSource) -> str:
    """Return a path, or the names of given files, as text."""
    return ", ".join(path) if isinstance(path, Mapping) else str(Path(path))


def is_bare_file(path: str | os.PathLike[str]) -> bool:
    """Return whether `path` is a file, but not a zip archive."""
    place = Path(path)
    try:
        return place.is_file() and not zipfile.is_zipfile(place)
    except OSError as problem:
        raise InputError(f"{place} cannot be read: {problem.strerror}.") from None


def files_inside(path: str | os.PathLike[str], pattern: str) -> list[FoundFile]:
    """Return the files in a folder and its zip archives, or in one archive, that match a pattern.

    Raises
    ------
    InputError
        When there is nothing at `path`, or it cannot be read.
    """
    place = Path(path)
    try:
        if place.is_dir():
            inside = sorted(item for item in place.iterdir() if item.is_file())
            found = [_bare(item) for item in inside if re.fullmatch(pattern, item.name.lower())]
            archives = [item for item in inside if item.suffix.lower() == ".zip"]
            return found + [
                file for item in archives for file in _members(item, pattern, item.name)
            ]
        if place.exists():
            return _members(place, pattern, place.name)
    except OSError as problem:
        raise InputError(f"{place} cannot be read: {problem.strerror}.") from None
    raise InputError(f"There is no file or folder {place}.")


def find_file(path: FileSource, pattern: str, description: str) -> FoundFile:
    """Return the only file at `path` that matches; see :func:`find_files`."""
    found = find_files(path, pattern, description)
    if len(found) > 1:
        names = ", ".join(file.title for file in found)
        raise InputError(
            f"{path_text(path)} holds more than one {description}: {names}; pass the path of one."
        )
    return found[0]


def decoded(content: bytes, title: str) -> str:
    """Return the text of a file, decoded as UTF-8 or, if that fails, as Latin-1.

    Raises
    ------
    InputError
        When the file is empty or not text.
    """
    if b"\0" in content:
        raise InputError(f"{title} is not a text file; pass the path of the published file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if not text.strip():
        raise InputError(f"{title} is empty; download it again.")
    return text


def _natural(text: str) -> list[tuple[int, str, str]]:
    """Return a sort key in which numbers compare by value, so that part 2 precedes part 10."""
    parts = [(digits.lstrip("0"), word) for digits, word in re.findall(r"(\d*)(\D*)", text)]
    return [(len(digits), digits, word) for digits, word in parts]


def _uploaded(name: str, content: bytes, pattern: str) -> list[FoundFile]:
    """Return one file with the given content, or the files in it if it is a zip archive."""
    stream = io.BytesIO(content)
    if not zipfile.is_zipfile(stream):
        return [FoundFile(name, name, lambda: _bounded(content, name))]
    return _members(stream, pattern, name)


def _bare(path: Path) -> FoundFile:
    def load() -> bytes:
        try:
            with path.open("rb") as file:
                return _bounded(file.read(MAX_BYTES + 1), path.name)
        except OSError as problem:
            raise InputError(f"{path} cannot be read: {problem.strerror}.") from None

    return FoundFile(path.name, path.name, load)


def _members(archive: Path | io.BytesIO, pattern: str, archive_name: str) -> list[FoundFile]:
    def found(member: str) -> FoundFile:
        title = f"{PurePosixPath(member).name} in {archive_name}"

        def load() -> bytes:
            try:
                with zipfile.ZipFile(archive) as opened, opened.open(member) as file:
                    content = file.read(MAX_BYTES + 1)
            except (OSError, *_UNREADABLE) as problem:
                raise InputError(
                    f"{title} cannot be unpacked ({problem}); download {archive_name} again."
                ) from None
            return _bounded(content, title)

        return FoundFile(PurePosixPath(member).name, title, load)

    try:
        with zipfile.ZipFile(archive) as opened:
            members = sorted(opened.namelist())
    except _UNREADABLE as problem:
        raise InputError(
            f"{archive_name} is not a readable zip archive ({problem}); download it again."
        ) from None
    # macOS adds a file ._name for every file.
    return [
        found(name) for name in members if re.fullmatch(pattern, PurePosixPath(name).name.lower())
    ]


def _bounded(content: bytes, title: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise InputError(
            f"{title} is larger than {MAX_BYTES // 1_000_000} MB, so it is not the published file."
        )
    return content
