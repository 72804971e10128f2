"""Jobs of the Budget page on the engine threads, as generators; independent of Streamlit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from graftviz.errors import InputError
from graftviz.inference.exact import plan_elimination
from graftviz.learners.bounded_inference import BoundedInference
from graftviz.learners.nodewise_l1 import NodewiseL1
from graftviz.metrics import nll
from graftviz.model import PairwiseMRF
from graftviz.narrative.budget import nothing_fits_words
from graftviz.player.budget_records import Budget, bounded_step, start_step
from graftviz.runs import Run
from graftviz.table import DiscreteTable
from graftviz.tradeoff import TradeOff, measuring
from graftviz.ui.budget.material import BudgetMaterial, dense_material
from graftviz.ui.budget.options import BOUNDS

PATH_LENGTH = 12
LAST_LAM = 0.001  # of the ℓ₁ path: there the graph is dense
# Entries of tables up to which the likelihood is told after every step, not only at the end.
_QUICK_ENTRIES = 300_000


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
        Pairs found to pass τ when the run had ended, those tried last included.
    edges : list of pairs
        Of the finished model.
    point : TradeOff or None
        What the finished model is worth, once it has been measured.
    unmeasured : str
        Why it was not; empty if it was, or will be.
    """

    steps: tuple[dict[str, Any], ...]
    stop: str = ""
    infeasible: int | None = None
    edges: tuple[tuple[int, int], ...] = ()
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
    names = train.names
    assert learner.bound is not None  # the page always decides it
    budget = Budget(learner.complexity, learner.bound)
    run = Run(train, learner, seed=0)
    progress: RunProgress | None = None
    while run.advance():
        step = run.steps[-1]
        if progress is None:
            start = step.history.start
            progress = RunProgress((start_step(names, places, budget, _quick_nll(start, judged)),))
        before = progress.steps[-1]
        quality = _quick_nll(step.model(), judged)
        progress = RunProgress(
            (*progress.steps, bounded_step(step, names, places, before, quality))
        )
        yield progress
    assert run.outcome is not None  # it has ended
    if progress is None:
        start = run.outcome.history.start
        progress = RunProgress((start_step(names, places, budget, _quick_nll(start, judged)),))
        stop = nothing_fits_words(learner.complexity, learner.bound)
    else:
        stop = run.outcome.stop_reason
    model = run.result().model if run.steps else run.outcome.history.start
    edges = tuple((int(i), int(j)) for i, j in model.edges)
    progress = replace(progress, stop=stop, infeasible=run.outcome.infeasible, edges=edges)
    yield progress
    try:
        method = BOUNDS[learner.complexity].method
        for point in measuring(model, judged, "bounded", learner.bound, method):
            yield replace(progress, point=point)
    except InputError as error:
        yield replace(progress, unmeasured=str(error))


def pathing(source: BudgetMaterial, lam2: float, method: str) -> Iterator[Path]:
    """Measure the true model, then every model along the λ path of nodewise ℓ₁."""
    train = source.material.train
    run = Run(train, NodewiseL1(lam=LAST_LAM, path=PATH_LENGTH, lam2=lam2), seed=0)
    path = Path()
    if source.model is not None:
        for point in measuring(source.model, source.judged, "truth", 0.0, method):
            path = path if point is None else Path((point,))
            yield path
    while run.advance():
        step = run.steps[-1]
        yield path
        assert step.test is not None  # the learner compares with λ
        try:
            for point in measuring(step.model(), source.judged, "l1", step.test.lam, method):
                path = path if point is None else Path((*path.points, point))
                yield path
        except InputError as error:
            yield replace(path, unmeasured=f"ℓ₁ path from λ = {step.test.lam:.2g} on: {error}")
            return


def _quick_nll(model: PairwiseMRF, rows: DiscreteTable) -> float | None:
    """Return the likelihood where it costs next to nothing, else None."""
    plan = plan_elimination(model)
    return nll(model, rows) if plan.total_entries <= _QUICK_ENTRIES else None


def rehearse_budget_page() -> None:
    """Do once, on a small network, whatever the page asks for: to have it compiled."""
    small = dense_material(0, variables=5, rows=60)
    for complexity, bounds in BOUNDS.items():
        deque(run_progress(small, BoundedInference(complexity, bounds.usual)), maxlen=0)
        deque(run_progress(small, BoundedInference(complexity, bounds.usual, lam2=0.01)), maxlen=0)
    for method in sorted({bounds.method for bounds in BOUNDS.values()}):
        deque(pathing(small, 0.0, method), maxlen=0)
