"""Count of pages being drawn: they take precedence over steps computed ahead.

Pages and engine threads share one interpreter. If many runs are computed ahead of their viewers,
pages would take several times as long to draw.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Foreground:
    """Counter of the threads that draw pages; a thread that waits for the engine is not counted.

    Attributes
    ----------
    at_work : int
        Number of such threads now.
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
