"""Jobs of the Regions page: models, regions, influences, and inference on the whole graph.

Jobs of equal options are shared between sessions; those of an uploaded model belong to its session
and live as long as the model.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import streamlit as st
from scipy import sparse

from graftviz.datasets import load_dataset
from graftviz.errors import InputError
from graftviz.inference import infer
from graftviz.inference.exact import plan_elimination
from graftviz.layout import static_layout
from graftviz.learners.best_choice import BestChoice
from graftviz.model import PairwiseMRF
from graftviz.narrative.regions import truth_words
from graftviz.player.region_records import AnsweredStep
from graftviz.regions import (
    RegionStep,
    dobrushin_coefficient,
    grow_region,
    influence_matrix,
    region_marginal,
    region_model,
)
from graftviz.sampling.potentials import random_model
from graftviz.ui.background import EVERYTHING, Background
from graftviz.ui.grow.state import GrowState, opened_grow_state
from graftviz.ui.material import prepare
from graftviz.ui.recording import RunRecorder
from graftviz.ui.regions.models import ShownModel, grid_model, learned_model, learning
from graftviz.ui.regions.options import GRID, LARGEST_COUPLING, LARGEST_FIELD, RUN, RegionOptions
from graftviz.ui.regions.state import RegionState
from graftviz.ui.scheduler import OneAtATime
from graftviz.ui.services import material, scheduler, vocabulary
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import UPLOAD
from graftviz.ui.visits import cached_for, clearable_cache

_LEVELS = 255
_FAINTEST = 1e-4  # smallest influence that is drawn
_MOST_TERMS = 60
LONGEST_WAIT = 300.0  # seconds; a first run on a busy machine may have to be compiled
BUSY = "The server is too busy to finish this now; try again later."
_BY_IDENTITY: dict[str | type[Any], Callable[[Any], Any]] = {
    ShownModel: lambda shown: shown.identity
}
_USUAL_RUN = "default"
_RUN_KEY = "region.run"
T = TypeVar("T")


# ------------------------------------------------------------------------------------- the models

# What an exact answer on the whole graph may take: two seconds or so. A grid of 20 × 20 fits in.
MOST_ENTRIES = 200_000_000
MOST_BYTES = 700_000_000
MOST_REGION_BYTES = 100_000_000
FIELDS = np.linspace(0.0, LARGEST_FIELD, 25)
COUPLINGS = np.linspace(0.0, LARGEST_COUPLING, 21)


class Question(NamedTuple):
    """Settings of the growth of a region in a given model."""

    query: int
    expansion: str
    cut: str
    tolerance: float
    size: int
    seed: int


def question_of(options: RegionOptions, query: int) -> Question:
    """Return the settings that the options of the page give for a query."""
    return Question(
        query, options.expansion, options.cut, options.tolerance, options.size, options.seed
    )


@dataclass(frozen=True)
class Grown:
    """A region so far.

    Attributes
    ----------
    steps : tuple of AnsweredStep
    stop_reason : str
        Empty until it is complete.
    seconds : float
        What its growth and its last answer took.
    """

    steps: tuple[AnsweredStep, ...]
    stop_reason: str = ""
    seconds: float = 0.0


class Influence(NamedTuple):
    """Dobrushin's matrix of a model, and c, its largest row sum."""

    matrix: sparse.csr_array
    coefficient: float


@dataclass(frozen=True, eq=False)
class Whole:
    """Marginals of every variable from inference on the whole graph.

    Attributes
    ----------
    bp : tuple of arrays
    bp_note : str
    bp_seconds : float
    exact : tuple of arrays, or None
        None when it is not worked out, or not yet; `why` says so.
    why : str
    exact_seconds : float
    """

    bp: tuple[np.ndarray, ...]
    bp_note: str
    bp_seconds: float
    exact: tuple[np.ndarray, ...] | None = None
    why: str = ""
    exact_seconds: float = 0.0


def growing(model: PairwiseMRF, question: Question) -> Iterator[Grown]:
    """Grow a region, and answer by it after every step."""
    steps: tuple[AnsweredStep, ...] = ()
    spent = 0.0
    began = time.perf_counter()
    for step in grow_region(
        model,
        question.query,
        tolerance=question.tolerance,
        max_size=question.size,
        cut=question.cut,
        expansion=question.expansion,
        seed=question.seed,
    ):
        spent += time.perf_counter() - began
        began = time.perf_counter()
        answered = _answered(model, step, question)
        last = time.perf_counter() - began
        steps += (answered,)
        yield Grown(steps, step.reason, spent + last)
        began = time.perf_counter()


def _answered(model: PairwiseMRF, step: RegionStep, question: Question) -> AnsweredStep:
    try:
        marginal = region_marginal(
            model, step.nodes, question.query, question.cut, max_memory=MOST_REGION_BYTES
        )
    except InputError:  # too wide for exact inference: what belief propagation says is no proof
        local = region_model(model, step.nodes, question.cut)
        return AnsweredStep(step, infer(local, "bp").node[0], False)
    return AnsweredStep(step, marginal, True)


def influencing(model: PairwiseMRF) -> Iterator[Influence]:
    """Work out how strongly the variables feel each other."""
    matrix = influence_matrix(model)
    yield Influence(matrix, float(matrix.sum(axis=1).max()))


def answering(model: PairwiseMRF) -> Iterator[Whole]:
    """Ask the whole graph: by belief propagation, and exactly where that is affordable."""
    began = time.perf_counter()
    beliefs = infer(model, "bp")
    by_bp = Whole(beliefs.node, " ".join(beliefs.notes), time.perf_counter() - began)
    yield by_bp
    plan = plan_elimination(model, max_memory=MOST_BYTES)
    yield by_bp
    affordable = plan.is_affordable and plan.total_entries <= MOST_ENTRIES
    if affordable and plan.bytes <= MOST_BYTES:
        began = time.perf_counter()
        exact = infer(model, "exact", max_memory=MOST_BYTES).node
        yield replace(by_bp, exact=exact, exact_seconds=time.perf_counter() - began)
    else:
        yield replace(by_bp, why=truth_words(plan.width, plan.total_entries, MOST_ENTRIES))


def mapping(side: int, seed: int) -> Iterator[list[list[float]]]:
    """Work out c of a grid for all strengths of fields (columns) and couplings (rows)."""
    unit = grid_model(side, 1.0, 1.0, seed).model
    fields, couplings = np.split(unit.weights, [int(unit.node_offsets[-1])])
    rows: list[list[float]] = []
    for t2 in COUPLINGS.tolist():
        row = []
        for t1 in FIELDS.tolist():
            model = replace(unit, weights=np.concatenate([t1 * fields, t2 * couplings]))
            row.append(round(dobrushin_coefficient(model), 4))
            yield rows
        rows.append(row)
    yield rows


def rehearse_regions_page() -> None:
    """Do once, on small models, whatever the page asks for: what is compiled now is not later."""
    two_states = grid_model(3, 1.0, 0.3, seed=0).model
    rng = np.random.default_rng(0)
    three_states = random_model(two_states.edges, rng.integers(2, 4, size=9), seed=0)
    for model in (two_states, three_states):
        for expansion, cut in (("greedy", "drop"), ("greedy", "mean-field"), ("norm", "drop")):
            deque(growing(model, Question(4, expansion, cut, 0.0, 4, 0)), maxlen=0)
        deque(influencing(model), maxlen=0)
        deque(answering(model), maxlen=0)
    static_layout(9, two_states.edges)


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


def halo(shown: ShownModel, query: int) -> list[int] | None:
    """Return 0 … 255 for every variable, on a logarithmic scale; None if unknown."""
    work = influence(shown)
    reached = None if work.latest is None else reach(work.latest, query)
    if reached is None:
        return None
    with np.errstate(divide="ignore"):
        height = 1.0 - np.log(np.minimum(reached, 1.0)) / math.log(_FAINTEST)
    levels: list[int] = np.rint(_LEVELS * np.clip(height, 0.0, 1.0)).astype(int).tolist()
    return levels


def reach(influence: Influence, query: int) -> np.ndarray | None:
    """Return the query's row of D = Σ_r C^r, shape (n,); None if c ≥ 1 (no convergence)."""
    if influence.coefficient >= 1.0:
        return None
    transposed = influence.matrix.T
    term = np.zeros(transposed.shape[0])
    term[query] = 1.0
    total = term.copy()
    for _ in range(_MOST_TERMS):
        term = transposed @ term
        total += term
        if term.max() < _FAINTEST:
            break
    return total
