"""Engine threads and data of all sessions, and the states of the pages of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.datasets import load_dataset
from graftviz.material import Material, prepare
from graftviz.ui.limits import limits
from graftviz.ui.scheduler import Scheduler, Share
from graftviz.ui.visits import Visit, Work, clearable_cache, visits

_VISIT_KEY = "visit"
S = TypeVar("S", bound=Work)


@st.cache_resource(show_spinner=False)
def scheduler() -> Scheduler:
    """Return the engine threads of this process."""
    return Scheduler()


@clearable_cache
@st.cache_resource(show_spinner="Loading the data…", max_entries=32)
def material(key: str, seed: int) -> Material:
    """Return a built-in data set, made ready."""
    return prepare(load_dataset(key), seed)


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
    """Return what this session has of the engine."""
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
