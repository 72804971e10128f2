"""Folders of results: atomic sets of files with a manifest of checksums, verified on reading.

Every command writes its files under temporary names, marks its part of the manifest as
incomplete, renames the files, and finally marks the part as complete. An interrupted run leaves
either the complete old set or a folder that :func:`check_results` rejects. Files that are not
listed in the manifest are neither changed nor checked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from graftviz.errors import InputError
from graftviz.formats.files import (
    as_bytes,
    lock_folder,
    read_bytes,
    remove_leftovers,
    sync_folder,
    write_temporary,
)
from graftviz.wording import escaped, shortened

MANIFEST = "graftviz-manifest.json"
_MOST_BYTES = 1_000_000
_BLOCK = 1_000_000


class Checksum(NamedTuple):
    """Size and SHA-256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class ResultSet:
    """Files of the last run of a command.

    Attributes
    ----------
    files : dict
        Checksums by file name.
    complete : bool
        False from the first file that is replaced to the last.
    """

    files: Mapping[str, Checksum]
    complete: bool


def write_results(folder: Path, command: str, files: Mapping[str, str | bytes]) -> None:
    """Write the files of a run, and list them in the manifest of the folder.

    Parameters
    ----------
    folder : Path
        Existing folder. Other files in it are not changed, including those of other commands;
        temporary files of interrupted runs are removed.
    command : str
        Name of the command, under which the manifest lists the files.
    files : mapping
        Contents by file name.

    Raises
    ------
    InputError
        When the folder cannot be written.
    """
    contents = {name: as_bytes(content) for name, content in files.items()}
    try:
        with lock_folder(folder):
            _write(folder, command, contents)
    except OSError as error:
        raise InputError(f"The results cannot be written to {folder}: {error.strerror}.") from None


def _write(folder: Path, command: str, contents: Mapping[str, bytes]) -> None:
    remove_leftovers(folder)
    for name in (*contents, MANIFEST):
        if (folder / name).is_dir():
            raise InputError(
                f"The results cannot be written to {folder}: {name} is a folder; choose another "
                "folder for the results."
            )
    temporary: dict[str, Path] = {}
    try:
        for name, data in contents.items():
            temporary[name] = write_temporary(folder, data)
        new = ResultSet({name: checksum(data) for name, data in contents.items()}, complete=False)
        others = {
            key: replace(old, files={n: c for n, c in old.files.items() if n not in contents})
            for key, old in _replaceable_manifest(folder).items()
            if key != command
        }
        _write_manifest(folder, {**others, command: new})
        for name in contents:
            os.replace(temporary[name], folder / name)
        sync_folder(folder)
        _write_manifest(folder, {**others, command: replace(new, complete=True)})
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)


def check_results(folder: Path, names: Collection[str] | None = None) -> None:
    """Raise :class:`InputError` for a folder that mixes files of different runs.

    A folder without a manifest is accepted, as are deleted files and files that the manifest does
    not list.

    Parameters
    ----------
    folder : Path
    names : collection of str, optional
        Check only that these files exist and match, and only if the run that wrote them was
        interrupted: users may edit single files.

    Raises
    ------
    InputError
        When a file does not match the manifest, the last run of a command was interrupted while
        it wrote its files, or the manifest cannot be read.
    """
    if not (folder / MANIFEST).exists():
        return
    title = shortened(escaped(str(folder)))
    sets = parse_manifest(title, read_bytes(folder / MANIFEST))
    listed = {name for results in sets.values() for name in results.files}
    chosen = listed if names is None else listed.intersection(names)
    found = {
        path.name: _file_checksum(path)
        for path in folder.iterdir()
        if path.name in chosen and path.is_file()
    }
    if names is None:
        check_sets(title, sets, found)
        return
    for command, results in sets.items():
        if not results.complete:
            _check_files(title, command, results, {**dict.fromkeys(names), **found})


def check_sets(title: str, sets: Mapping[str, ResultSet], found: Mapping[str, Checksum]) -> None:
    """Raise :class:`InputError` for files that do not match a manifest.

    Parameters
    ----------
    title : str
        Name of the folder or archive in messages.
    sets : mapping
        Result of :func:`parse_manifest`.
    found : mapping
        Checksums of the existing files, by name.

    Raises
    ------
    InputError
        See :func:`check_results`.
    """
    for command, results in sets.items():
        _check_files(title, command, results, found)
        if not results.complete:
            raise InputError(
                f"The results in {title} are incomplete: {command} was interrupted while writing "
                f"them. Run {command} again, or remove {MANIFEST} to read the files as they are."
            )


def parse_manifest(title: str, content: bytes) -> dict[str, ResultSet]:
    """Return the sets of files in a manifest, by command.

    Raises
    ------
    InputError
        When the content is not a manifest; `title` is the name of the folder in the message.
    """
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError
        commands = json.loads(content.decode("utf-8"))["commands"]
        return {escaped(shortened(str(name))): _parse_set(item) for name, item in commands.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(
            f"{MANIFEST} in {title} is damaged. Run the command that wrote the results again, or "
            "remove that file to read the others as they are."
        ) from None


def checksum(data: bytes) -> Checksum:
    """Return the checksum of a file in memory."""
    return Checksum(len(data), hashlib.sha256(data).hexdigest())


def _check_files(
    title: str, command: str, results: ResultSet, found: Mapping[str, Checksum | None]
) -> None:
    for name, expected in results.files.items():
        if found.get(name, expected) != expected:
            raise InputError(
                f"The results in {title} are from different runs: {shortened(escaped(name))} is "
                f"not from the last run of {command}. Run {command} again, or remove {MANIFEST} "
                "to read the files as they are."
            )


def _replaceable_manifest(folder: Path) -> dict[str, ResultSet]:
    """Return the sets of the manifest in a folder; none if it is missing or damaged."""
    try:
        return parse_manifest(folder.name, read_bytes(folder / MANIFEST))
    except InputError:
        return {}


def _write_manifest(folder: Path, sets: Mapping[str, ResultSet]) -> None:
    content = {
        "format": 1,
        "commands": {
            command: {
                "complete": results.complete,
                "files": {name: check._asdict() for name, check in results.files.items()},
            }
            for command, results in sets.items()
            if results.files
        },
    }
    temporary = write_temporary(folder, (json.dumps(content, indent=1) + "\n").encode())
    try:
        os.replace(temporary, folder / MANIFEST)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(folder)


def _parse_set(item: Any) -> ResultSet:
    files = {
        str(name): Checksum(int(check["bytes"]), str(check["sha256"]))
        for name, check in item["files"].items()
    }
    return ResultSet(files, complete=item["complete"] is True)


def _file_checksum(path: Path) -> Checksum:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise InputError(f"{shortened(str(path))} cannot be read: {error.strerror}.") from None
    return Checksum(size, digest.hexdigest())
