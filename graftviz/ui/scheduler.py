"""One pool of engine threads that advances the runs of all sessions in small, fair slices.

A thread per session makes thirty sessions wait for seconds; one pool with a round-robin queue makes
them share. Nothing here knows Streamlit, and no thread runs while no task has work.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from typing import Protocol

from graftviz.ui.references import log_exception

SLICE_SECONDS = 0.02
log = logging.getLogger(__name__)


class Task(Protocol):
    """What the scheduler advances."""

    def work(self, until: float) -> bool:
        """Work until about `until` (of ``time.perf_counter``); True if there is more to do now."""

    def fail(self, reference: str) -> None:
        """Take note that `work` raised; `reference` finds the traceback in the server's log."""


class Scheduler:
    """Round-robin over tasks with work to do, on as many daemon threads as there are cores.

    A task is never worked on by two threads at once. Threads start with the first task, sleep
    while the queue is empty, and end with :meth:`close`.

    Parameters
    ----------
    threads : int or None
        None: one per core this process may use.
    slice_seconds : float
        How long a task may work before the next one's turn.
    """

    def __init__(self, threads: int | None = None, slice_seconds: float = SLICE_SECONDS) -> None:
        self._wanted = threads or usable_cores()
        self._slice_seconds = slice_seconds
        self._change = threading.Condition()
        self._queue: deque[Task] = deque()
        self._running: dict[Task, bool] = {}  # task → was it submitted again meanwhile?
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, task: Task) -> None:
        """Give `task` a turn soon; harmless when it already waits for one."""
        with self._change:
            if self._closed:
                return
            self._start_threads()
            if task in self._running:
                self._running[task] = True
            elif task not in self._queue:
                self._queue.append(task)
                self._change.notify()

    def withdraw(self, task: Task) -> None:
        """Take `task` out of the queue; a slice that has begun ends by itself."""
        with self._change:
            if task in self._queue:
                self._queue.remove(task)
            if task in self._running:
                self._running[task] = False

    def close(self, timeout: float = 5.0) -> None:
        """Let running slices end, drop the queue and end the threads."""
        with self._change:
            self._closed = True
            self._queue.clear()
            self._change.notify_all()
        for thread in self._threads:
            thread.join(timeout)

    def _start_threads(self) -> None:
        while len(self._threads) < self._wanted:
            name = f"graftviz-engine-{len(self._threads)}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while (task := self._take()) is not None:
            more = self._run_slice(task)
            self._put_back(task, more)

    def _take(self) -> Task | None:
        with self._change:
            while not self._queue and not self._closed:
                self._change.wait()
            if self._closed:
                return None
            task = self._queue.popleft()
            self._running[task] = False
            return task

    def _put_back(self, task: Task, more: bool) -> None:
        with self._change:
            submitted_again = self._running.pop(task)
            if (more or submitted_again) and not self._closed:
                self._queue.append(task)
                self._change.notify()

    def _run_slice(self, task: Task) -> bool:
        try:
            return task.work(time.perf_counter() + self._slice_seconds)
        except Exception:  # noqa: BLE001 (logged with a reference)
            # The boundary between all sessions and one broken run: the run ends, the others and
            # this thread go on.
            task.fail(log_exception(log, "A run stopped with an unexpected error"))
            return False


def usable_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
