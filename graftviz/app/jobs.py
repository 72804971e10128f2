"""Jobs: long computations that the engine threads advance in slices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from graftviz.app.executor import Queue
from graftviz.utils.errors import InputError

DOWNLOAD_WAIT = 120.0  # seconds a download waits for the end; then it holds the values so far
EVERYTHING = 1 << 60
_lock = threading.Lock()
T = TypeVar("T")


class Job(Generic[T]):
    """Long computation, advanced in slices by the engine threads while it has credit.

    Credit is a number of values: a job computes until it has that many, or ends. Engine threads
    compute under the lock of the job.

    Parameters
    ----------
    values : iterator
        Should yield often, since the engine threads are shared; None means no value yet.
    queue : Queue
        Of the session that the job is computed for.
    token : str
        Identifier of the job for the browser.

    Attributes
    ----------
    computed : int
        Number of values computed so far.
    latest : object or None
        The last of them.
    finished : bool
        Whether it ended without a failure, so that the latest value is the result.
    failure : str
        Reason if the job stopped before its end; else empty.
    seconds : float
        Time spent computing.
    watchers : set of Watching
        Sessions that need the job.
    """

    def __init__(self, values: Iterator[T], queue: Queue, token: str = "") -> None:
        self.token = token
        self.computed = 0
        self.latest: T | None = None
        self.finished = False
        self.failure = ""
        self.seconds = 0.0
        self.watchers: WeakSet[Watching] = WeakSet()
        self._values = values
        self._queue = queue
        self._lock = threading.Lock()
        self._credit_lock = threading.Lock()  # one session may resume a job while another pauses it
        self._news = threading.Condition()
        self._target = 0

    @property
    def ended(self) -> bool:
        """Whether no value will follow."""
        return self.finished or bool(self.failure)

    @property
    def has_credit(self) -> bool:
        """Whether further values will be computed."""
        return not self.ended and self.computed < self._target

    def grant(self, target: int = EVERYTHING) -> None:
        """Allow the job to compute its values up to number `target`."""
        with self._credit_lock:
            self._target = max(self._target, target)
            if self.has_credit:
                self._queue.submit(self)

    def revoke(self) -> None:
        """Withdraw all credit; computed values remain."""
        with self._credit_lock:
            self._target = 0
            self._queue.withdraw(self)

    def wait(self, values: int, timeout: float) -> bool:
        """Return whether `values` values were computed, or the job ended, within `timeout` s."""
        with self._news:
            return self._news.wait_for(lambda: self.ended or self.computed >= values, timeout)

    def wait_for_end(self, timeout: float) -> bool:
        """Return whether the job ended within `timeout` seconds."""
        return self.wait(EVERYTHING, timeout)

    def wait_until(self, moment: float) -> bool:
        """Return whether the job ended before a moment of ``time.monotonic``."""
        return self.wait_for_end(max(0.0, moment - time.monotonic()))

    @property
    def final(self) -> T | None:
        """The last value; None before the end."""
        return self.latest if self.finished else None

    def value(self, timeout: float = DOWNLOAD_WAIT) -> T:
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

    def work(self, until: float) -> bool:
        """Compute values until about `until`; return whether there is credit for more."""
        began = time.perf_counter()
        try:
            with self._lock:
                while self.has_credit:
                    self._advance()
                    if time.perf_counter() >= until:
                        break
        except InputError as error:
            self.failure = self.failure or str(error)
        self.seconds += time.perf_counter() - began
        self._notify()
        return self.has_credit

    def fail(self, reference: str) -> None:
        """End the job after an unexpected error; computed values remain."""
        self.failure = self.failure or (
            "This computation stopped with an unexpected error; the results so far remain. "
            f"The server's log has the details under reference {reference}."
        )
        self._notify()

    def _advance(self) -> None:
        try:
            value = next(self._values)
        except StopIteration:
            self.finished = True
            return
        if value is not None:
            self._keep(value)

    def _keep(self, value: T) -> None:
        self.latest = value
        self.computed += 1

    def _notify(self) -> None:
        with self._news:
            self._news.notify_all()


class Watching:
    """Jobs watched by one session; holds weak references only."""

    def __init__(self) -> None:
        self._jobs: WeakSet[Job[Any]] = WeakSet()

    def begin(self, job: Job[Any]) -> None:
        """Watch `job` and start or resume it."""
        with _lock:
            job.watchers.add(self)
            self._jobs.add(job)
            job.grant()

    def turn_to(self, job: Job[Any]) -> None:
        """Watch `job` only."""
        if job not in self._jobs:
            self.leave()
        self.begin(job)

    def leave(self) -> None:
        """Watch no job; jobs without another watcher are paused."""
        with _lock:
            for job in list(self._jobs):
                job.watchers.discard(self)
                if not job.watchers:
                    job.revoke()
            self._jobs.clear()
