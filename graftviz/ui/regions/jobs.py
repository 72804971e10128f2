"""Jobs of the Regions page on the engine threads, as generators; independent of Streamlit."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from graftviz.errors import InputError
from graftviz.inference import infer
from graftviz.inference.exact import plan_elimination
from graftviz.layout import static_layout
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
from graftviz.ui.regions.models import grid_model
from graftviz.ui.regions.options import LARGEST_COUPLING, LARGEST_FIELD, RegionOptions

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
