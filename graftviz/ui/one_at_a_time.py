"""Runs that are timed against each other take turns: one engine thread at most works for them.

Two runs of one race on two threads would wait for each other's locks and caches, and the seconds
they are compared by would say more about that than about them.
"""

from __future__ import annotations

import threading
from collections import deque

from graftviz.ui.scheduler import Task, Turns


class OneAtATime:
    """A queue of tasks that is itself one task of the scheduler.

    Parameters
    ----------
    scheduler : Turns
    """

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._queue: deque[Task] = deque()
        self._working: Task | None = None

    @property
    def urgent(self) -> bool:
        """Whether a caller waits for the next result of any queued task."""
        with self._lock:
            return any(task.urgent for task in self._queue)

    def submit(self, task: Task) -> None:
        """Queue `task`; no effect if it is queued."""
        with self._lock:
            if task not in self._queue:
                self._queue.append(task)
        self._scheduler.submit(self)

    def withdraw(self, task: Task) -> None:
        """Remove `task` from the queue; a running slice is not interrupted."""
        with self._lock:
            if task in self._queue:
                self._queue.remove(task)

    def work(self, until: float) -> bool:
        """Let the next task work until about `until`; True while any has more to do."""
        with self._lock:
            if not self._queue:
                return False
            task = self._working = self._queue.popleft()
        more = task.work(until)
        with self._lock:
            self._working = None
            if more and task not in self._queue:
                self._queue.append(task)
            return bool(self._queue)

    def fail(self, reference: str) -> None:
        """Pass an unexpected error on to the task it happened in; the others go on."""
        with self._lock:
            task, self._working = self._working, None
            goes_on = bool(self._queue)
        if task is not None:
            task.fail(reference)
        if goes_on:
            self._scheduler.submit(self)
