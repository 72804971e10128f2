"""Small runs of best-choice edge grafting as the player is told them (docs/player.md)."""

from __future__ import annotations

import copy
import functools
from typing import Any

from graftviz import BestChoice, DiscreteTable, Run
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.reports.replay.records import recorded_run

Told = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]


@functools.cache
def _sample(n: int) -> tuple[DiscreteTable, list[list[int]]]:
    """Return rows of a model over `n` variables, and its edges."""
    edges = scale_free_graph(n, 1).edges.tolist() if n > 2 else [[0, 1]]
    names = [f"x{i + 1}" for i in range(n)]
    model = random_model(edges, [5] * n, seed=1, names=names)
    return sample_gibbs(model, 1500, seed=1).table, sorted(edges)


def _learned(n: int, alpha: float, most: int, budget: int | None) -> Run:
    """Learn `most` steps."""
    train, test = _sample(n)[0].split(0.2)
    learner = BestChoice(preset="paper", alpha=alpha, lam=1e-3, max_edges=budget)
    run = Run(train, learner, seed=1, test=test)
    for _ in range(most):
        if not run.advance():
            break
    return run


@functools.cache
def _told(n: int, alpha: float, most: int) -> Told:
    # A budget of as many edges as there are by then ends the run in the last of the steps.
    run = _learned(n, alpha, most, _learned(n, alpha, most, None).steps[-1].n_edges)
    while run.advance():
        pass
    header, records, outcome = recorded_run(run, title=f"Scale-free sample · {n} variables")
    # With a known graph the player would not lay out the run.
    truth = _sample(n)[1]
    active = 0
    hits = 0
    for record in records:
        hits += sum([i, j] in truth for i, j, _ in record["activated"])
        active += len(record["activated"])
        record |= {"recall": hits / len(truth), "precision": hits / active}
    last = {name: records[-1][name] for name in ("recall", "precision")}
    return {**header, "truth": truth}, records, {**outcome, **last}


def sample_run(
    n: int = 60, *, alpha: float = 0.75, max_steps: int = 10_000, run: str = "run-1"
) -> Told:
    """Return header, records and outcome of a run over `n` variables, which may be changed."""
    header, records, outcome = copy.deepcopy(_told(n, alpha, max_steps))
    return {**header, "run": run}, records, outcome
