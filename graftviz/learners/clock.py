"""Engine time by kind of work.

The clock measures processor time of the working thread, so other load and waiting for a turn do not
count. Kernels are serial: on an otherwise idle machine this equals the wall-clock time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from graftviz.trace import Seconds


class Clock:
    """Clock of engine time by kind of work; time between a step and the next is not counted."""

    def __init__(self) -> None:
        self._spent = {"statistics": 0.0, "scoring": 0.0, "fitting": 0.0, "other": 0.0}
        self._kind = "other"
        self._since: float | None = time.thread_time()

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
        self._since = None
        return Seconds(sum(self._spent.values()), **self._spent)

    def resume(self) -> None:
        """Start measuring again after `pause`."""
        self._since = time.thread_time()

    def _switch(self, kind: str) -> None:
        now = time.thread_time()
        if self._since is not None:
            self._spent[self._kind] += now - self._since
        self._since = now
        self._kind = kind
