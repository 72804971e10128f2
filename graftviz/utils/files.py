"""Reading of whole files with clear errors, and writing of files that are complete or absent."""

from __future__ import annotations

import csv
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graftviz.utils.errors import InputError
from graftviz.utils.wording import shortened


class _Lines(list[str]):
    write = list.append  # called once per row


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV, with lines that end with ``\n`` and fields quoted where necessary.

    None becomes an empty field, and a float its shortest exact text. Fields with a carriage return
    are quoted too, since it ends a line for many readers.
    """
    lines = _Lines()
    # Python quotes fields with characters of the line end; "\n" alone would not quote "\r".
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def json_value(value: Any) -> Any:
    """Return `value` with plain lists and numbers; infinities and NaN become None."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return json_value(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, indent: int = 2) -> str:
    """Return the JSON text of a file with :func:`json_value` of `value`."""
    text = json.dumps(json_value(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"


MAX_BYTES = 500_000_000


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InputError
        When the file is missing, cannot be read, or is larger than :data:`MAX_BYTES`.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(error, "strerror", None) or "the name is not a valid file name"
        raise InputError(f"{shortened(str(path))} cannot be read: {reason}.") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path.name} is larger than {MAX_BYTES // 1_000_000} MB.")
    return content


def write_whole(path: Path | str, content: str | bytes) -> Path:
    """Write `content` (text as UTF-8, line ends unchanged): all of it, or nothing.

    A device or a pipe, such as ``/dev/null``, is written to and stays what it is.

    Raises
    ------
    OSError
        When the folder is missing or cannot be written; an older file of that name is unchanged.
    """
    path = Path(path)
    # These are False for invalid names, for which methods of Path raise.
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        path.write_bytes(as_bytes(content))
    else:
        _write_together(path.parent, {path.name: content})
    return path


def write_results(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the files of a run, each of them complete or not at all.

    Parameters
    ----------
    folder : Path
        Existing folder; its other files are not changed.
    files : mapping
        Contents by file name.

    Raises
    ------
    InputError
        When the folder cannot be written; its files are unchanged.
    """
    for name in files:
        if (folder / name).is_dir():
            raise InputError(
                f"The results cannot be written to {folder}: {name} is a folder; choose another "
                "folder for the results."
            )
    try:
        _write_together(folder, files)
    except OSError as error:
        raise InputError(f"The results cannot be written to {folder}: {error.strerror}.") from None


def as_bytes(content: str | bytes) -> bytes:
    """Return text as UTF-8; lone surrogates, which UTF-8 cannot encode, become question marks."""
    return content.encode("utf-8", errors="replace") if isinstance(content, str) else content


def _write_together(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files to a temporary folder, and move them to `folder` when all are complete."""
    # The temporary folder is inside the other one, since files cannot be renamed across disks.
    with tempfile.TemporaryDirectory(prefix=".graftviz-", dir=folder) as temporary:
        for name, content in files.items():
            Path(temporary, name).write_bytes(as_bytes(content))
        for name in files:
            os.replace(Path(temporary, name), folder / name)
