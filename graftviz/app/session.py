"""Sessions: the executor that all share, and what ends with each.

The server cannot distinguish a broken connection from a closed tab. In both cases Streamlit
releases the session's resources, and its runs are dropped. Settings and uploaded tables stay in
``st.session_state`` for as long as Streamlit keeps it, so a page that reconnects computes the same
runs again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import streamlit as st

from graftviz.app.executor import Executor, Queue

_KEY, _BEGUN = "session", "session.begun"


class PageWork(Protocol):
    """Computations of a page in one session."""

    def forget(self) -> None:
        """Stop computing, and release all results that can be computed again."""


S = TypeVar("S", bound=PageWork)


class Session:
    """Queue of one session, and the computations of its pages.

    Attributes
    ----------
    queue : Queue
    works : dict
        Name of a page → its computations.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.works: dict[str, PageWork] = {}

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
    found.queue.open()
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


def page_state(key: str, make: Callable[[], S]) -> S:
    """Return the state of a page in this session, made on first use.

    Its computations end with the session.
    """
    if key not in st.session_state:
        st.session_state[key] = make()
    state: S = st.session_state[key]
    session().works[key] = state
    return state


def opened_state(key: str) -> Any | None:
    """Return the state of a page in this session; None if the page has not been opened."""
    return st.session_state.get(key)
