"""Records of the Budget page: data, runs under a bound, and the λ path they are compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from graftviz.datasets import DataSet
from graftviz.errors import InputError
from graftviz.inference.exact import plan_elimination
from graftviz.layout import static_layout
from graftviz.learners.bounded_inference import BoundedInference
from graftviz.learners.nodewise_l1 import NodewiseL1
from graftviz.metrics import nll
from graftviz.model import PairwiseMRF
from graftviz.narrative.budget import nothing_fits_words
from graftviz.player.budget_records import Budget, bounded_step, start_step
from graftviz.runs import Run
from graftviz.sampling.exact import sample_exact
from graftviz.sampling.graphs import random_graph
from graftviz.sampling.potentials import random_model
from graftviz.table import DiscreteTable
from graftviz.tradeoff import TradeOff, measuring
from graftviz.ui.budget.options import BOUNDS, DENSE, DENSE_TITLE
from graftviz.ui.frame.jobs import shared_job
from graftviz.ui.material import Material, prepare
from graftviz.ui.services import material
from graftviz.ui.visits import clearable_cache

VARIABLES = 16
ROWS = 1_000
PATH_LENGTH = 12
LAST_LAM = 0.001  # of the ℓ₁ path: there the graph is dense
_SPAN, FRAME = 9_500.0, 10_000
_NARROW = 0.5  # height by width below which a layout is stretched, at most so much:
_STEEPEST = 4.0
# Entries of tables up to which the likelihood is computed after every step, not only at the end.
_QUICK_ENTRIES = 300_000


@dataclass(frozen=True, eq=False)
class BudgetMaterial:
    """Training rows, held-out rows, and positions of the variables.

    Attributes
    ----------
    material : Material
    places : int array, shape (n, 2)
        0 … 10000. Unless they are known, those that suit the true graph, or else the Chow–Liu tree,
        whose edges are among the first under any bound.
    model : PairwiseMRF or None
        The model that the rows were drawn from, where it is known.
    """

    material: Material
    places: np.ndarray
    model: PairwiseMRF | None = None
    own: None = None  # all data of the page are built in

    @property
    def identity(self) -> str:
        """Equal for equal data."""
        return self.material.identity

    @property
    def judged(self) -> DiscreteTable:
        """The held-out rows; where none are, those that were learned from."""
        return self.material.test or self.material.train


@clearable_cache
@st.cache_resource(show_spinner="Loading the data…", max_entries=24)
def source(data: str, seed: int) -> BudgetMaterial:
    """Return what is learned from, and where its variables are drawn."""
    return dense_material(seed) if data == DENSE else with_places(material(data, seed))


def dense_material(seed: int, variables: int = VARIABLES, rows: int = ROWS) -> BudgetMaterial:
    """Return the paper's kind of network, small: each edge with probability ½, weights N(0, 1).

    Half of its rows, drawn exactly from the joint distribution, are held out.
    """
    graph = random_graph(variables, probability=0.5, seed=seed)
    model = random_model(
        graph.edges, [2] * variables, node_sigma=1.0, edge_sigma=1.0, seed=seed, names=graph.names
    )
    data = DataSet(
        key=DENSE,
        title=DENSE_TITLE,
        table=sample_exact(model, rows, seed=seed),
        truth=graph.edges,
        positions=None,
        description="",
        test_fraction=0.5,
    )
    return with_places(prepare(data, seed), model)


def with_places(material: Material, model: PairwiseMRF | None = None) -> BudgetMaterial:
    """Give the variables of `material` their places."""
    places = material.positions
    if places is None:
        edges = material.tree if material.truth is None else material.truth
        places = _laid_flat(static_layout(material.train.n_variables, edges))
    return BudgetMaterial(material, places, model)


def _laid_flat(places: np.ndarray) -> np.ndarray:
    """Turn a long and narrow layout level, and give it height."""
    centred = places - places.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    spans = np.maximum(np.ptp(turned, axis=0), 1.0)
    if spans[1] > _NARROW * spans[0]:
        return places
    stretch = _SPAN / spans
    stretch[1] = min(stretch[1], _STEEPEST * stretch[0])
    middle = (turned.max(axis=0) + turned.min(axis=0)) / 2
    return np.asarray((turned - middle) * stretch + FRAME / 2)


@dataclass(frozen=True)
class RunProgress:
    """A run under a bound so far.

    Attributes
    ----------
    steps : tuple of dict
        The records of the steps; the first is the model without edges.
    stop : str
        Why it ended; empty while it goes on.
    infeasible : int or None
        Pairs found to exceed τ when the run had ended, those tried last included.
    point : TradeOff or None
        What the finished model is worth, once it has been measured.
    unmeasured : str
        Why it was not; empty if it was, or will be.
    """

    steps: tuple[dict[str, Any], ...]
    stop: str = ""
    infeasible: int | None = None
    point: TradeOff | None = None
    unmeasured: str = ""


@dataclass(frozen=True)
class Path:
    """The λ path so far, after the true model where it is known; and why the rest is missing."""

    points: tuple[TradeOff, ...] = ()
    unmeasured: str = ""


def run_progress(source: BudgetMaterial, learner: BoundedInference) -> Iterator[RunProgress]:
    """Learn step by step, and measure what came out."""
    train, judged, places = source.material.train, source.judged, source.places
    complexity, bound = learner.complexity, learner.bound
    assert bound is not None  # the page always decides it
    run = Run(train, learner, seed=0)
    steps: tuple[dict[str, Any], ...] = ()
    goes_on = True
    while goes_on:
        goes_on = run.advance()
        latest = run.steps[-1] if goes_on else run.outcome
        assert latest is not None  # one of the two
        start = latest.history.start
        if not steps:
            quality = _quick_nll(start, judged)
            steps = (start_step(train.names, places, Budget(complexity, bound), quality),)
        if goes_on:
            quality = _quick_nll(run.steps[-1].model(), judged)
            steps += (bounded_step(run.steps[-1], train.names, places, steps[-1], quality),)
            yield RunProgress(steps)
    assert run.outcome is not None  # it has ended
    model, stop = start, nothing_fits_words(complexity, bound)
    if run.steps:
        model, stop = run.result().model, run.outcome.stop_reason
    progress = RunProgress(steps, stop, run.outcome.infeasible)
    yield progress
    try:
        for point in measuring(model, judged, "bounded", bound, BOUNDS[complexity].method):
            yield replace(progress, point=point)
    except InputError as error:
        yield replace(progress, unmeasured=str(error))


def pathing(source: BudgetMaterial, lam2: float, method: str) -> Iterator[Path]:
    """Measure the true model, then every model along the λ path of nodewise ℓ₁."""
    path = Path()
    if source.model is not None:
        for point in measuring(source.model, source.judged, "truth", 0.0, method):
            path = path if point is None else Path((point,))
            yield path
    run = Run(source.material.train, NodewiseL1(lam=LAST_LAM, path=PATH_LENGTH, lam2=lam2), seed=0)
    while run.advance():
        yield path
        step = run.steps[-1]
        assert step.test is not None  # the learner compares with λ
        lam = step.test.lam
        try:
            for point in measuring(step.model(), source.judged, "l1", lam, method):
                path = path if point is None else Path((*path.points, point))
                yield path
        except InputError as error:
            yield replace(path, unmeasured=f"ℓ₁ path from λ = {lam:.2g} on: {error}")
            return


def _quick_nll(model: PairwiseMRF, rows: DiscreteTable) -> float | None:
    """Return the likelihood where it costs next to nothing, else None."""
    plan = plan_elimination(model)
    return nll(model, rows) if plan.total_entries <= _QUICK_ENTRIES else None


bounded_run = shared_job(run_progress, 200)
l1_path = shared_job(pathing, 60)


def rehearse_budget_page() -> None:
    """Run every kernel of the page once, on a small network, to compile it."""
    small = dense_material(0, variables=5, rows=60)
    for complexity, bounds in BOUNDS.items():
        for lam2 in (0.0, 0.01):
            learner = BoundedInference(complexity, bounds.usual, lam2=lam2)
            deque(run_progress(small, learner), maxlen=0)
    for method in sorted({bounds.method for bounds in BOUNDS.values()}):
        deque(pathing(small, 0.0, method), maxlen=0)
