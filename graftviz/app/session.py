"""Sessions, what ends with each, and what all of them share: executor, jobs, and data sets.

The server cannot distinguish a broken connection from a closed tab. In both cases Streamlit
releases the session's resources, and its runs are dropped. Settings and uploaded tables stay in
``st.session_state`` for as long as Streamlit keeps it, so a page that reconnects computes the same
runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import streamlit as st

from graftviz.app.jobs import Executor, Job, Queue
from graftviz.app.material import Material, SourceCache, prepare
from graftviz.data.sets.registry import load_dataset
from graftviz.utils.errors import InputError

BUSY = "The server is too busy to finish this now; try again later."
LONGEST_WAIT = 300.0  # seconds; a first run on a busy machine may have to be compiled
_AT_ONCE = 0.3  # seconds to wait for the end before the page continues
_FIRST_VALUE = 20.0  # seconds that a page waits for the first value before it shows a notice
_KEY, _BEGUN = "session", "session.begun"
P = ParamSpec("P")
T = TypeVar("T")


class Session:
    """Queue of one session, and the computations of its pages.

    Attributes
    ----------
    queue : Queue
    works : dict
        Name of a page → its state, whose method `forget` stops its computations, and releases all
        results that can be computed again.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.works: dict[str, Any] = {}

    def end(self) -> None:
        """Drop all computations; the script of the page may run for a while, and starts none."""
        self.queue.close()
        for work in list(self.works.values()):
            work.forget()


@st.cache_resource(show_spinner=False)
def executor() -> Executor:
    """Return the executor of this process."""
    return Executor()


@st.cache_resource(show_spinner=False, scope="session", on_release=Session.end)
def session() -> Session:
    """Return this session; Streamlit calls this again after a reconnection."""
    found: Session = st.session_state.setdefault(_KEY, Session(executor().queue()))
    found.queue.closed = False
    return found


def begin_session() -> None:
    """Open this session; ``app.py`` calls it before it runs a page."""
    st.session_state[_BEGUN] = True
    session()


def begin_with_app(page: str) -> None:
    """Run ``app.py`` first if Streamlit has opened the session's first page without it.

    Streamlit takes a folder called pages for pages of an app without `st.navigation`, until that
    is called for the first time: it then runs the page of an address alone.
    """
    if _BEGUN not in st.session_state:
        start = st.Page(_nothing, title="Grow", url_path="start", default=True)
        st.navigation([start, st.Page(_nothing, title=page, url_path=page)], position="hidden")
        st.rerun()


def _nothing() -> None:
    """Stand for a page that ``app.py`` will run."""


def queue() -> Queue:
    """Return the queue of this session."""
    return session().queue


def page_state(key: str, make: Callable[[], T]) -> T:
    """Return the state of a page in this session, made on first use.

    Its computations end with the session.
    """
    if key not in st.session_state:
        st.session_state[key] = make()
    state: T = st.session_state[key]
    session().works[key] = state
    return state


@st.cache_resource(show_spinner="Loading the data…", max_entries=32)
def material(key: str, seed: int) -> Material:
    """Return a built-in data set, made ready."""
    return prepare(load_dataset(key), seed)


def await_first(job: Job[Any]) -> None:
    """Wait briefly for the end of a job, then longer for its first value."""
    job.wait_for_end(_AT_ONCE)
    job.wait(1, _FIRST_VALUE)


class JobSource(NamedTuple):
    """Source of jobs; data and models have the same attributes.

    Attributes
    ----------
    identity : str
        Equal for sources that give equal results.
    own : SourceCache or None
        Cache of the jobs of a source of one session; None if its jobs are shared.
    data : object
    """

    identity: str
    own: SourceCache | None
    data: Any


def shared_job(
    most: int, *, in_turn: bool = False, begins: bool = False
) -> Callable[[Callable[Concatenate[Any, P], Iterator[T]]], Callable[Concatenate[Any, P], Job[T]]]:
    """Decorate a function of source and settings, which then returns the job of these.

    The decorated function returns the values of the job. Its source has the attributes of
    :class:`JobSource`. Equal arguments give the same job; settings with equal ``repr`` are equal.
    Jobs of a source with a cache of its own, such as an upload, live as long as it; all others are
    shared between sessions. Each has a queue of its own.

    Parameters
    ----------
    most : int
        Maximum number of cached shared jobs.
    in_turn : bool
        Whether these jobs are never advanced at the same time: they have one queue.
    begins : bool
        Whether a job is started at once, and continues until its end.
    """
    shared = SourceCache(most)

    @cache
    def common_queue() -> Queue:
        return executor().queue()

    def decorated(
        values: Callable[Concatenate[Any, P], Iterator[T]],
    ) -> Callable[Concatenate[Any, P], Job[T]]:
        @wraps(values)
        def job(source: Any, /, *settings: P.args, **named: P.kwargs) -> Job[T]:
            token = f"{source.identity}:{settings}{named or ''}"

            def make() -> Job[T]:
                queue = common_queue() if in_turn else executor().queue()
                return Job(values(source, *settings, **named), queue, token)

            cache = shared if source.own is None else source.own
            found = cache.get((values, token), make)
            if begins:
                found.grant()
            return found

        return job

    return decorated


def last_value(values: Iterator[T]) -> T | None:
    """Compute values on the engine threads and return the last.

    Raises
    ------
    InputError
        When the computation fails, or takes too long on a busy server.
    """
    job = Job(values, executor().queue())
    job.grant()
    if not job.wait_for_end(LONGEST_WAIT):
        job.revoke()
        raise InputError(BUSY)
    if job.failure:
        raise InputError(job.failure)
    return job.latest
