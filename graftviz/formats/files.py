"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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
