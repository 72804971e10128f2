"""Resources shared by all sessions: engine threads, warm-up, data, and vocabulary."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.datasets import dataset_keys, load_dataset
from graftviz.learners.registry import learner_class, learner_names
from graftviz.memory import release_freed_memory
from graftviz.ui.budget.jobs import rehearse_budget_page
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.dynamics.jobs import rehearse_dynamics_page
from graftviz.ui.dynamics.state import DynamicsState
from graftviz.ui.grow.state import GrowState
from graftviz.ui.inspect.state import InspectState
from graftviz.ui.inspect.work import inspect_jobs
from graftviz.ui.limits import limits
from graftviz.ui.material import Material, prepare
from graftviz.ui.prune.recording import rehearse_prune_page
from graftviz.ui.prune.state import PruneState
from graftviz.ui.race.state import RaceState
from graftviz.ui.regions.jobs import rehearse_regions_page
from graftviz.ui.regions.state import RegionState
from graftviz.ui.reservoir.jobs import rehearse_reservoir_page
from graftviz.ui.scheduler import Scheduler, Share
from graftviz.ui.shared import clearable_cache
from graftviz.ui.url_state import Vocabulary
from graftviz.ui.visits import Visit, visits
from graftviz.ui.warm_up import Job, WarmUp, first_jobs, later_jobs, rehearse_learner

DEFAULT_DATA = "scale-free-60"
DEFAULT_LEARNER = "best-choice"
DEFAULT_PRUNED = "survey"
_STATE_KEY = "grow"
_RACE_KEY = "race"
_INSPECT_KEY = "inspect"
_PRUNE_KEY = "prune"
_VISIT_KEY = "visit"


_PAGES = {
    "regions": rehearse_regions_page,
    "prune": rehearse_prune_page,
    "budget": rehearse_budget_page,
    "dynamics": rehearse_dynamics_page,
    "reservoir": rehearse_reservoir_page,
}


def every_job() -> list[Job]:
    """Return the jobs that compile what any page may use."""
    return [*first_jobs(), *later_jobs(), *_PAGES.values(), *inspect_jobs()]


@st.cache_resource(show_spinner=False)
def scheduler() -> Scheduler:
    """Return the engine threads of this process."""
    return Scheduler(tidy=release_freed_memory)


@st.cache_resource(show_spinner=False)
def warm_up() -> WarmUp:
    """Return the compilation of the engine, which begins with the first call."""
    return WarmUp(first_jobs(), [*later_jobs(), *_PAGES.values()])


@st.cache_resource(show_spinner=False)
def page_warm_up(page: str) -> WarmUp:
    """Return the compilation of what one of these pages needs: for who goes there first."""
    return WarmUp([_PAGES[page]])


@st.cache_resource(show_spinner=False)
def inspect_warm_up() -> WarmUp:
    """Return the compilation of what the Inspect page computes; it begins with the first call."""
    return WarmUp(inspect_jobs())


@st.cache_resource(show_spinner=False)
def vocabulary() -> Vocabulary:
    """Return the names that links and controls may use."""
    keys = dataset_keys()
    learners = {name: learner_class(name) for name in learner_names()}
    return Vocabulary(keys, learners, DEFAULT_DATA, DEFAULT_LEARNER)


@clearable_cache
@st.cache_resource(show_spinner="Loading the data…", max_entries=32)
def material(key: str, seed: int) -> Material:
    """Return a built-in data set, made ready."""
    return prepare(load_dataset(key), seed)


def _ended(visit: Visit) -> None:
    visits().left(visit)


@st.cache_resource(show_spinner=False, scope="session", on_release=_ended)
def _connection() -> Visit:
    """Return the visit of this session; called anew when its connection broke and is back."""
    if _VISIT_KEY not in st.session_state:
        st.session_state[_VISIT_KEY] = Visit(scheduler().share())
    visit: Visit = st.session_state[_VISIT_KEY]
    visits().register(visit)
    return visit


def register_visit() -> None:
    """Count this session among the visits; when there are too many, say so and show no page."""
    _visit()


def share() -> Share:
    """Return what this session has of the engine."""
    return _visit().share


def _visit() -> Visit:
    """Return the visit of this session; when there are too many, say so instead."""
    most = limits().clients
    if _VISIT_KEY not in st.session_state and visits().here >= most:
        pages = "1 page is" if most == 1 else f"{most:,} pages are"
        st.warning(
            f"{pages} open here, as many as this server serves at once. Load this page again in a "
            "minute, or run graftviz on a machine of your own: it is the same program."
        )
        st.stop()
    if _page_is_closed():
        st.stop()
    return _connection()


def _page_is_closed() -> bool:
    """Return whether the session of this script is disconnected."""
    context = get_script_run_ctx()
    return (
        context is not None
        and exists()
        and not get_instance().is_active_session(context.session_id)
    )


def grow_state() -> GrowState:
    """Return the Grow page's state of this session."""
    if _STATE_KEY not in st.session_state:
        st.session_state[_STATE_KEY] = GrowState(vocabulary(), material, share())
    state: GrowState = st.session_state[_STATE_KEY]
    _visit().add(state)
    return state


def race_state() -> RaceState:
    """Return the Race page's state of this session."""
    if _RACE_KEY not in st.session_state:
        st.session_state[_RACE_KEY] = RaceState(vocabulary(), material, share(), rehearse_learner)
    state: RaceState = st.session_state[_RACE_KEY]
    _visit().add(state)
    return state


def inspect_state() -> InspectState:
    """Return the Inspect page's state of this session."""
    if _INSPECT_KEY not in st.session_state:
        st.session_state[_INSPECT_KEY] = InspectState(
            vocabulary(), material, share(), lambda: st.session_state.get(_STATE_KEY)
        )
    state: InspectState = st.session_state[_INSPECT_KEY]
    _visit().add(state)
    return state


def prune_state() -> PruneState:
    """Return the Prune page's state of this session."""
    if _PRUNE_KEY not in st.session_state:
        first = [DEFAULT_PRUNED, *(key for key in dataset_keys() if key != DEFAULT_PRUNED)]
        st.session_state[_PRUNE_KEY] = PruneState(tuple(first), material, share())
    state: PruneState = st.session_state[_PRUNE_KEY]
    _visit().add(state)
    return state


def stops_with_session(state: BudgetState | DynamicsState | RegionState) -> None:
    """Let a state's computing stop when its session has gone."""
    _visit().add(state)
