"""Cache of compiled kernels, set up when numba is imported.

numba caches compiled kernels in ``NUMBA_CACHE_DIR``, beside the source, or in the user's cache
directory, and compiles a kernel again if its own file changes. A kernel contains its callees and
the constants that it reads from other modules, so kernels of this package are stored in one folder
per file and :func:`source_digest`. Versions of the package do not disturb each other, and folders
that were not used for 30 days are removed.

The cache only saves time, so its errors must not stop a run: a full disk, a damaged file or a
machine without a writable directory cost a compilation and a log message. numba would raise, so its
cache is patched when it is imported; importing this package must not import numba. Several
processes share the cache: see :mod:`graftviz._kernel_files`.

The intermediate code of cached kernels is only held as bitcode, see :func:`patch_codegen`.

This module also enables superword-level vectorisation, which numba disables by default. It halves
the time of passes over rows of a few probabilities. The level of optimisation is 1 instead of 3,
which takes an eighth less time to compile, and no measurable time from the runs.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from graftviz._kernel_files import UNREADABLE, OverloadFiles, releasing_locks, warn_once

VARIABLE = "NUMBA_CACHE_DIR"
# Settings of numba, as names of its module `config` and of variables NUMBA_….
SETTINGS = {"SLP_VECTORIZE": "1", "OPT": "1"}
_CONFIG, _CACHING = "numba.core.config", "numba.core.caching"
_DISPATCHER, _CODEGEN = "numba.core.dispatcher", "numba.core.codegen"
_PACKAGE = Path(__file__).resolve().parent
_KERNELS = re.compile(r"\b(njit|inner_kernel|vectorize|intrinsic|kernel_for)\b")
_IMPORTED = re.compile(r"^(?:from|import) graftviz(?:\.([\w.]+)| import ([\w, ]+))", re.MULTILINE)
_REGISTERS = re.compile(r"^from numba\.extending import .*\boverload\b", re.MULTILINE)
_UNUSED = 30 * 86_400.0  # seconds after which a folder of kernels is removed
_DAY = 86_400.0
_own_folders: set[Path] = set()  # of the kernels of this package


@functools.cache
def prepare() -> None:
    """Set options of the compiler, and patch numba now or when it is imported."""
    config: Any = sys.modules.get(_CONFIG)
    for name, value in SETTINGS.items():
        chosen = os.environ.setdefault(f"NUMBA_{name}", value)
        if config is not None:
            setattr(config, name, type(getattr(config, name))(chosen))
    patches = {
        _CACHING: patch_caching,
        _DISPATCHER: patch_dispatcher,
        _CODEGEN: patch_codegen,
    }
    for name in [name for name in patches if name in sys.modules]:
        patches.pop(name)(sys.modules[name])
    if patches:
        sys.meta_path.insert(0, _Finder(patches))


@functools.cache
def source_digest(file: Path) -> str:
    """Return a digest of the sources that the kernels of a file are compiled from.

    These are the file, the modules of this package that it imports, and what those import that have
    kernels themselves. A file that calls numba's `overload` is compiled with the kernels that any
    module of its package registers.

    Parameters
    ----------
    file : Path
        Module of this package.
    """
    found: dict[Path, str] = {}
    remaining = [file]
    while remaining:
        path = remaining.pop()
        if path not in found:
            found[path], has_kernels, needed = _read(path)
            if path == file or has_kernels:
                remaining += needed
    lines = sorted(f"{path.name} {digest}" for path, digest in found.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@functools.cache
def _read(path: Path) -> tuple[str, bool, list[Path]]:
    """Return digest, whether it has kernels, and the files on which these depend, of a module."""
    text = path.read_text(encoding="utf-8")
    names = [name for pair in _IMPORTED.findall(text) for name in ",".join(pair).split(",")]
    needed = [file for name in names if name.strip() for file in _files_of(name.strip())]
    if _REGISTERS.search(text) and path.is_relative_to(_PACKAGE):
        package = ".".join(["graftviz", *path.relative_to(_PACKAGE).parent.parts])
        for folder in getattr(sys.modules.get(package), "__path__", [path.parent]):
            needed += sorted(Path(folder).glob("*.py"))
    return hashlib.sha256(text.encode()).hexdigest(), bool(_KERNELS.search(text)), needed


def _files_of(name: str) -> Iterator[Path]:
    """Iterate over the files of a module, or of all modules of a package."""
    path = _PACKAGE.joinpath(*name.split("."))
    if path.is_dir():
        yield from sorted(path.glob("*.py"))
    elif path.with_suffix(".py").exists():
        yield path.with_suffix(".py")


@functools.cache
def _own_file(path: str) -> Path | None:
    """Return the resolved path of a module of this package; None for other files."""
    file = Path(path).resolve()
    return file if file.is_relative_to(_PACKAGE) else None


@functools.cache
def _own_folder(parent: Path, file: Path, compiler: str) -> Path:
    """Return the folder of the kernels of a file, in the directory that numba chose for it.

    `compiler` is numba's version with the level of optimisation.
    """
    prefix = f"{'-'.join(file.relative_to(_PACKAGE).with_suffix('').parts)}-"
    folder = parent / f"{prefix}{source_digest(file)}-{compiler}"
    now = time.time()
    with contextlib.suppress(OSError):
        if not folder.exists():
            for other in parent.glob(f"{prefix}*"):
                if other.stat().st_mtime < now - _UNUSED:
                    shutil.rmtree(other, ignore_errors=True)
        elif folder.stat().st_mtime < now - _DAY:
            os.utime(folder)
    return folder


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
    """Import hook that patches modules of numba when they are loaded."""

    def __init__(self, patches: dict[str, Callable[[Any], None]]) -> None:
        self._patches = patches

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        patch = self._patches.pop(fullname, None)
        if patch is None:
            return None
        if not self._patches:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        load = loader.exec_module

        def load_and_patch(module: ModuleType) -> None:
            load(module)
            patch(module)

        loader.exec_module = load_and_patch
        return spec


def patch_caching(caching: Any) -> None:
    """Patch ``numba.core.caching``: own folders and files, and errors that are logged."""
    for locator in caching.CacheImpl._locator_classes:
        _patch_locator(locator, caching.numba)
    _use_own_files(caching)
    tolerate_errors(caching)


def patch_dispatcher(dispatcher: Any) -> None:
    """Patch ``numba.core.dispatcher``: locks of overloads end with their compilation."""
    dispatcher.FunctionCache = sys.modules[_CACHING].FunctionCache
    dispatcher.Dispatcher.compile = releasing_locks(dispatcher.Dispatcher.compile)


def patch_codegen(codegen: Any) -> None:
    """Patch ``numba.core.codegen``: code of cached kernels is parsed when another kernel needs it.

    Parsed code takes ten times the memory of its bitcode, 100 MB for all kernels of this package.
    """
    library, bitcode = codegen.CPUCodeLibrary, "_cached_bitcode"
    unserialize, module_for_linking = library._unserialize.__func__, library._get_module_for_linking

    def _unserialize(cls: Any, target: Any, state: Any) -> Any:
        loaded = unserialize(cls, target, state)
        _, kind, data = state
        if kind == "object":
            loaded._shared_module = None
            setattr(loaded, bitcode, data[1])
        return loaded

    def _get_module_for_linking(self: Any) -> Any:
        if self._shared_module is None and hasattr(self, bitcode):
            self._shared_module = codegen.ll.parse_bitcode(getattr(self, bitcode))
        return module_for_linking(self)

    library._unserialize = classmethod(_unserialize)
    library._get_module_for_linking = _get_module_for_linking


def _use_own_files(caching: Any) -> None:
    """Store each overload of this package in a file of its own."""
    usual = caching.IndexDataCacheFile

    def cache_file(cache_path: str, filename_base: str, source_stamp: str) -> Any:
        folder = Path(cache_path)
        if folder in _own_folders:
            return OverloadFiles(folder, filename_base, caching.dumps)
        return usual(cache_path, filename_base, source_stamp)

    caching.IndexDataCacheFile = cache_file


def _patch_locator(locator: Any, numba: Any) -> None:
    usual_path, usual_stamp = locator.get_cache_path, locator.get_source_stamp
    usual_ensure = locator.ensure_cache_path

    def get_cache_path(self: Any) -> str:
        chosen, file = Path(usual_path(self)), _own_file(self._py_file)
        if file is None:
            return str(chosen)
        # Outside the source tree, numba adds a folder for the place of the source.
        parent = chosen if chosen.name == "__pycache__" else chosen.parent
        folder = _own_folder(parent, file, f"{numba.__version__}-{numba.config.OPT}")
        _own_folders.add(folder)
        return str(folder)

    def get_source_stamp(self: Any) -> Any:
        file = _own_file(self._py_file)
        return usual_stamp(self) if file is None else source_digest(file)

    def ensure_cache_path(self: Any) -> None:
        try:
            usual_ensure(self)
        except OSError:
            # The chosen directory may be read-only: kernels that are there already can be used.
            if not os.environ.get(VARIABLE) or not any(Path(self.get_cache_path()).glob("*.nbc")):
                raise

    locator.get_cache_path, locator.get_source_stamp = get_cache_path, get_source_stamp
    locator.ensure_cache_path = ensure_cache_path


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
            warn_once(
                "A compiled kernel could not be cached and will be compiled again: %s.", problem
            )

    def load_overload(self: Any, signature: Any, context: Any) -> Any:
        try:
            return load(self, signature, context)
        except Exception as problem:  # noqa: BLE001 (logged)
            warn_once(UNREADABLE, problem)
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
            warn_once("Compiled kernels cannot be cached on this machine: %s.", problem)
            return null_cache()

    cache.save_overload, cache.load_overload = save_overload, load_overload
    caching.FunctionCache = function_cache
