"""The folder for results."""

from __future__ import annotations

import tempfile
from pathlib import Path

from graftviz.errors import InputError


def made_folder(folder: Path) -> Path:
    """Make the folder and make sure that it can be written, before the work begins.

    Raises
    ------
    InputError
        When it cannot be made or written, or is no folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"Nothing can be written to {folder}: there is a file of that name; give a folder."
        ) from None
    except OSError as error:
        raise InputError(f"Nothing can be written to {folder}: {error.strerror}.") from None
    return folder
