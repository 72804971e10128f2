"""Whether pages are being drawn: that comes before steps that nobody waits for yet.

Pages and engine threads share one interpreter. Where many have their runs go on ahead of them,
pages would take several times as long to draw.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Foreground:
    """Counts the threads that draw pages; one that waits for the engine does not.

    Attributes
    ----------
    at_work : int
        How many there are now.
    """

    def __init__(self) -> None:
        self.at_work = 0
        self._lock = threading.Lock()
        self._here = threading.local()

    @contextmanager
    def page(self) -> Iterator[None]:
        """Count this thread while it draws a page, or a part of one."""
        if self._is_drawing:
            yield
            return
        self._here.is_drawing = True
        try:
            with self._counted(1):
                yield
        finally:
            self._here.is_drawing = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Leave this thread out while it waits for something."""
        if not self._is_drawing:
            yield
            return
        with self._counted(-1):
            yield

    @property
    def _is_drawing(self) -> bool:
        return getattr(self._here, "is_drawing", False)

    @contextmanager
    def _counted(self, change: int) -> Iterator[None]:
        with self._lock:
            self.at_work += change
        try:
            yield
        finally:
            with self._lock:
                self.at_work -= change


foreground = Foreground()
