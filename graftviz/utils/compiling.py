"""Decorators of compiled kernels, and the names under which their compiled code is stored.

numba stores a kernel beside its source, in ``NUMBA_CACHE_DIR``, or in the user's cache directory,
and compiles it again if its own file changes. It contains its callees too, whose files may have
changed instead. So its stored name has a digest of all sources it is compiled from, and code of
other sources is never loaded.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit

_ROOM = 100e6  # bytes
_PACKAGE = Path(__file__).resolve().parent.parent
_KERNEL = re.compile(r"\b(kernel|inner_kernel|intrinsic|overload)\b")
_REGISTERS = re.compile(r"^from numba\.extending import .*\boverload\b", re.MULTILINE)
_IMPORTED = re.compile(
    r"^(?:from|import) graftviz(?:\.([\w.]+))?(?: import ([\w, ]+))?", re.MULTILINE
)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function when it is first called, and store its code for later processes.

    Parameters
    ----------
    function : callable
        At module level.
    **options
        Of :func:`numba.njit`, as ``fastmath``.
    """
    if function is None:
        return functools.partial(kernel, **options)
    name = function.__qualname__
    # The name of the stored file is made from this name.
    function.__qualname__ = f"{name}-{source_digest(Path(function.__code__.co_filename))}"
    try:
        compiled = njit(cache=True, nogil=True, **options)(function)
        is_stored = _has_room(compiled.stats.cache_path)
    except RuntimeError:  # no directory can be written
        is_stored = False
    finally:
        function.__qualname__ = name
    if not is_stored:  # every process compiles for itself
        compiled = njit(nogil=True, **options)(function)
    compiled.__qualname__ = name
    return compiled


@functools.cache
def _has_room(folder: str) -> bool:
    """Return whether there is room for the code of all kernels."""
    with suppress(OSError):
        return shutil.disk_usage(folder).free > _ROOM
    return True  # on a system that does not tell


# numba compiles a wrapper of each kernel for Python, about a tenth of its compilation. A kernel
# that only other kernels call has none; a call from Python would crash, so a test looks for them.
inner_kernel = functools.partial(kernel, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@functools.cache
def source_digest(file: Path) -> str:
    """Return a digest of a module and of the modules with kernels that it imports."""
    found: dict[Path, str] = {}
    remaining = [file]
    while remaining:
        path = remaining.pop()
        if path not in found:
            found[path], has_kernels, needed = _read(path)
            if path == file or has_kernels:
                remaining += needed
    lines = [f"{path.name} {found[path]}" for path in sorted(found)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


@functools.cache
def _read(path: Path) -> tuple[str, bool, tuple[Path, ...]]:
    """Return digest, whether it may have kernels, and the imported modules of a module."""
    text = path.read_text(encoding="utf-8")
    # The kernels of any module of the folder may be registered for an overloaded function.
    files = list(path.parent.glob("*.py")) if _REGISTERS.search(text) else []
    for module, names in _IMPORTED.findall(text):
        base = _PACKAGE.joinpath(*filter(None, module.split(".")))
        inside = [base / name.strip() for name in names.split(",")]
        files += [each.with_suffix(".py") for each in (base, *inside) if each.name]
        files += base.glob("*.py") if base.is_dir() and base != _PACKAGE else ()
    digest = hashlib.sha256(text.encode()).hexdigest()
    imported = tuple(sorted({each for each in files if each.is_file()}))
    return digest, bool(_KERNEL.search(text)), imported
