"""Jobs: long computations, and the executor that advances those of all sessions in turns.

One thread per core serves the queues of the sessions round robin, in slices of 20 ms, so a session
with six runs has as much of the machine as a session with one. Streamlit is not imported here.
"""

from __future__ import annotations

import logging
import secrets
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from joblib import cpu_count

from graftviz.utils.errors import InputError

_SAME_ERROR = 60.0
_logged: dict[tuple[Any, ...], tuple[str, float]] = {}  # type and place → reference, and when


def log_exception(log: logging.Logger, what: str) -> str:
    """Log the exception that is being handled with its traceback; return a short reference.

    Parts of a page run every second: an exception of the same type and place as one of the last
    minute has its reference, and is not logged again.
    """
    kind, _, trace = sys.exc_info()
    *_, (frame, line) = traceback.walk_tb(trace)
    place, now = (kind, frame.f_code.co_filename, line), time.monotonic()
    reference, since = _logged.get(place, ("", 0.0))
    if not reference or now - since >= _SAME_ERROR:
        reference = secrets.token_hex(3)
        _logged[place] = reference, now
        log.exception("%s (reference %s).", what, reference)
    return reference


# ------------------------------------------------------------------------------------- the executor


SLICE_SECONDS = 0.02
log = logging.getLogger(__name__)


class Task(Protocol):
    """Computation that is advanced in slices."""

    def work(self, until: float) -> bool:
        """Work until about `until` (of ``time.perf_counter``); True if there is more to do now."""

    def fail(self, reference: str) -> None:
        """Record that `work` raised; `reference` identifies the traceback in the log."""


class Queue:
    """Tasks of one session, of which one is advanced at a time.

    Made by :meth:`Executor.queue`.

    Attributes
    ----------
    tasks : deque of Task
        Waiting tasks, in the order of their turns.
    running : Task or None
        The task that is being advanced.
    is_resubmitted : bool
        Whether the running task was submitted again.
    closed : bool
        Whether tasks are refused.
    """

    def __init__(self, executor: Executor) -> None:
        self.tasks: deque[Task] = deque()
        self.running: Task | None = None
        self.is_resubmitted = False
        self.closed = False
        self._executor = executor

    def submit(self, task: Task) -> None:
        """Add a task; no effect if it waits already, or if the queue is closed."""
        with self._executor.change:
            if self._executor.closed or self.closed:
                return
            if task is self.running:
                self.is_resubmitted = True
            elif task not in self.tasks:
                self.tasks.append(task)
                self._executor.admit(self)

    def withdraw(self, task: Task) -> None:
        """Remove a task; a running slice is not interrupted."""
        with self._executor.change:
            if task is self.running:
                self.is_resubmitted = False
            elif task in self.tasks:
                self.tasks.remove(task)

    def close(self) -> None:
        """Remove all tasks, and refuse others until `closed` is false again."""
        with self._executor.change:
            self.closed, self.is_resubmitted = True, False
            self.tasks.clear()


class Executor:
    """Threads that advance the tasks of all queues in turns.

    The threads start with the first task and sleep while there is none.

    Parameters
    ----------
    threads : int or None
        None: one per core that this process may use.
    slice_seconds : float
        Time after which a task gives way to the next queue. A single step that takes longer is not
        interrupted.

    Attributes
    ----------
    change : threading.Condition
        Held while queues are read or changed.
    closed : bool
        Whether the threads end.
    """

    def __init__(self, threads: int | None = None, slice_seconds: float = SLICE_SECONDS) -> None:
        self.change = threading.Condition()
        self.closed = False
        self._count = threads or cpu_count()
        self._slice_seconds = slice_seconds
        self._waiting: deque[Queue] = deque()  # queues with tasks of which none is running
        self._threads: list[threading.Thread] = []

    def queue(self) -> Queue:
        """Return a new queue."""
        return Queue(self)

    def close(self, timeout: float = 5.0) -> None:
        """Let running slices end, drop all tasks and end the threads."""
        with self.change:
            self.closed = True
            self._waiting.clear()
            self.change.notify_all()
        for thread in self._threads:
            thread.join(timeout)

    def admit(self, queue: Queue) -> None:
        """Let a queue with tasks wait for its turn, unless it does or is being served."""
        if queue.running is None and queue not in self._waiting:
            self._waiting.append(queue)
            self._start_threads()
            self.change.notify()

    def _start_threads(self) -> None:
        while len(self._threads) < self._count:
            name = f"graftviz-engine-{len(self._threads)}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while self._serve_next():
            pass

    def _serve_next(self) -> bool:
        """Advance the next task by a slice; False at the end.

        A thread that sleeps refers to no task, so that ended sessions are released.
        """
        with self.change:
            self.change.wait_for(lambda: self._waiting or self.closed)
            if self.closed:
                return False
            queue = self._waiting.popleft()
            if not queue.tasks:  # they were withdrawn
                return True
            task = queue.running = queue.tasks.popleft()
        has_more = self._advance(task)
        with self.change:
            has_more = (has_more and not queue.closed) or queue.is_resubmitted
            queue.running, queue.is_resubmitted = None, False
            if has_more and not self.closed:
                queue.tasks.append(task)
            if queue.tasks:
                self.admit(queue)
        return True

    def _advance(self, task: Task) -> bool:
        """Let a task work for a slice; return whether it has more to do now.

        A task that raises has failed; the thread and other tasks continue.
        """
        try:
            return task.work(time.perf_counter() + self._slice_seconds)
        except Exception:  # noqa: BLE001 (logged with a reference)
            task.fail(log_exception(log, "A run stopped with an unexpected error"))
            return False


# ----------------------------------------------------------------------------------------- the jobs


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
