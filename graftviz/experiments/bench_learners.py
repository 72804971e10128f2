"""Benchmarked work of the learners and its references."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from graftviz.experiments import plain
from graftviz.experiments.bench import Lab, Sample, Size, best_f1, timed
from graftviz.experiments.bench_engine import LAM, LAM2
from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.learners.edge_grafting import EdgeGrafting
from graftviz.metrics import recall_precision_f1
from graftviz.options import option_specs
from graftviz.trace import Outcome, Step

PAPER = "belief score"
FEW_EDGES = 12  # compared with edge grafting in NumPy
LARGE_EDGES = 100
NODEWISE_STRENGTH, NODEWISE_PASSES = 0.05, 8  # more passes do not improve the edges
NODEWISE_MOST, NODEWISE_PART = 50, 10  # above 50 variables, only 10 are regressed


def learning(make: Callable[[Size], Learner]) -> Callable[[Lab, Size], Sample]:
    """Return a function that runs the learner ``make(size)`` to its end."""

    def work(lab: Lab, size: Size) -> Sample:
        train = lab.problem(size).train
        outcome, sample = timed(lambda: _drain(make(size), train))
        facts = {
            "objective": outcome.objective,
            "KKT residual": outcome.kkt_residual,
            "share of pairs": outcome.tables_counted / outcome.tables_possible,
        }
        return sample._replace(model=outcome.model(), facts=facts)

    return work


def _drain(learner: Learner, train: Any) -> Outcome:
    steps = learner.steps(train, seed=0)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome


def edge_grafting(size: Size) -> EdgeGrafting:
    """Return edge grafting with the settings of the paper."""
    return EdgeGrafting(lam=LAM, lam2=LAM2, max_edges=_three_n(size), **paper(EdgeGrafting))


def few_edges(_size: Size) -> EdgeGrafting:
    """Return edge grafting with the settings of the paper for the first few edges."""
    return EdgeGrafting(lam=LAM, lam2=LAM2, max_edges=FEW_EDGES, **paper(EdgeGrafting))


def defaults(_size: Size) -> BestChoice:
    """Return best-choice grafting with its defaults."""
    return BestChoice()


def best_choice(alpha: float, *, hubs: bool = True) -> Callable[[Size], BestChoice]:
    """Return a factory of best-choice grafting with the paper's score and n / 2 tests per step."""

    def make(size: Size) -> BestChoice:
        return BestChoice(
            alpha=alpha,
            hubs=hubs,
            lam=LAM,
            lam2=LAM2,
            t_max=math.ceil(size.nodes / 2),
            max_edges=_three_n(size),
            **paper(BestChoice),
        )

    return make


def _three_n(size: Size) -> int:
    return min(3 * size.nodes, math.comb(size.nodes, 2))


def paper(cls: type[Learner]) -> dict[str, Any]:
    """Return the options that select the settings of the paper."""
    presets = [spec for spec in option_specs(cls) if spec.name == "preset"]
    return {"preset": "paper"} if presets else {}


def plain_edge_grafting(lab: Lab, size: Size) -> Sample:
    """Graft the first few edges in NumPy."""
    codes = lab.problem(size).codes

    def work() -> list[Any]:
        steps = plain.edge_grafting(codes, size.states, lam=LAM, lam2=LAM2)
        return list(islice(steps, FEW_EDGES))

    steps, sample = timed(work)
    return sample._replace(facts={"objective": steps[-1][1].objective, "edges": float(len(steps))})


def nodewise(lab: Lab, size: Size) -> Sample:
    """Regress every variable on all others; with many variables, extrapolate from some."""
    problem = lab.problem(size)
    count = size.nodes if size.nodes <= NODEWISE_MOST else NODEWISE_PART
    nodes = np.linspace(0, size.nodes - 1, count).astype(int)
    norms, sample = timed(
        lambda: plain.nodewise_l1(
            problem.codes,
            size.states,
            nodes.tolist(),
            strength=NODEWISE_STRENGTH,
            iterations=NODEWISE_PASSES,
        )
    )
    if count < size.nodes:
        return sample.scaled(size.nodes / count)
    symmetric = np.maximum(norms, norms.T)
    pairs = np.column_stack(np.triu_indices(size.nodes, 1))
    strengths = symmetric[pairs[:, 0], pairs[:, 1]]
    ranked = pairs[np.argsort(strengths, kind="stable")[::-1]]
    ranked = ranked[: int((strengths > 0).sum())]
    return sample._replace(facts={"best F1": best_f1(ranked, problem.model.edges)})


def half_more_edges(lab: Lab, size: Size) -> Sample:
    """Learn 1.5 n edges with the defaults, and evaluate them in order of activation."""
    problem = lab.problem(size)
    most, train = 3 * size.nodes // 2, problem.train
    outcome, sample = timed(lambda: _drain(BestChoice(max_edges=most), train))
    model = outcome.model()
    truth = problem.model.edges
    facts = {
        "precision of n": recall_precision_f1(model.edges[: size.nodes], truth).precision,
        "recall of 1.5 n": recall_precision_f1(model.edges, truth).recall,
    }
    available = {name: value for name, value in facts.items() if value is not None}
    return sample._replace(model=model, facts=available)


def first_activations(lab: Lab, size: Size) -> Sample:
    """Learn one edge per step until enough are active, without a final fit or certificate."""
    problem = lab.problem(size)
    learner = BestChoice(alpha=1.0, lam=LAM, lam2=LAM2, **paper(BestChoice))
    target, train = min(LARGE_EDGES, size.nodes), problem.train

    def work() -> Step:
        steps = learner.steps(train, seed=0)
        step = next(steps)
        while step.edges < target:
            step = next(steps)
        steps.close()
        return step

    step, sample = timed(work)
    share = step.tables_counted / step.tables_possible
    return sample._replace(model=step.model(), facts={"share of pairs": share})


def edge_grafting_row(lab: Lab, size: Size) -> Sample:
    """Return the row of edge grafting of the same size as a yardstick."""
    values = lab.earlier(f"edge grafting, {PAPER}", size).values
    facts = {"objective": values["objective"]}
    return Sample(values["seconds"], values["wall"], None, facts)
