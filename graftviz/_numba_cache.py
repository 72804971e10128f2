"""Where compiled kernels are kept, decided before numba is imported.

numba keeps compiled kernels beside the source or else in the user's cache directory. Where neither
can be written (a read-only install run by a user without a home), ``@njit(cache=True)`` raises at
import; then a directory private to this user, under the system's temporary directory, serves.

Also decided here: the compiler may put neighbouring scalar operations into one vector instruction,
which numba leaves off. Passes over rows of a few probabilities take less than half the time by it.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
VECTORISE = "NUMBA_SLP_VECTORIZE"


def prepare() -> None:
    """Set ``NUMBA_CACHE_DIR`` if numba would find no writable place; let it vectorise."""
    os.environ.setdefault(VECTORISE, "1")
    if os.environ.get(VARIABLE):
        return
    in_tree = Path(__file__).resolve().parent / "__pycache__"
    if not (_can_write(in_tree) or _can_write(_user_cache())):
        os.environ[VARIABLE] = str(_private_directory())


def _user_cache() -> Path:
    """Return the directory that numba calls the user-wide cache."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home)) / "numba" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "numba"
    return Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "numba"


def _can_write(directory: Path) -> bool:
    """Whether a file can be made in `directory`, which is created if need be (as numba does)."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _private_directory() -> Path:
    """Return a directory nobody else can write to: numba's cache holds pickles, which are code."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"graftviz-numba-{user}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        facts = os.lstat(shared)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="graftviz-numba-"))
    is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == user
    if hasattr(os, "getuid") and not (is_ours and stat.S_IMODE(facts.st_mode) & 0o077 == 0):
        return Path(tempfile.mkdtemp(prefix="graftviz-numba-"))
    return shared
