"""Engine time by kind of work."""

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
        self._since: float | None = time.perf_counter()

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
        self._since = time.perf_counter()

    def _switch(self, kind: str) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self._spent[self._kind] += now - self._since
        self._since = now
        self._kind = kind
