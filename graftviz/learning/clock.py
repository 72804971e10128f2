"""Engine time by kind of work.

The clock measures processor time of the working thread and of those it uses, so other load and
waiting for a turn do not count. Most kernels are serial; screenings and tests of all pairs use
several cores and take less wall-clock time. Processor time is read when the clock starts and pauses
only, because that takes a call of the system; between these it is divided in proportion to the
wall-clock time of each kind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from graftviz.learning.trace import Seconds
from graftviz.utils.parallel import processor_time


class Clock:
    """Clock of engine time by kind of work; time between a step and the next is not counted."""

    def __init__(self) -> None:
        self._spent = {"statistics": 0.0, "scoring": 0.0, "fitting": 0.0, "other": 0.0}
        self._kind = "other"
        self._since: float | None = None  # None while paused
        self.resume()

    @contextmanager
    def work(self, kind: str) -> Iterator[None]:
        """Attribute the time inside the block to `kind`."""
        outer = self._kind
        self._switch(kind)
        try:
            yield
        finally:
            self._switch(outer)

    def pause(self) -> Seconds:
        """Stop until `resume` and return the time spent so far."""
        self._switch(self._kind)
        wall = sum(self._walls.values())
        share = (processor_time() - self._began) / wall if wall > 0.0 else 0.0
        for kind, seconds in self._walls.items():
            self._spent[kind] += share * seconds
        self._since = None
        return Seconds(sum(self._spent.values()), **self._spent)

    def resume(self) -> None:
        """Start measuring, again after `pause`."""
        self._walls = dict.fromkeys(self._spent, 0.0)
        self._began = processor_time()
        self._since = time.perf_counter()

    def _switch(self, kind: str) -> None:
        if self._since is None:
            self.resume()
        else:
            now = time.perf_counter()
            self._walls[self._kind] += now - self._since
            self._since = now
        self._kind = kind
