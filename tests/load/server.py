"""Server under test: its process, memory and processor time."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

Lines = tuple[tuple[str, str], ...]  # files of /proc/PID and the lines to read, by preference

_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY_LINES = (("smaps_rollup", "Pss:"), ("status", "VmRSS:"))  # the first that exists
_ANONYMOUS_LINES = (("smaps_rollup", "Pss_Anon:"), ("status", "RssAnon:"))


def listening_process(port: int) -> int:
    """Return the id of the process that listens on a port of this machine.

    Raises
    ------
    LookupError
        If this user has no process that listens there.
    """
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            entries = line.split()
            if entries[3] == "0A" and int(entries[1].rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{entries[9]}]")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(link) in sockets for link in (process / "fd").iterdir()):
                return int(process.name)
        except OSError:
            continue  # it has ended, or belongs to another user
    raise LookupError(f"no process of this user listens on port {port}")


def with_descendants(process: int) -> list[int]:
    """Return the ids of a process and of its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
    found = [process]
    for one in found:
        found += children.get(one, [])
    return found


def memory_bytes(process: int) -> int:
    """Return the memory of a process and its descendants.

    Pages that several of them share count once (PSS); where the system has no
    ``/proc/PID/smaps_rollup``, the resident sets are summed. Pages of libraries that other programs
    use as well count in part, so the result increases when such a program ends.

    Raises
    ------
    LookupError
        When the process has ended.
    """
    return _total(process, _MEMORY_LINES)


def anonymous_bytes(process: int) -> int:
    """Return the part of :func:`memory_bytes` that does not depend on other programs.

    It is the memory without the files of libraries.

    Raises
    ------
    LookupError
        When the process has ended.
    """
    return _total(process, _ANONYMOUS_LINES)


def _total(process: int, lines: Lines) -> int:
    total = _own_bytes(process, lines)
    for one in with_descendants(process)[1:]:
        with suppress(LookupError):
            total += _own_bytes(one, lines)
    return total


def _own_bytes(process: int, lines: Lines) -> int:
    for file, label in lines:
        with suppress(OSError):
            for line in Path(f"/proc/{process}/{file}").read_text(encoding="utf-8").splitlines():
                if line.startswith(label):
                    return 1024 * int(line.split()[1])
    raise LookupError(f"process {process} has ended")


def processor_seconds(process: int) -> float:
    """Return the processor time of a process on all cores."""
    numbers = _stat(process)
    return (int(numbers[11]) + int(numbers[12])) / _TICKS


def _stat(process: int) -> list[str]:
    """Return the entries of ``/proc/PID/stat`` after the name, which may hold spaces."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()


class Gauge:
    """Course of memory and processor time of a process.

    Attributes
    ----------
    course : list of (float, int)
        Seconds since the beginning, and bytes.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self.course: list[tuple[float, int]] = []
        self._began = time.monotonic()
        self._worked = processor_seconds(process)

    def read(self) -> int:
        """Return the current memory, and record it."""
        held = memory_bytes(self.process)
        self.course.append((time.monotonic() - self._began, held))
        return held

    @property
    def most(self) -> int:
        """The most memory that was read."""
        return max(held for _, held in self.course)

    @property
    def load(self) -> float:
        """Cores that were busy, on average."""
        return (processor_seconds(self.process) - self._worked) / (time.monotonic() - self._began)
