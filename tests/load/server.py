"""The server under test, as the system sees it: its process, memory and time."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def listening_process(port: int) -> int:
    """Return the number of the process that listens on a port of this machine.

    Raises
    ------
    LookupError
        When none does that this user may look into.
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
            continue  # it has ended, or belongs to somebody else
    raise LookupError(f"no process of this user listens on port {port}")


def resident_bytes(process: int) -> int:
    """Return the memory a process holds."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise LookupError(f"process {process} has ended")


def processor_seconds(process: int) -> float:
    """Return how long a process has been working, on all cores together."""
    # The name in parentheses may hold spaces.
    numbers = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / _TICKS


class Gauge:
    """Memory and processor of a process over a while.

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
        """Return the memory now, and remember it."""
        held = resident_bytes(self.process)
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
