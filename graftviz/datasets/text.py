"""Reader of small text files and of CSV texts."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import IO, Any

from graftviz.errors import InputError
from graftviz.wording import shortened


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


def csv_rows(title: str, text: str, delimiter: str = ",") -> list[list[str]]:
    """Return the rows of a CSV text, without the blanks around cells.

    Raises
    ------
    InputError
        When the text is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [[cell.strip() for cell in cells] for cells in reader]
    except csv.Error as problem:
        raise InputError(f"{title} is not a CSV file: {problem}.") from None
