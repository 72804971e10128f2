"""Executor of the long computations of all sessions, in slices of 20 ms and in turns.

One thread per core serves the queues of the sessions round robin, so a session with six runs has as
much of the machine as a session with one. Streamlit is not imported here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Protocol

from joblib import cpu_count

from graftviz.app.references import log_exception

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
        self._executor.submit(task, self)

    def withdraw(self, task: Task) -> None:
        """Remove a task; a running slice is not interrupted."""
        self._executor.withdraw(task, self)

    def close(self) -> None:
        """Remove all tasks, and refuse others until the queue is opened again."""
        self._executor.clear(self)

    def open(self) -> None:
        """Accept tasks again."""
        self.closed = False


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
    """

    def __init__(self, threads: int | None = None, slice_seconds: float = SLICE_SECONDS) -> None:
        self._count = threads or cpu_count()
        self._slice_seconds = slice_seconds
        self._change = threading.Condition()
        self._waiting: deque[Queue] = deque()  # queues with tasks of which none is running
        self._threads: list[threading.Thread] = []
        self._closed = False

    def queue(self) -> Queue:
        """Return a new queue."""
        return Queue(self)

    def submit(self, task: Task, queue: Queue) -> None:
        """Add a task to a queue; no effect if it waits already, or if the queue is closed."""
        with self._change:
            if self._closed or queue.closed:
                return
            if task is queue.running:
                queue.is_resubmitted = True
            elif task not in queue.tasks:
                queue.tasks.append(task)
                self._admit(queue)

    def withdraw(self, task: Task, queue: Queue) -> None:
        """Remove a task from a queue; a running slice is not interrupted."""
        with self._change:
            if task is queue.running:
                queue.is_resubmitted = False
            elif task in queue.tasks:
                queue.tasks.remove(task)

    def clear(self, queue: Queue) -> None:
        """Close a queue and remove its tasks; a running slice is not interrupted."""
        with self._change:
            queue.closed, queue.is_resubmitted = True, False
            queue.tasks.clear()

    def close(self, timeout: float = 5.0) -> None:
        """Let running slices end, drop all tasks and end the threads."""
        with self._change:
            self._closed = True
            self._waiting.clear()
            self._change.notify_all()
        for thread in self._threads:
            thread.join(timeout)

    def _admit(self, queue: Queue) -> None:
        """Let a queue with tasks wait for its turn, unless it does or is being served."""
        if queue.running is None and queue not in self._waiting:
            self._waiting.append(queue)
            self._start_threads()
            self._change.notify()

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
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return False
            queue = self._waiting.popleft()
            if not queue.tasks:  # they were withdrawn
                return True
            task = queue.running = queue.tasks.popleft()
        has_more = self._advance(task)
        with self._change:
            has_more = (has_more and not queue.closed) or queue.is_resubmitted
            queue.running, queue.is_resubmitted = None, False
            if has_more and not self._closed:
                queue.tasks.append(task)
            if queue.tasks:
                self._admit(queue)
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
