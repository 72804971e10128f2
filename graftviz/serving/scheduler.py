"""One pool of engine threads that advances the work of all clients in small, fair slices.

With one thread per session, thirty sessions would wait for seconds; a single pool is shared. Shares
are equal by client, not by run: a client with six racing runs has as much of the engine as a client
with one run. Streamlit is not imported here, and no thread runs while no task has work.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from joblib import cpu_count

from graftviz.memory import release_freed_memory
from graftviz.serving.limits import limits
from graftviz.serving.logs import log_exception, logged

TIDY_SECONDS = 5.0  # between two releases of freed memory, while there is work
FAIR_TURN = 4  # one of this many slices is assigned by time alone
POSTPONED_SECONDS = 0.005  # for which steps that no client waits for give way to pages
MOST_POSTPONED = 10  # at most, in a row
TURN_SECONDS = 0.5  # of a page that is drawn
log = logging.getLogger(__name__)


class Foreground:
    """Counter of the threads that draw pages; a thread that waits for the engine is not counted.

    Whole pages are drawn in turns. All threads share one interpreter, so pages drawn at the same
    time all end late, and delay the short parts in between, such as the next steps of a run.

    Parameters
    ----------
    turn_seconds : float
        Length of a turn, and time for which a page waits for its turn. A page that takes longer
        is drawn at the same time as others.
    """

    def __init__(self, turn_seconds: float = TURN_SECONDS) -> None:
        self._drawing: set[int] = set()  # ids of threads
        self._turn_seconds = turn_seconds
        self._turn = threading.Condition()
        self._in_turn = 0  # id of a thread; 0 for none
        self._turn_end = 0.0

    @property
    def at_work(self) -> int:
        """Number of threads that draw now, or wait for their turn."""
        return len(self._drawing)

    def part(self) -> AbstractContextManager[None]:
        """Count this thread while it draws a part of a page."""
        return self._marked(self._drawing.add)

    @contextmanager
    def page(self) -> Iterator[None]:
        """Count this thread while it draws a whole page, in its turn."""
        with self.part():
            begins = not self._has_turn
            if begins:
                self._begin_turn()
            try:
                yield
            finally:
                if begins:
                    self._end_turn()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Leave this thread out while it waits for something."""
        had_turn = self._has_turn
        self._end_turn()
        with self._marked(self._drawing.discard):
            yield
        if had_turn:  # not after an exception, which ends the page
            self._begin_turn()

    @property
    def _has_turn(self) -> bool:
        return self._in_turn == threading.get_ident()

    def _begin_turn(self) -> None:
        latest = time.monotonic() + self._turn_seconds
        with self._turn:
            while self._in_turn and (now := time.monotonic()) < self._turn_end:
                if now >= latest:
                    return
                self._turn.wait(min(self._turn_end, latest) - now)
            self._in_turn = threading.get_ident()
            self._turn_end = time.monotonic() + self._turn_seconds

    def _end_turn(self) -> None:
        """End the turn of this thread, if it has one."""
        with self._turn:
            if self._has_turn:
                self._in_turn = 0
                self._turn.notify()

    @contextmanager
    def _marked(self, mark: Callable[[int], None]) -> Iterator[None]:
        thread = threading.get_ident()
        restore = self._drawing.add if thread in self._drawing else self._drawing.discard
        mark(thread)
        try:
            yield
        finally:
            restore(thread)


foreground = Foreground()


class Task(Protocol):
    """Unit of work that the scheduler advances in slices.

    Attributes
    ----------
    lane : Hashable or None
        Tasks of the same lane are never advanced at the same time, whatever their shares.
    """

    lane: Hashable | None

    @property
    def urgent(self) -> bool:
        """Whether a caller waits for the next result."""

    def work(self, until: float) -> bool:
        """Work until about `until` (of ``time.perf_counter``); True if there is more to do now."""

    def fail(self, reference: str) -> None:
        """Record that `work` raised; `reference` identifies the traceback in the log."""


class Share:
    """Queue of the tasks of one client, which take turns.

    Made by :meth:`Scheduler.share`.

    Attributes
    ----------
    served : float
        Engine seconds spent for this client, counted so that idle clients do not save up time.
    closed : bool
        Whether its tasks are held until it is opened again.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.served = 0.0
        self.queue: dict[Task, None] = {}  # in the order of turns
        self.working = 0  # threads that work for it now
        self.closed = False
        self._scheduler = scheduler

    def submit(self, task: Task) -> None:
        """Queue `task`; no effect if it is queued."""
        self._scheduler.submit(task, self)

    def withdraw(self, task: Task) -> None:
        """Remove `task` from the queue; a running slice is not interrupted."""
        self._scheduler.withdraw(task, self)

    def close(self) -> None:
        """Hold all queued tasks and all tasks submitted from now on."""
        self._scheduler.hold(self, closed=True)

    def open(self) -> None:
        """Resume, including held tasks; no effect if it is open."""
        self._scheduler.hold(self, closed=False)


class Turn(NamedTuple):
    """Task that may be next, and what decides between several."""

    task: Task
    share: Share
    is_urgent: bool


class Scheduler:
    """Fair scheduler of work slices on one daemon thread per core.

    Of the clients with work to do, the one that has had the least time is next; within a client,
    tasks take turns. So clients with work differ by at most about one slice per thread, for steps
    of any length. Clients that wait for a result take precedence over runs computed ahead, and
    so do pages being drawn, for a twentieth of a second; every fourth slice is assigned by time
    alone, so that steps ahead progress too. A task is never advanced by two threads at once.
    Threads start with the first task, sleep while there is nothing to do, and end with
    :meth:`close`.

    Parameters
    ----------
    threads : int or None
        None: the number in the limits, by default one per core this process may use.
    slice_seconds : float or None
        Length of a slice. None: the value in the limits.
    pages : Foreground
        Steps computed ahead wait, for a limited time, while pages are being drawn.
    """

    def __init__(
        self,
        threads: int | None = None,
        slice_seconds: float | None = None,
        pages: Foreground = foreground,
    ) -> None:
        self._wanted = threads or limits().engine_threads or cpu_count()
        self._slice_seconds = limits().slice_seconds if slice_seconds is None else slice_seconds
        self._change = threading.Condition()
        self._waiting: set[Share] = set()  # open shares with a queue
        self._running: dict[Task, bool] = {}  # task → submitted again during its slice
        self._turn = 0
        self._clock = 0.0  # time of the client that was served last
        self._pages = pages
        self._tidied = 0.0
        self._threads: list[threading.Thread] = []
        self._closed = False

    def share(self) -> Share:
        """Return the share of a new client."""
        return Share(self)

    def submit(self, task: Task, share: Share) -> None:
        """Queue `task` in a share; no effect if it is queued."""
        with self._change:
            if self._closed:
                return
            self._start_threads()
            if task in self._running:
                self._running[task] = True
            elif task not in share.queue:
                share.queue[task] = None
                self._admit(share)

    def withdraw(self, task: Task, share: Share) -> None:
        """Remove `task` from a share; a running slice is not interrupted."""
        with self._change:
            if task in self._running:
                self._running[task] = False
            elif task in share.queue:
                del share.queue[task]
                if not share.queue:
                    self._waiting.discard(share)

    def hold(self, share: Share, *, closed: bool) -> None:
        """Give the tasks of a client no turns while its share is closed.

        A started slice is not interrupted.
        """
        with self._change:
            share.closed = closed
            if closed:
                self._waiting.discard(share)
            else:
                self._admit(share)

    def close(self, timeout: float = 5.0) -> None:
        """Let running slices end, drop the queue and end the threads."""
        with self._change:
            self._closed = True
            self._waiting.clear()
            self._change.notify_all()
        for thread in self._threads:
            thread.join(timeout)

    def _admit(self, share: Share) -> None:
        """Let a share be served; after idling, its served time is raised to the clock."""
        if share.closed or not share.queue:
            return
        if share not in self._waiting and not share.working:
            share.served = max(share.served, self._clock)
        self._waiting.add(share)
        self._change.notify(len(share.queue))

    def _start_threads(self) -> None:
        while len(self._threads) < self._wanted:
            name = f"graftviz-engine-{len(self._threads)}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while self._serve_next():
            if time.perf_counter() - self._tidied > TIDY_SECONDS:
                self._tidied = time.perf_counter()
                with logged(log, "Freed memory could not be released"):
                    release_freed_memory()

    def _serve_next(self) -> bool:
        """Work for a slice; False after the end. While a thread sleeps it holds no task."""
        turn = self._take()
        if turn is None:
            return False
        task, share, _ = turn
        began = time.perf_counter()
        more = _run_slice(task, began + self._slice_seconds)
        seconds = time.perf_counter() - began
        with self._change:
            submitted_again = self._running.pop(task)
            share.served += seconds
            if more or submitted_again:
                self.submit(task, share)
            share.working -= 1
            if task.lane is not None:
                self._change.notify()  # the next task of the lane may begin
        return True

    def _take(self) -> Turn | None:
        """Wait for a task and take it out of its queue; None after the end."""
        postponed = 0
        with self._change:
            while not self._closed:
                is_by_need = self._turn % FAIR_TURN != FAIR_TURN - 1
                turn = self._next_turn(is_by_need)
                if turn is None:
                    self._change.wait()
                elif self._is_postponed(turn, is_by_need) and postponed < MOST_POSTPONED:
                    postponed += 1
                    self._change.wait(POSTPONED_SECONDS)  # or less, as a task may be urgent
                else:
                    self._begin(turn.task, turn.share)
                    return turn
        return None

    def _is_postponed(self, turn: Turn, is_by_need: bool) -> bool:
        """Return whether a turn waits while pages are being drawn."""
        return is_by_need and not turn.is_urgent and self._pages.at_work > 0

    def _begin(self, task: Task, share: Share) -> None:
        del share.queue[task]
        if not share.queue:
            self._waiting.discard(share)
        self._turn += 1
        self._clock = max(self._clock, share.served)
        self._running[task] = False
        share.working += 1

    def _next_turn(self, is_by_need: bool) -> Turn | None:
        """Return the next task, by urgency or by time alone; None if no task may begin."""
        lanes = {task.lane for task in self._running} - {None}
        turns = []
        for share in self._waiting:
            tasks = [task for task in share.queue if task.lane not in lanes]
            urgent = list(filter(_is_urgent, tasks)) if is_by_need else []
            if tasks:
                turns.append(Turn([*urgent, *tasks][0], share, bool(urgent)))

        def rank(turn: Turn) -> tuple[bool, float]:
            # A slice in progress counts as served.
            had = turn.share.served + turn.share.working * self._slice_seconds
            return not turn.is_urgent, had

        return min(turns, key=rank, default=None)


def _run_slice(task: Task, until: float) -> bool:
    """Let a task work until about `until`; return whether it has more to do now.

    A task that raises has failed; the thread and other tasks continue.
    """
    try:
        return task.work(until)
    except Exception:  # noqa: BLE001 (logged with a reference)
        reference = log_exception(log, "A run stopped with an unexpected error")
        with logged(log, "A failed run could not be marked as stopped"):
            task.fail(reference)
        return False


def _is_urgent(task: Task) -> bool:
    """Return whether a task is urgent; False if that raises."""
    try:
        return task.urgent
    except Exception:  # noqa: BLE001 (logged with a reference)
        log_exception(log, "The urgency of a run could not be determined")
        return False
