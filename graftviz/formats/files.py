"""Writing a file whole or not at all, and reading one whole or saying why not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from graftviz.errors import InputError

MAX_BYTES = 500_000_000


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InputError
        When it is missing, cannot be read, or is larger than any model of ours.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path.name} is larger than {MAX_BYTES // 1_000_000} MB.")
    return content


def write_whole(path: Path | str, content: str | bytes) -> Path:
    """Write `content` (text as UTF-8, line ends untouched); nobody ever sees half of it.

    The content goes to a temporary file beside `path`, which then takes the name in one move.

    Raises
    ------
    OSError
        When the folder is missing or cannot be written; an older file of that name is then intact.
    """
    path = Path(path)
    # A lone surrogate, which no file can hold as text, becomes a question mark.
    data = content.encode("utf-8", errors="replace") if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files that only their owner may read; a result is an ordinary file.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
