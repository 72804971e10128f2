"""Where compiled kernels are kept, decided before numba is imported.

numba keeps compiled kernels beside the source or else in the user's cache directory. Where neither
can be written (a read-only install run by a user without a home), ``@njit(cache=True)`` raises at
import; then a directory private to this user, under the system's temporary directory, serves.

Keeping kernels saves time and nothing else, so that nothing of it may stop a run: what cannot be
written (a full disk), what is damaged, and a machine without any writable place cost a compilation
and a line in the log. numba would raise there. It is told so as it is imported, because importing
this package must not import numba.

Also decided here: the compiler may put neighbouring scalar operations into one vector instruction,
which numba leaves off. Passes over rows of a few probabilities take less than half the time by it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "NUMBA_CACHE_DIR"
VECTORISE = "NUMBA_SLP_VECTORIZE"
_CACHING = "numba.core.caching"
log = logging.getLogger(__name__)


def prepare() -> None:
    """Set ``NUMBA_CACHE_DIR`` if numba would find no writable place; let it vectorise."""
    os.environ.setdefault(VECTORISE, "1")
    if _CACHING not in sys.modules and not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    if os.environ.get(VARIABLE):
        return
    in_tree = Path(__file__).resolve().parent / "__pycache__"
    if not (_can_write(in_tree) or _can_write(_user_cache())):
        # Without any writable place kernels are not kept; see `forgiving`.
        with contextlib.suppress(OSError):
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


class _Finder(MetaPathFinder):
    """Finds numba's module about its cache once, and lets it be changed as soon as it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _CACHING:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        load = loader.exec_module

        def load_and_change(module: ModuleType) -> None:
            load(module)
            forgiving(module)

        loader.exec_module = load_and_change
        return spec


def forgiving(caching: Any) -> None:
    """Let numba's cache on disk fail without consequences.

    Parameters
    ----------
    caching : module
        ``numba.core.caching``, or what has its ``Cache``, ``FunctionCache`` and ``NullCache``.
    """
    cache, kept, not_kept = caching.Cache, caching.FunctionCache, caching.NullCache
    save, load = cache.save_overload, cache.load_overload

    def save_overload(self: Any, signature: Any, result: Any) -> None:
        try:
            save(self, signature, result)
        except Exception as problem:  # noqa: BLE001 (logged)
            _warn("A compiled kernel could not be kept and will be compiled again: %s.", problem)

    def load_overload(self: Any, signature: Any, context: Any) -> Any:
        try:
            return load(self, signature, context)
        except Exception as problem:  # noqa: BLE001 (logged)
            _warn("A kept kernel could not be read and is compiled again: %s.", problem)
            with contextlib.suppress(OSError):
                self.flush()  # or it could not be replaced either
            return None

    def function_cache(function: Any) -> Any:
        try:
            return kept(function)
        except (RuntimeError, OSError) as problem:
            _warn("Compiled kernels cannot be kept on this machine: %s.", problem)
            return not_kept()

    cache.save_overload, cache.load_overload = save_overload, load_overload
    caching.FunctionCache = function_cache


_warned: set[str] = set()


def _warn(what: str, problem: Exception) -> None:
    """Log each kind of trouble once: there are hundreds of kernels."""
    if what not in _warned:
        _warned.add(what)
        log.warning(what, problem)
