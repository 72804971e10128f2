"""JSON records of learning with bounded inference cost for the view of the Budget page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.evaluation.tradeoff import BOUNDS, TradeOff, measuring
from graftviz.inference.exact.ordering import junction_tree_of
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.likelihood import nll
from graftviz.learning.bounded.bounded_inference import MEASURES, BoundedInference
from graftviz.learning.trace import Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.layout import layout_near
from graftviz.reports.replay.plain import number, placed_nodes
from graftviz.reports.results import Run
from graftviz.reports.words.learners import (
    amount,
    bounded_start_words,
    bounded_step_words,
    nothing_fits_words,
    previous_run_words,
)
from graftviz.utils.errors import InputError

# Entries of tables up to which the likelihood is computed after every step, not only at the end.
_QUICK_ENTRIES = 300_000


@dataclass(frozen=True)
class BoundedProgress:
    """Run under a bound so far.

    Attributes
    ----------
    steps : tuple of dict
        The records of the steps; the first is the model without edges.
    stop : str
        Stop reason; empty before the end.
    infeasible : int or None
        Pairs found to exceed τ when the run had ended, those tried last included.
    point : TradeOff or None
        Quality and cost of the final model, once it has been measured.
    unmeasured : str
        Why it was not; empty if it was, or will be.
    model : PairwiseMRF or None
        The learned model, once the run has ended.
    """

    steps: tuple[dict[str, Any], ...]
    stop: str = ""
    infeasible: int | None = None
    point: TradeOff | None = None
    unmeasured: str = ""
    model: PairwiseModel | None = None


def bounded_run(
    train: DiscreteTable,
    judged: DiscreteTable,
    places: np.ndarray,
    learner: BoundedInference,
) -> Iterator[BoundedProgress]:
    """Learn step by step, then measure the model.

    Parameters
    ----------
    train, judged : DiscreteTable
        Rows to learn from, and rows to measure quality on.
    places : array, shape (n, 2)
        Positions of the variables.
    learner : BoundedInference
        With a bound.
    """
    complexity, bound = learner.complexity, learner.bound
    assert isinstance(complexity, str)
    assert bound is not None  # the page always decides both
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
            yield BoundedProgress(steps)
    assert run.outcome is not None  # it has ended
    model, stop = start, nothing_fits_words(complexity, bound)
    if run.steps:
        model, stop = run.result().model, run.result().stop_reason
    progress = BoundedProgress(steps, stop, run.outcome.infeasible, model=model)
    yield progress
    try:
        for point in measuring(model, judged, "bounded", bound, BOUNDS[complexity].method):
            yield replace(progress, point=point)
    except InputError as error:
        yield replace(progress, unmeasured=str(error))


def _quick_nll(model: PairwiseModel, rows: DiscreteTable) -> float | None:
    """Return the likelihood where it costs next to nothing, else None."""
    plan = plan_elimination(model)
    return nll(model, rows) if plan.total_entries <= _QUICK_ENTRIES else None


class Budget(NamedTuple):
    """Measure of inference cost, and its bound."""

    measure: str
    bound: float


def budget_graph(
    names: Sequence[str], positions: np.ndarray, key: str, *, has_natural_positions: bool
) -> dict[str, Any]:
    """Return names and positions (0 … 10000, y downwards) of the variables.

    Natural positions (a grid, a map) keep their aspect ratio. Edges are part of the steps.
    """
    return {
        "id": key,
        **placed_nodes(names, positions, has_natural_positions=has_natural_positions),
    }


def run_record(
    title: str,
    budget: Budget,
    found: BoundedProgress,
    *,
    failure: str = "",
    before: tuple[Budget, BoundedProgress] | None = None,
) -> dict[str, Any]:
    """Return a run without its steps.

    Parameters
    ----------
    title : str
        Title of the data set.
    budget : Budget
    found : BoundedProgress
    failure : str
        Reason if the run stopped before its end.
    before : (Budget, BoundedProgress), optional
        The previous run on the same data, which is drawn as a ghost.
    """
    measure, bound = MEASURES[budget.measure], amount(budget.bound, budget.measure)
    return {
        "tau": budget.bound,
        "tauText": bound,
        "measure": measure,
        "whole": BOUNDS[budget.measure].whole,
        "title": f"{title}: {measure} ≤ {bound}",
        "done": bool(found.stop or failure),
        "stop": failure or found.stop,
        "infeasible": found.infeasible,
        "ghost": None if before is None else _ghost(*before, budget.measure),
    }


def _ghost(budget: Budget, found: BoundedProgress, measure: str) -> dict[str, Any]:
    """Return edges, values of R if the measure is the same, and a sentence."""
    is_alike = budget.measure == measure
    return {
        "edges": [step["edge"] for step in found.steps[1:]],
        "course": [step["value"] for step in found.steps] if is_alike else [0.0],
        "words": previous_run_words(
            budget.bound, budget.measure, len(found.steps) - 1, found.steps[-1]["nll"]
        ),
    }


def start_step(
    names: Sequence[str], positions: np.ndarray, budget: Budget, nll: float | None
) -> dict[str, Any]:
    """Return the model without edges as a step, with one clique per variable.

    Of the measures of cost, only treewidth is available before the first step.
    """
    n = len(names)
    value = 0.0 if budget.measure == "treewidth" else None
    return {
        "edge": None,
        "value": number(value),
        "valueText": "–" if value is None else amount(value, budget.measure),
        "width": 0,
        "infeasible": 0,
        "new": 0,
        "norm": None,
        "inference": "",
        "nll": number(nll),
        "words": bounded_start_words(n, budget.measure, budget.bound),
        **tree_record(n, np.zeros((0, 2), dtype=np.int64), np.arange(n), positions, None, None),
    }


def bounded_step(
    step: Step,
    names: Sequence[str],
    positions: np.ndarray,
    before: Mapping[str, Any],
    nll: float | None,
) -> dict[str, Any]:
    """Return a step of a learner that bounds complexity; `before` is the preceding record."""
    complexity = step.complexity
    assert complexity is not None  # set by learners that bound it
    edge = (int(step.activated[0].source), int(step.activated[0].target))
    tree = tree_record(
        len(names), step.active_edges(), complexity.order, positions, edge, before["cliques"]
    )
    return {
        "edge": list(edge),
        "value": number(complexity.value),
        "valueText": amount(complexity.value, complexity.measure),
        "width": complexity.width,
        "infeasible": complexity.infeasible,
        "new": complexity.newly_infeasible,
        "norm": number(complexity.gradient_norm),
        "inference": complexity.inference,
        "nll": number(nll),
        "words": bounded_step_words(edge, complexity, before["value"], names),
        **tree,
    }


def tree_record(
    n: int,
    edges: np.ndarray,
    order: np.ndarray,
    positions: np.ndarray,
    newest: tuple[int, int] | None,
    before: Sequence[Sequence[int]] | None,
) -> dict[str, Any]:
    """Return the junction tree, with cliques near the positions of their variables.

    Parameters
    ----------
    n : int
    edges : int array, shape (m, 2)
    order : int array, shape (n,)
        An elimination order.
    positions : array, shape (n, 2)
        Positions of the variables.
    newest : pair of int, optional
        Edge of this step; among several widest cliques, one that contains it is highlighted.
    before : sequence of sequences of int, optional
        Cliques of the previous step.

    Returns
    -------
    dict
        `cliques` (lists of variables), `links` (pairs of cliques), `at` (x, y of every clique),
        `lit` (index of the highlighted clique, the widest) and `from` (for each clique, the index
        of the previous clique that shares most variables with it; −1 if there is none).
    """
    found, links = junction_tree_of(n, edges, order)
    cliques = [clique.tolist() for clique in found]
    places = np.array([positions[clique].mean(axis=0) for clique in found])
    widest = max(map(len, cliques))
    holders = [k for k, clique in enumerate(cliques) if len(clique) == widest]
    with_newest = [k for k in holders if newest is not None and set(newest) <= set(cliques[k])]
    earlier = [set(clique) for clique in before or ()]
    return {
        "cliques": cliques,
        "links": links.tolist(),
        "at": layout_near(places, links).tolist(),
        "lit": (with_newest or holders)[0],
        "from": [_closest_clique(set(clique), earlier) for clique in cliques],
    }


def _closest_clique(clique: set[int], earlier: Sequence[set[int]]) -> int:
    """Return the index of the clique that shares most variables with this one, or −1.

    Of several, the smallest clique is returned.
    """
    ranked = [(-len(clique & other), len(other), k) for k, other in enumerate(earlier)]
    best = min(ranked, default=(0, 0, -1))
    return best[2] if best[0] < 0 else -1
