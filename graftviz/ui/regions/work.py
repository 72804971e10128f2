"""Background jobs of the Regions page, shared between sessions with the same options.

Results for an uploaded model belong to its session and live as long as the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import streamlit as st

from graftviz.datasets import load_dataset
from graftviz.errors import InputError
from graftviz.learners.best_choice import BestChoice
from graftviz.model import PairwiseMRF
from graftviz.ui.background import EVERYTHING, Background
from graftviz.ui.caches import cached_for, clearable_cache
from graftviz.ui.grow.state import GrowState, opened_grow_state
from graftviz.ui.material import prepare
from graftviz.ui.recording import RunRecorder
from graftviz.ui.regions.jobs import (
    Grown,
    Influence,
    Question,
    Whole,
    answering,
    growing,
    influencing,
    mapping,
)
from graftviz.ui.regions.models import ShownModel, grid_model, learned_model, learning
from graftviz.ui.regions.options import GRID, RUN
from graftviz.ui.regions.state import RegionState
from graftviz.ui.scheduler import OneAtATime
from graftviz.ui.services import material, scheduler, vocabulary
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import UPLOAD

LONGEST_WAIT = 300.0  # seconds; a first run on a busy machine may have to be compiled
BUSY = "The server is too busy to finish this now; try again later."
_BY_IDENTITY: dict[str | type[Any], Callable[[Any], Any]] = {
    ShownModel: lambda shown: shown.identity
}
_USUAL_RUN = "default"
_RUN_KEY = "region.run"
T = TypeVar("T")


# ------------------------------------------------------------------------------------- the models


def load_model(state: RegionState) -> ShownModel | None:
    """Return the model that the choices of a page lead to; None while a file is awaited."""
    options = state.options
    if options.data == GRID:
        return grid_model(options.side, options.t1, options.t2, options.seed)
    if options.data == UPLOAD:
        return state.uploaded
    if options.data == RUN:
        return _model_of_run(state.run)
    return _learned(options.data)


@clearable_cache
@st.cache_resource(show_spinner="Learning the model…", max_entries=24)
def _learned(data: str) -> ShownModel:
    """Return what best-choice edge grafting learns from a data set."""
    prepared = prepare(load_dataset(data), 0)
    work = Background(learning(prepared, BestChoice(preset="best")), scheduler())
    work.grant()
    if not work.wait_for_end(LONGEST_WAIT):
        work.revoke()
        raise InputError(BUSY)
    if work.failure or work.latest is None:
        raise InputError(work.failure or "Nothing could be learned from this data.")
    return work.latest


def link_of_grow_page() -> str:
    """Return the address of the run on this session's Grow page; empty if there is none."""
    state = opened_grow_state()
    return "" if state is None or state.run is None else _query_text(state)


def _query_text(state: GrowState) -> str:
    # One value of our address; what is in it has no semicolons, and needs no escapes of its own.
    return ";".join(f"{name}={text}" for name, text in state.link().items()) or _USUAL_RUN


def _query_of(link: str) -> dict[str, str]:
    if link == _USUAL_RUN:
        return {}
    pairs = [part.partition("=") for part in link.split(";")]
    if not all(name and text for name, _, text in pairs):
        raise InputError("The run in the link is truncated or damaged.")
    return {name: text for name, _, text in pairs}


def _model_of_run(link: str) -> ShownModel:
    if not link:
        raise InputError("The Grow page has no run yet. Learn a model there, then choose it here.")
    cached: tuple[str, ShownModel] | None = st.session_state.get(_RUN_KEY)
    if cached is None or cached[0] != link:
        here = opened_grow_state()
        is_here = here is not None and here.run is not None and _query_text(here) == link
        cached = link, _of_state(here, link) if here and is_here else _run_again(link)
        st.session_state[_RUN_KEY] = cached
    return cached[1]


@clearable_cache
@st.cache_resource(show_spinner="Repeating the run of the link…", max_entries=24)
def _run_again(link: str) -> ShownModel:
    state = GrowState(vocabulary(), material, scheduler())
    state.follow(_query_of(link))
    state.refresh()
    trouble = [*state.complaints, state.problem, state.question]
    if state.settings.data == UPLOAD:
        trouble = [
            "This link refers to a model learned from an uploaded table. Upload the same table on "
            "the Grow page, learn from it, and choose its run here."
        ]
    if state.run is None or any(trouble):
        raise InputError(" ".join(filter(None, trouble)) or "No run available.")
    return _of_state(state, link)


def _of_state(state: GrowState, link: str) -> ShownModel:
    """Return the model of the step that is on show, or of the end where that is the start."""
    run, prepared, at = state.run, state.material, state.settings.step
    assert run is not None
    assert prepared is not None
    run.grant(EVERYTHING)
    if not run.wait_for_end(LONGEST_WAIT):
        raise InputError(BUSY)
    model, note = _model_at(run, at)
    return learned_model(model, prepared, f"run:{link}:{run.computed}", note)


def _model_at(run: SessionRun, at: int) -> tuple[PairwiseMRF, str]:
    recorder = run.recorder
    if isinstance(recorder, RunRecorder) and 0 < at < run.computed:
        return recorder.run.steps[at - 1].model(), f"Model of step {at} of the run."
    return run.result().model, ""


# ------------------------------------------------------------------------------------- the work


def region(shown: ShownModel, question: Question) -> Background[Grown]:
    """Return the growth of a region."""
    return cached_for(_region, shown, question)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=400, hash_funcs=_BY_IDENTITY)
def _region(shown: ShownModel, question: Question) -> Background[Grown]:
    return _begun(growing(shown.model, question))


def influence(shown: ShownModel) -> Background[Influence]:
    """Return how strongly the variables of a model feel each other."""
    return cached_for(_influence, shown)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _influence(shown: ShownModel) -> Background[Influence]:
    return _begun(influencing(shown.model))


def whole(shown: ShownModel) -> Background[Whole]:
    """Return what the whole graph says; it begins when it is started."""
    return cached_for(_whole, shown)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=100, hash_funcs=_BY_IDENTITY)
def _whole(shown: ShownModel) -> Background[Whole]:
    return Background(answering(shown.model), _whole_graphs())


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=32)
def heat_map(side: int, seed: int) -> Background[list[list[float]]]:
    """Return c of a grid for all strengths."""
    return _begun(mapping(side, seed))


@st.cache_resource(show_spinner=False)
def _whole_graphs() -> OneAtATime:
    """Return whose turn it is: one exact answer at a time, so that a thread stays free."""
    return OneAtATime(scheduler())


def _begun(values: Iterator[T]) -> Background[T]:
    work = Background(values, scheduler())
    work.grant()
    return work
