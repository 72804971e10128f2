"""Jobs of the Regions page: regions, influences, and inference on the whole graph."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import streamlit as st
from scipy import sparse

from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.inference import infer
from graftviz.inference.exact import plan_elimination
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
from graftviz.ui.frame.jobs import shared_job
from graftviz.ui.regions.models import ShownModel, grid_model, uploaded_model
from graftviz.ui.regions.options import LARGEST_COUPLING, LARGEST_FIELD, RegionOptions
from graftviz.ui.scheduler import OneAtATime
from graftviz.ui.services import scheduler

# What an exact answer on the whole graph may take: two seconds or so. A grid of 20 × 20 fits in.
MOST_ENTRIES = 200_000_000
MOST_BYTES = 700_000_000
MOST_REGION_BYTES = 100_000_000
FIELDS = np.linspace(0.0, LARGEST_FIELD, 25)
COUPLINGS = np.linspace(0.0, LARGEST_COUPLING, 21)
_LEVELS = 255
_FAINTEST = 1e-4  # smallest influence that is drawn
_MOST_TERMS = 60


class Question(NamedTuple):
    """Arguments of :func:`graftviz.regions.grow_region`, after the model."""

    query: int
    expansion: str
    cut: str
    tolerance: float
    max_size: int
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


def growing(shown: ShownModel, question: Question) -> Iterator[Grown]:
    """Grow a region, and answer by it after every step."""
    steps: tuple[AnsweredStep, ...] = ()
    spent = 0.0
    began = time.perf_counter()
    for step in grow_region(shown.model, **question._asdict()):
        spent += time.perf_counter() - began
        began = time.perf_counter()
        steps += (_answered(shown.model, step, question),)
        yield Grown(steps, step.reason, spent + time.perf_counter() - began)
        began = time.perf_counter()


def _answered(model: PairwiseMRF, step: RegionStep, question: Question) -> AnsweredStep:
    try:
        marginal = region_marginal(
            model, step.nodes, question.query, question.cut, max_memory=MOST_REGION_BYTES
        )
    except InputError:  # too wide for exact inference: belief propagation proves nothing
        local = region_model(model, step.nodes, question.cut)
        return AnsweredStep(step, infer(local, "bp").node[0], False)
    return AnsweredStep(step, marginal, True)


class Influence(NamedTuple):
    """Dobrushin's matrix of a model, and c, its largest row sum."""

    matrix: sparse.csr_array
    coefficient: float

    def reach(self, query: int) -> np.ndarray | None:
        """Return the query's row of D = Σ_r C^r, shape (n,); None if c ≥ 1 (no convergence)."""
        if self.coefficient >= 1.0:
            return None
        transposed = self.matrix.T
        term = np.zeros(transposed.shape[0])
        term[query] = 1.0
        total = term.copy()
        for _ in range(_MOST_TERMS):
            term = transposed @ term
            total += term
            if term.max() < _FAINTEST:
                break
        return total

    def halo(self, query: int) -> list[int] | None:
        """Return 0 … 255 for every variable, on a logarithmic scale; None if c ≥ 1."""
        reached = self.reach(query)
        if reached is None:
            return None
        with np.errstate(divide="ignore"):
            height = 1.0 - np.log(np.minimum(reached, 1.0)) / math.log(_FAINTEST)
        levels: list[int] = np.rint(_LEVELS * np.clip(height, 0.0, 1.0)).astype(int).tolist()
        return levels


def influencing(shown: ShownModel) -> Iterator[Influence]:
    """Compute the influence of the variables on each other."""
    matrix = influence_matrix(shown.model)
    yield Influence(matrix, float(matrix.sum(axis=1).max()))


@dataclass(frozen=True, eq=False)
class Whole:
    """Marginals of every variable from inference on the whole graph.

    Attributes
    ----------
    bp : tuple of arrays
    bp_note : str
    bp_seconds : float
    exact : tuple of arrays, or None
        None until they are computed, or if they are not; then `why` is the reason.
    why : str
    exact_seconds : float
    """

    bp: tuple[np.ndarray, ...]
    bp_note: str
    bp_seconds: float
    exact: tuple[np.ndarray, ...] | None = None
    why: str = ""
    exact_seconds: float = 0.0


def answering(shown: ShownModel) -> Iterator[Whole]:
    """Compute marginals on the whole graph: by belief propagation, and exactly if affordable."""
    model = shown.model
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


def mapping(unit: ShownModel) -> Iterator[list[list[float]]]:
    """Compute c of a grid for all strengths of fields (columns) and couplings (rows).

    Both strengths of `unit` are 1.
    """
    fields, couplings = np.split(unit.model.weights, [int(unit.model.node_offsets[-1])])
    rows: list[list[float]] = []
    for t2 in COUPLINGS.tolist():
        row = []
        for t1 in FIELDS.tolist():
            model = replace(unit.model, weights=np.concatenate([t1 * fields, t2 * couplings]))
            row.append(round(dobrushin_coefficient(model), 4))
            yield rows
        rows.append(row)
    yield rows


@st.cache_resource(show_spinner=False)
def _whole_graphs() -> OneAtATime:
    """Return the queue of exact answers: one at a time, so that a thread stays free."""
    return OneAtATime(scheduler())


region = shared_job(growing, 400, begins=True)
influence = shared_job(influencing, 200, begins=True)
whole = shared_job(answering, 100, turns=_whole_graphs)
heat_map = shared_job(mapping, 32, begins=True)


def rehearse_regions_page() -> None:
    """Run every kernel of the page once, on small models, to compile it."""
    two_states = grid_model(3, 1.0, 0.3, seed=0)
    rng = np.random.default_rng(0)
    model = random_model(two_states.model.edges, rng.integers(2, 4, size=9), seed=0)
    for shown in (two_states, uploaded_model(ModelFile(model))):
        for expansion, cut in (("greedy", "drop"), ("greedy", "mean-field"), ("norm", "drop")):
            deque(growing(shown, Question(4, expansion, cut, 0.0, 4, 0)), maxlen=0)
        deque(influencing(shown), maxlen=0)
        deque(answering(shown), maxlen=0)
