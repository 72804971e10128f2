"""Free and resident memory, release of freed memory, and sizes as text."""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow

from graftviz.errors import InputError
from graftviz.wording import quoted

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MOST_BYTES = 1e18
_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
# Memory limit and usage of a Linux container, for both versions of cgroups.
_CONTAINER = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
# M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h.
_HEAP = ((-8, 2), (-3, 1 << 17), (-1, 1 << 17))


def free_bytes() -> int:
    """Return the number of bytes that this process can still allocate.

    Memory of cached files counts as free. In a container its limit applies.
    """
    in_containers = [_container_free(*paths) for paths in _CONTAINER]
    available = psutil.virtual_memory().available
    return max(min([available, *(free for free in in_containers if free is not None)]), 0)


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    return int(psutil.Process().memory_info().rss)


def configure_allocator() -> None:
    """Configure the C library (of Linux) to return freed memory to the system immediately.

    By default it raises its thresholds with the largest freed block and uses a heap per thread, so
    that a server of many short runs would hold several times the memory they need. Arrow is set to
    use the same allocator, as its own retains the memory that its threads used to read a file.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for parameter, value in _HEAP:
            library.mallopt(parameter, value)
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def release_freed_memory() -> None:
    """Return freed memory to the system, if the C library supports it.

    Otherwise the memory of ended threads would be retained.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def parse_size(text: str, option: str) -> int:
    """Return the bytes of a size such as ``"4G"``, ``"500 MB"``, ``"1.5GiB"`` or ``"2000000"``.

    Raises
    ------
    InputError
        If the text is no size, less than one byte or unreasonably large; `option` is named in the
        message.
    """
    found = _SIZE.fullmatch(text.strip())
    size = 0
    if found is not None:
        unit = found[2].upper()
        scale = 1024 ** "_KMGT".index(unit or "_") if found[3] else _UNITS[unit]
        amount = float(found[1]) * scale
        size = int(amount) if amount < _MOST_BYTES else 0
    if size < 1:
        raise InputError(f"{option} needs a size such as 500M or 4G, not {quoted(text)}.")
    return size


def size_text(size: float) -> str:
    """Return a number of bytes as text with decimal prefixes: ``"1.3 GB"``."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= 0.9995 * scale:
            digits = 0 if size >= 99.5 * scale else 1
            return f"{size / scale:,.{digits}f} {unit}"
    return f"{size:.0f} bytes"


def _container_free(limit: str, usage: str) -> int | None:
    try:
        return int(Path(limit).read_text()) - int(Path(usage).read_text())
    except (OSError, ValueError):  # no such file, or "max": no limit
        return None
