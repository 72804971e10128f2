"""Jobs of pages: long computations that the engine threads advance in slices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from graftviz.errors import InputError
from graftviz.ui.scheduler import Turns, foreground

T = TypeVar("T")
EVERYTHING = 1 << 60
_AT_ONCE = 0.3  # seconds in which the end is awaited before the page goes on without it
_LONGEST_WAIT = 20.0  # seconds that a page waits for the first value before it shows a notice


class Job:
    """Long computation, advanced in slices by the engine threads while it has credit.

    Credit is a number of values: a job computes until it has that many, or ends. Engine threads
    compute under the lock of the job.

    Parameters
    ----------
    scheduler : Turns

    Attributes
    ----------
    failure : str
        Reason if the job stopped before its end; else empty.
    seconds : float
        Time spent computing.
    """

    def __init__(self, scheduler: Turns) -> None:
        self.failure = ""
        self.seconds = 0.0
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._credit = threading.Lock()  # one session may resume a job while another pauses it
        self._news = threading.Condition()
        self._target = 0
        self._awaited = 0

    @property
    def computed(self) -> int:
        """Number of values computed so far."""
        raise NotImplementedError

    @property
    def ended(self) -> bool:
        """Whether no value will follow."""
        raise NotImplementedError

    @property
    def urgent(self) -> bool:
        """Whether a client waits for the next value; values computed ahead are not urgent."""
        return self.computed < self._awaited and not self.ended

    @property
    def has_credit(self) -> bool:
        """Whether further values will be computed."""
        return not self.ended and self.computed < self._target

    def grant(self, target: int = EVERYTHING) -> None:
        """Allow the job to compute its values up to number `target`."""
        with self._credit:
            self._target = max(self._target, target)
            if self.has_credit:
                self._scheduler.submit(self)

    def revoke(self) -> None:
        """Withdraw all credit; computed values remain."""
        with self._credit:
            self._target = 0
            self._scheduler.withdraw(self)

    def wait(self, values: int, timeout: float) -> bool:
        """Return whether `values` values were computed, or the job ended, within `timeout` seconds.

        These values become urgent; of `EVERYTHING`, only the first.
        """
        self._awaited = max(self._awaited, values if values < EVERYTHING else 1)
        with foreground.waiting(), self._news:
            return self._news.wait_for(lambda: self.ended or self.computed >= values, timeout)

    def wait_for_end(self, timeout: float) -> bool:
        """Return whether the job ended within `timeout` seconds."""
        return self.wait(EVERYTHING, timeout)

    def work(self, until: float) -> bool:
        """Compute values until about `until`; return whether there is credit for more."""
        began = time.perf_counter()
        try:
            with self._at_work():
                was_urgent = self.urgent
                while self.has_credit:
                    self._advance()
                    if time.perf_counter() >= until or was_urgent > self.urgent:
                        break  # others may wait for their values
        except InputError as error:
            self.failure = self.failure or str(error)
        self.seconds += time.perf_counter() - began
        self._notify()
        return self.has_credit

    def fail(self, reference: str) -> None:
        """End the job after an unexpected error; computed values remain."""
        self.failure = self.failure or (
            "This computation stopped with an unexpected error; the results so far are kept. "
            f"The server's log has the details under reference {reference}."
        )
        self._notify()

    def _advance(self) -> None:
        """Compute one more value, or reach the end."""
        raise NotImplementedError

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock:
            yield

    def _notify(self) -> None:
        with self._news:
            self._news.notify_all()


class Background(Job, Generic[T]):
    """Job of which only the latest value is kept.

    Parameters
    ----------
    values : iterator
        Should yield often, since the engine threads are shared; None stands for no value yet.
    scheduler : Turns
    token : str
        Identifier of the job for the browser.

    Attributes
    ----------
    latest : object or None
    watchers : set of Watching
        Sessions that need the job.
    """

    def __init__(self, values: Iterator[T], scheduler: Turns, token: str = "") -> None:
        super().__init__(scheduler)
        self.token = token
        self.watchers: WeakSet[Watching] = WeakSet()
        self.latest: T | None = None
        self._values = values
        self._is_complete = False

    @property
    def computed(self) -> int:
        """1 as soon as there is a value."""
        return int(self.latest is not None)

    @property
    def ended(self) -> bool:
        """Whether the latest value is the last."""
        return self._is_complete or bool(self.failure)

    @property
    def finished(self) -> bool:
        """Whether it ended without a failure, so that the latest value is the result."""
        return self._is_complete

    def value(self, timeout: float) -> T:
        """Return the value after at most `timeout` seconds, the last one unless more follow.

        Raises
        ------
        InputError
            When there is none.
        """
        self.wait_for_end(timeout)
        if self.latest is None:
            raise InputError(self.failure or "Nothing has been computed yet; try again.")
        return self.latest

    def _advance(self) -> None:
        try:
            self.latest = next(self._values)
        except StopIteration:
            self._is_complete = True


_lock = threading.Lock()


class Watching:
    """Jobs watched by one session; holds weak references only."""

    def __init__(self) -> None:
        self._works: WeakSet[Background[Any]] = WeakSet()

    def begin(self, work: Background[Any]) -> None:
        """Watch `work` and start or resume it."""
        with _lock:
            work.watchers.add(self)
            self._works.add(work)
            work.grant()

    def turn_to(self, work: Background[Any]) -> None:
        """Watch `work` only."""
        if work not in self._works:
            self.leave()
        self.begin(work)

    def leave(self) -> None:
        """Watch no job; jobs without another watcher are paused."""
        with _lock:
            for work in list(self._works):
                work.watchers.discard(self)
                if not work.watchers:
                    work.revoke()
            self._works.clear()


def await_first(work: Background[Any]) -> None:
    """Wait for the first value of a job, and a moment for its end."""
    work.wait_for_end(_AT_ONCE)
    work.wait(1, _LONGEST_WAIT)
