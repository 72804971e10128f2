"""Free and resident memory, and sizes as text."""

from __future__ import annotations

import os
import re
from pathlib import Path

from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MOST_BYTES = 1e18
_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
_UNTOLD = 8 * 10**9  # bytes assumed where the system does not tell its memory
_MEMINFO, _STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
_AVAILABLE = re.compile(r"MemAvailable:\s*(\d+) kB")


def free_bytes() -> int:
    """Return the number of bytes that this process can still allocate.

    On Linux memory of cached files counts as free; elsewhere all that this process does not hold.
    """
    found = _AVAILABLE.search(_text(_MEMINFO))
    if found is not None:
        return 1024 * int(found[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") - resident_bytes()
    except (AttributeError, ValueError, OSError):  # no POSIX system
        return _UNTOLD


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 where the system does not tell it."""
    sizes = _text(_STATM).split()
    return int(sizes[1]) * os.sysconf("SC_PAGE_SIZE") if sizes else 0


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


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
