"""Registry of open pages, and caches that are cleared when a session, or all of them, have ended.

A broken connection cannot be distinguished from a closed tab. So computing stops at once, what was
computed stays in memory for a while, and is then released: the same settings give the same run
again. Values made from an upload live as long as their source. Values of all sessions are cached by
``st.cache_resource`` under :func:`clearable_cache`, and cleared while no session is open.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.memory import release_freed_memory
from graftviz.serving.limits import limits
from graftviz.serving.logs import logged
from graftviz.serving.scheduler import Scheduler, Share

log = logging.getLogger(__name__)
_clears: list[Callable[[], None]] = []
_VISIT_KEY = "visit"
T = TypeVar("T")


class PageWork(Protocol):
    """Computations of a page in one session."""

    def revoke(self) -> None:
        """Stop computing, and keep the results."""

    def forget(self) -> None:
        """Release all results that can be computed again."""


S = TypeVar("S", bound=PageWork)


class Visit:
    """One open page: its share of the engine, and what it computes.

    Attributes
    ----------
    share : Share
    """

    def __init__(self, share: Share) -> None:
        self.share = share
        self._lock = threading.Lock()
        self._works: WeakSet[PageWork] = WeakSet()

    def add(self, work: PageWork) -> None:
        """Let `work` stop, and be forgotten, with this visit."""
        with self._lock:
            self._works.add(work)

    def revoke(self) -> None:
        """Stop all computing; nothing that was computed is lost."""
        self._each(lambda work: work.revoke())

    def forget(self) -> None:
        """Release all results that can be computed again."""
        self._each(lambda work: work.forget())

    def _each(self, act: Callable[[PageWork], None]) -> None:
        with self._lock:
            works = list(self._works)
        for work in works:
            with logged(log, "The work of a page could not be stopped or released"):
                act(work)


class Visits:
    """All visits of a process.

    Parameters
    ----------
    gone_seconds : float
        Seconds for which the runs of a visit are cached after it has ended.
    clock : callable
        Return the time in seconds.
    on_empty : callable
        Called when no visit is left.
    """

    def __init__(
        self,
        gone_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        on_empty: Callable[[], object] = lambda: None,
    ) -> None:
        self._gone_seconds = gone_seconds
        self._clock = clock
        self._on_empty = on_empty
        self._lock = threading.Lock()
        self._here: WeakSet[Visit] = WeakSet()
        self._gone: dict[Visit, float] = {}  # when they ended

    @property
    def here(self) -> int:
        """Number of open pages."""
        with self._lock:
            return len(self._here)

    def register(self, visit: Visit) -> None:
        """Count a page that was opened, or whose connection is back."""
        with self._lock:
            self._gone.pop(visit, None)
            self._here.add(visit)
            visit.share.open()

    def left(self, visit: Visit) -> None:
        """Stop the computing of a page that was closed, or whose connection broke."""
        with self._lock:
            self._here.discard(visit)
            self._gone[visit] = self._clock()
            visit.share.close()  # its script may continue for a while, and start work
        visit.revoke()

    def forget(self, *, all_of_them: bool = False) -> int:
        """Release the runs of visits that ended long enough ago, or of all that ended.

        Returns
        -------
        int
            Number of these visits.
        """
        with self._lock:
            due = self._clock() - self._gone_seconds
            chosen = [pair for pair in self._gone.items() if all_of_them or pair[1] <= due]
        forgotten = 0
        for visit, ended in chosen:
            with self._lock:
                if self._gone.get(visit) != ended:
                    continue  # it is back
                del self._gone[visit]
            visit.forget()
            forgotten += 1
        if forgotten:
            with self._lock:
                is_empty = not self._here and not self._gone
            if is_empty:
                self._on_empty()
            free_memory()
        return forgotten


def free_memory() -> None:
    """Collect unreachable objects, and return freed memory to the system."""
    gc.collect()
    release_freed_memory()


@lru_cache(maxsize=1)
def visits() -> Visits:
    """Return the visits of this process."""
    return Visits(limits().gone_seconds, on_empty=clear_caches)


def clearable_cache(cached: T) -> T:
    """Mark a cache, or a function under ``st.cache_resource``, as clearable.

    It is cleared while no session is open. Its values are computed again on the next access.
    """
    _clears.append(cached.clear)  # type: ignore[attr-defined]
    return cached


def clear_caches() -> None:
    """Clear all clearable caches."""
    for clear in _clears:
        with logged(log, "A cache could not be cleared"):
            clear()


# ----------------------------------------------------------------------------- of this session


@st.cache_resource(show_spinner=False)
def scheduler() -> Scheduler:
    """Return the engine threads of this process."""
    return Scheduler()


@st.cache_resource(
    show_spinner=False, scope="session", on_release=lambda visit: visits().left(visit)
)
def _connection() -> Visit:
    """Return the visit of this session; called again after a reconnection."""
    visit: Visit = st.session_state.setdefault(_VISIT_KEY, Visit(scheduler().share()))
    visits().register(visit)
    return visit


def register_visit() -> Visit:
    """Return the visit of this session; show a warning and stop if there are too many."""
    most = limits().clients
    if _VISIT_KEY not in st.session_state and visits().here >= most:
        pages = "1 page is" if most == 1 else f"{most:,} pages are"
        st.warning(
            f"{pages} open, the limit of this server. Reload this page in a minute, or run "
            "graftviz on your own machine."
        )
        st.stop()
    context = get_script_run_ctx()
    if context and exists() and not get_instance().is_active_session(context.session_id):
        st.stop()  # the page was closed while its script runs
    return _connection()


def share() -> Share:
    """Return this session's share of the engine."""
    return register_visit().share


def page_state(key: str, make: Callable[[], S]) -> S:
    """Return the state of a page in this session, made on first use.

    Its computations stop when the session ends.
    """
    if key not in st.session_state:
        st.session_state[key] = make()
    state: S = st.session_state[key]
    register_visit().add(state)
    return state


def opened_state(key: str) -> Any | None:
    """Return the state of a page in this session; None if the page has not been opened."""
    return st.session_state.get(key)
