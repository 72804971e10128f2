"""Memory: how much there is, how much this process holds, and sizes as people write them."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

import pyarrow

from graftviz.errors import InputError
from graftviz.wording import quoted

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MOST_BYTES = 1e18
_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
# Where Linux tells a container how much memory it may take, and how much it takes; both versions.
_CONTAINER = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
# M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h.
_HEAP = ((-8, 2), (-3, 1 << 17), (-1, 1 << 17))


def free_bytes() -> int | None:
    """Return how many bytes this process may still take, or None where the system does not say.

    What the system could free by forgetting cached files counts as free; in a container, its limit
    holds.
    """
    available = _line_of("/proc/meminfo", "MemAvailable:")
    if available is None:
        return _free_pages()
    known = [available, *(left for paths in _CONTAINER if (left := _left(*paths)) is not None)]
    return max(min(known), 0)


def resident_bytes() -> int | None:
    """Return how many bytes of memory this process holds now; None where nobody says."""
    return _line_of("/proc/self/status", "VmRSS:")


def return_what_is_freed() -> None:
    """Let the C library (of Linux) return larger pieces to the system as soon as they are freed.

    By itself it learns from the largest piece that was ever freed to keep ever more for later, and
    gives every thread a heap of its own. A server of many short runs would then hold several times
    what they need. Arrow takes its memory there too from now on: its own allocator keeps what its
    threads had taken to read a file.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for parameter, value in _HEAP:
            library.mallopt(parameter, value)
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def give_back() -> None:
    """Ask the C library to return memory that was freed; where it knows no such thing, do nothing.

    It keeps what threads that have ended had taken, and would keep it for good.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def parse_size(text: str, option: str) -> int:
    """Read a size such as ``"4G"``, ``"500 MB"``, ``"1.5GiB"`` or ``"2000000"``, in bytes.

    Raises
    ------
    InputError
        For anything else, less than one byte, and more than any machine has; `option` names the
        option in the message.
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
    """Write a number of bytes for people, in powers of ten: ``"1.3 GB"``."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= 0.9995 * scale:
            digits = 0 if size >= 99.5 * scale else 1
            return f"{size / scale:,.{digits}f} {unit}"
    return f"{size:.0f} bytes"


def _line_of(path: str, label: str) -> int | None:
    """Return the bytes a line of a kernel file tells in kB."""
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
        line = next(line for line in text.splitlines() if line.startswith(label))
        return 1024 * int(line.split()[1])
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _left(limit: str, usage: str) -> int | None:
    try:
        return int(Path(limit).read_text()) - int(Path(usage).read_text())
    except (OSError, ValueError):  # no such file, or "max": no limit
        return None


def _free_pages() -> int | None:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has none, macOS no such name
        return None
