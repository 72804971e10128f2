"""Error handling of numba's cache of compiled kernels, set before numba is imported.

numba caches compiled kernels in ``NUMBA_CACHE_DIR``, beside the source, or in the user's cache
directory. If none is writable (a read-only installation and a user without a home directory),
``@njit(cache=True)`` raises at import; then a private directory under the system's temporary
directory is used.

The cache only saves time, so its errors must not stop a run: a full disk, a damaged file or a
machine without a writable directory cost a compilation and a log message. numba would raise, so its
cache is patched when it is imported; importing this package must not import numba.

This module also enables superword-level vectorisation, which numba disables by default. It halves
the time of passes over rows of a few probabilities.
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
    """Enable vectorisation, and patch numba's cache when it is imported."""
    os.environ.setdefault(VECTORISE, "1")
    if _CACHING not in sys.modules and not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _private_directory() -> Path:
    """Return a directory that only this user can write to, as numba's cache contains pickles."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"graftviz-numba-{user}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        facts = os.lstat(shared)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="graftviz-numba-"))
    is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == user
    if hasattr(os, "getuid") and not (is_own and stat.S_IMODE(facts.st_mode) & 0o077 == 0):
        return Path(tempfile.mkdtemp(prefix="graftviz-numba-"))
    return shared


class _Finder(MetaPathFinder):
    """Import hook that patches numba's cache module when it is loaded."""

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

        def load_and_patch(module: ModuleType) -> None:
            load(module)
            tolerate_errors(module)

        loader.exec_module = load_and_patch
        return spec


def tolerate_errors(caching: Any) -> None:
    """Patch numba's disk cache so that its errors are logged instead of raised.

    Parameters
    ----------
    caching : module
        ``numba.core.caching``.
    """
    cache, disk_cache, null_cache = caching.Cache, caching.FunctionCache, caching.NullCache
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
            try:
                return disk_cache(function)
            except (RuntimeError, OSError):
                if os.environ.get(VARIABLE):
                    raise
                # The variable is for child processes.
                os.environ[VARIABLE] = caching.config.CACHE_DIR = str(_private_directory())
                return disk_cache(function)
        except (RuntimeError, OSError) as problem:
            _warn("Compiled kernels cannot be kept on this machine: %s.", problem)
            return null_cache()

    cache.save_overload, cache.load_overload = save_overload, load_overload
    caching.FunctionCache = function_cache


_warned: set[str] = set()


def _warn(message: str, problem: Exception) -> None:
    """Log each kind of error only once, as there are hundreds of kernels."""
    if message not in _warned:
        _warned.add(message)
        log.warning(message, problem)
