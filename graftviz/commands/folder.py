"""Creation of folders for results."""

from __future__ import annotations

import tempfile
from pathlib import Path

from graftviz.errors import InputError


def create_folder(folder: Path) -> Path:
    """Create a folder and check that it is writable, before the work begins.

    Raises
    ------
    InputError
        If it cannot be created or written, or is not a folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"Nothing can be written to {folder}: it is a file, not a folder."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(error, "strerror", None) or "not a valid folder name"
        raise InputError(f"Nothing can be written to {folder}: {reason}.") from None
    return folder
