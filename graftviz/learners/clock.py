"""Engine time by kind of work.

What counts is the processor's time on the thread that does the work: what else the machine is busy
with, and who waits for a turn, does not matter. Kernels are serial, so on a machine with nothing
else to do this is the time that passes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from graftviz.trace import Seconds


class Clock:
    """Engine time by kind of work. Time while an observer holds a step is not counted."""

    def __init__(self) -> None:
        self._spent = {"statistics": 0.0, "scoring": 0.0, "fitting": 0.0, "other": 0.0}
        self._kind = "other"
        self._since: float | None = time.thread_time()

    @contextmanager
    def work(self, kind: str) -> Iterator[None]:
        """Count what happens inside as `kind`."""
        outer = self._kind
        self._switch(kind)
        try:
            yield
        finally:
            self._switch(outer)

    def pause(self) -> Seconds:
        """Stop until `resume`, and say what was spent so far."""
        self._switch(self._kind)
        self._since = None
        return Seconds(sum(self._spent.values()), **self._spent)

    def resume(self) -> None:
        """Go on."""
        self._since = time.thread_time()

    def _switch(self, kind: str) -> None:
        now = time.thread_time()
        if self._since is not None:
            self._spent[self._kind] += now - self._since
        self._since = now
        self._kind = kind
