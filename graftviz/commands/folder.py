"""Folders for results."""

from __future__ import annotations

import tempfile
from pathlib import Path

from graftviz.errors import InputError


def create_folder(folder: Path) -> Path:
    """Create a folder and check that it can be written, before the work begins.

    Raises
    ------
    InputError
        When it cannot be created or written, or is no folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"Nothing can be written to {folder}: there is a file of that name; give a folder."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(error, "strerror", None) or "no folder can have such a name"
        raise InputError(f"Nothing can be written to {folder}: {reason}.") from None
    return folder
