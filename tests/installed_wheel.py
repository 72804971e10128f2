"""The wheel of the package, unpacked like an installation."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def unpacked_wheel(folder: Path) -> Path:
    """Build the wheel and return a new folder inside `folder` with its content."""
    made, content = folder / "made", folder / "installed"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = made.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(content)
    return content
