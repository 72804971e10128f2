"""Work behind an open page: a generator that the engine threads advance in slices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from graftviz.errors import InputError
from graftviz.ui.foreground import foreground
from graftviz.ui.scheduler import Turns

T = TypeVar("T")
_AT_ONCE = 0.3  # seconds in which the end is awaited before the page goes on without it
_LONGEST_WAIT = 60.0  # seconds until the first value, without which a page has nothing to show


class Background(Generic[T]):
    """Generator advanced by the engine threads; its latest value is stored.

    Parameters
    ----------
    values : iterator
        Should yield often: the engine threads are shared with all other sessions.
    scheduler : Turns

    Attributes
    ----------
    latest : object or None
        The last value that was drawn.
    ended : bool
        Whether nothing will follow.
    failure : str
        Why it ended before its time; empty if it did not.
    seconds : float
        Time spent working.
    """

    def __init__(self, values: Iterator[T], scheduler: Turns) -> None:
        self.latest: T | None = None
        self.ended = False
        self.failure = ""
        self.seconds = 0.0
        self._values = values
        self._scheduler = scheduler
        self._lock = threading.Lock()  # what one visitor starts, another may revoke
        self._wanted = False
        self._news = threading.Condition()
        self._waiting = 0  # how many are in `wait`

    @property
    def finished(self) -> bool:
        """Whether it ended by itself, so that `latest` is the result."""
        return self.ended and not self.failure

    @property
    def urgent(self) -> bool:
        """Whether a caller waits for the first value."""
        return self._waiting > 0 and self.latest is None

    def start(self) -> None:
        """Start, or resume after :meth:`revoke`; no effect while it runs."""
        with self._lock:
            self._wanted = not self.ended
            if self._wanted:
                self._scheduler.submit(self)

    def revoke(self) -> None:
        """Pause; the values drawn so far remain."""
        with self._lock:
            self._wanted = False
            self._scheduler.withdraw(self)

    def wait(self, timeout: float) -> bool:
        """Wait for the end; False after `timeout` seconds."""
        return self._wait_for(lambda: self.ended, timeout)

    def wait_for_first(self, timeout: float) -> bool:
        """Wait for the first value, or the end without any; False after `timeout` seconds."""
        return self._wait_for(lambda: self.latest is not None or self.ended, timeout)

    def _wait_for(self, is_there: Callable[[], bool], timeout: float) -> bool:
        with foreground.waiting(), self._news:
            self._waiting += 1
            try:
                return self._news.wait_for(is_there, timeout)
            finally:
                self._waiting -= 1

    def work(self, until: float) -> bool:
        """Draw values until about `until`; True while there are more."""
        began = time.perf_counter()
        try:
            while self._wanted and not self.ended:
                is_first = self.latest is None
                self.latest = next(self._values)
                if is_first:
                    self._notify()
                if time.perf_counter() >= until:
                    break
        except StopIteration:
            self._end()
        except InputError as error:
            self._end(str(error))
        self.seconds += time.perf_counter() - began
        return self._wanted and not self.ended

    def fail(self, reference: str) -> None:
        """End after an unexpected error."""
        self._end(
            "This stopped with an unexpected error. "
            f"The server's log has the details under reference {reference}."
        )

    def _end(self, failure: str = "") -> None:
        self.failure = failure
        self.ended = True
        self._notify()

    def _notify(self) -> None:
        with self._news:
            self._news.notify_all()


_lock = threading.Lock()
_watchers: WeakKeyDictionary[Background[Any], WeakSet[Watching]] = WeakKeyDictionary()


class Watching:
    """Jobs watched by one session; holds weak references only."""

    def __init__(self) -> None:
        self._works: WeakSet[Background[Any]] = WeakSet()

    def begin(self, work: Background[Any]) -> None:
        """Watch `work` and start or resume it."""
        with _lock:
            _watchers.setdefault(work, WeakSet()).add(self)
            self._works.add(work)
            work.start()

    def turn_to(self, work: Background[Any]) -> None:
        """Watch `work` only."""
        if work not in self._works:
            self.leave()
        self.begin(work)

    def leave(self) -> None:
        """Watch no job; jobs without another watcher are paused."""
        with _lock:
            for work in list(self._works):
                others = _watchers[work]
                others.discard(self)
                if not others:
                    work.revoke()
            self._works.clear()


def await_first(work: Background[Any]) -> None:
    """Wait for the first value of a job, and a moment for its end."""
    work.wait(_AT_ONCE)
    work.wait_for_first(_LONGEST_WAIT)
