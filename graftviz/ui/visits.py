"""Registry of open pages, each with a share of the engine and runs to release at its end.

A connection that breaks looks like a tab that was closed. So computing stops at once, what was
computed is kept for a while, and then forgotten: the same settings give the same run again.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol
from weakref import WeakKeyDictionary, WeakSet

from graftviz.memory import release_freed_memory
from graftviz.ui.caches import clear_caches
from graftviz.ui.limits import limits
from graftviz.ui.references import logged
from graftviz.ui.scheduler import Share

log = logging.getLogger(__name__)


class Work(Protocol):
    """Interface of the computations of a page in one session."""

    def revoke(self) -> None:
        """Stop computing; what was computed stays."""


class Forgetful(Work, Protocol):
    """Work that can be released, and is computed again when it is needed."""

    def forget(self) -> None:
        """Release what was computed."""


class Visit:
    """One open page: its share of the engine, and what it computes.

    Attributes
    ----------
    share : Share
    """

    def __init__(self, share: Share) -> None:
        self.share = share
        self._lock = threading.Lock()
        self._works: WeakSet[Work] = WeakSet()

    def add(self, work: Work) -> None:
        """Let `work` stop, and be forgotten, with this visit."""
        with self._lock:
            self._works.add(work)

    def revoke(self) -> None:
        """Stop all computing; nothing that was computed is lost."""
        for work in self._all_works():
            with logged(log, "Work could not be stopped"):
                work.revoke()

    def forget(self) -> None:
        """Let go of whatever can be computed again."""
        for work in self._all_works():
            forget = getattr(work, "forget", None)
            if forget is not None:
                with logged(log, "Work could not be put away"):
                    forget()

    def _all_works(self) -> list[Work]:
        with self._lock:
            return list(self._works)


class Visits:
    """All visits of a process.

    Parameters
    ----------
    kept_seconds : float
        How long the runs of a visit are kept after it has ended.
    clock : callable
        Returns the time in seconds.
    on_empty : callable, optional
        Called when the last of them has been put away.
    """

    def __init__(
        self,
        kept_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        on_empty: Callable[[], object] | None = None,
    ) -> None:
        self._kept_seconds = kept_seconds
        self._clock = clock
        self._on_empty = on_empty
        self._lock = threading.Lock()
        self._here: WeakSet[Visit] = WeakSet()
        self._gone: WeakKeyDictionary[Visit, float] = WeakKeyDictionary()
        self._timer: threading.Timer | None = None

    @property
    def here(self) -> int:
        """How many pages are open."""
        with self._lock:
            return len(self._here)

    def register(self, visit: Visit) -> None:
        """Take note that a page was opened, or that its connection is back."""
        with self._lock:
            self._gone.pop(visit, None)
            self._here.add(visit)
            visit.share.open()

    def left(self, visit: Visit) -> None:
        """Stop the computing of a page that was closed, or whose connection broke."""
        with self._lock:
            self._here.discard(visit)
            self._gone[visit] = self._clock()
            self._wake_later()
            visit.share.close()  # its script may go on for a while, and begin something
        visit.revoke()

    def forget(self, *, all_of_them: bool = False) -> int:
        """Put away the runs of visits that ended long enough ago, or of all that ended.

        Returns how many visits that were.
        """
        with self._lock:
            due = self._clock() - self._kept_seconds
            chosen = [pair for pair in self._gone.items() if all_of_them or pair[1] <= due]
        forgotten = 0
        for visit, ended in chosen:
            with self._lock:
                if self._gone.get(visit) != ended:
                    continue  # it is back
                del self._gone[visit]
            visit.forget()
            forgotten += 1
        with self._lock:
            is_empty = not self._here and not self._gone
        if is_empty and self._on_empty is not None:
            self._on_empty()
        if forgotten or is_empty:
            gc.collect()
            release_freed_memory()
        return forgotten

    def _wake_later(self) -> None:
        if self._timer is None and self._gone:
            due = min(self._gone.values()) + self._kept_seconds - self._clock()
            # A little later than needed, so that several who leave together are one piece of work.
            self._timer = threading.Timer(max(0.0, due) + 1.0, self._wake)
            self._timer.daemon = True
            self._timer.start()

    def _wake(self) -> None:
        with logged(log, "Those who have gone could not be put away"):
            self.forget()
        with self._lock:
            self._timer = None
            self._wake_later()


@lru_cache(maxsize=1)
def visits() -> Visits:
    """Return the visits of this process."""
    return Visits(limits().gone_seconds, on_empty=clear_caches)
