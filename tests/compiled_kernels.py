"""Copies of the kernels that the tests have compiled, for processes that miss some of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def copy_kernels(folder: Path, *without: str) -> None:
    """Copy the compiled kernels into `folder`, except those of modules whose names so begin."""
    kernels = Path(os.environ["NUMBA_CACHE_DIR"])
    kernels.mkdir(parents=True, exist_ok=True)

    def ignored(_: str, names: list[str]) -> list[str]:
        return [name for name in names if name.startswith(without)]

    shutil.copytree(kernels, folder, ignore=ignored, dirs_exist_ok=True)
