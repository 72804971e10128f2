"""JSON records of runs of forced pruning for the view of the Prune page (docs/player.md).

The page shows three runs that differ only in the deletion rule. The header holds their common data
(variables, positions, tree); every exchange is a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from graftviz.app.material import Material
from graftviz.learning.pruning.contributions import contributions_of
from graftviz.learning.pruning.forced_pruning import HEURISTICS, ForcedPruning
from graftviz.learning.pruning.structure_fit import Rows
from graftviz.reports.layout import ring_layout
from graftviz.reports.replay import plain
from graftviz.reports.results import Run
from graftviz.reports.words.learners import exchange_step
from graftviz.reports.words.outcomes import remark_words
from graftviz.reports.words.phrases import plural
from graftviz.utils.options import attributes

number = partial(plain.number, digits=7)
numbers = partial(plain.numbers, digits=7)
MOST_RANKED = 400  # maximum number of edges of a ranking, those of smallest contribution
MOST_ON_A_RING = 40  # variables; their names find room there, and no edge runs through a node
MOST_TICKS = 2000  # maximum number of parameters on the strip, evenly selected


def prune_header(
    material: Material, learner: ForcedPruning, seed: int, token: str, runs: Mapping[str, str]
) -> dict[str, Any]:
    """Return the data common to all runs of the page.

    Parameters
    ----------
    material : Material
    learner : ForcedPruning
        That of one of the runs, which differ in the rule of deletion only.
    seed : int
    token : str
        Identifier of the runs.
    runs : mapping
        Rule → identifier of its run, in the order of the legend.
    """
    n = material.train.n_variables
    edges = learner.model_edges(n, int(material.train.varying.sum()))
    return {
        "token": token,
        "title": material.title,
        **plain.placed_nodes(
            material.train.names,
            _places(material),
            has_natural_positions=material.positions is not None,
        ),
        "tree": np.sort(material.tree, axis=1).tolist(),
        "runs": [
            {"run": run, "heuristic": rule, "name": HEURISTICS[rule]} for rule, run in runs.items()
        ],
        "facts": [
            f"{material.train.n_rows:,} training rows",
            f"M = {edges:,} edges",
            f"k = {learner.exchange_size(edges):,} per exchange",
            f"at most {plural(learner.exchanges, 'exchange')}",
            f"seed {seed}",
        ],
        "note": " ".join(material.warnings),
    }


def _places(material: Material) -> np.ndarray:
    """Return the places of the variables; they do not depend on options."""
    if material.positions is None and 0 < material.train.n_variables <= MOST_ON_A_RING:
        return ring_layout(material.train.n_variables, material.tree)
    return material.places


def prune_head(run: Run, token: str) -> dict[str, Any]:
    """Return the header of a run after its first step: its token and its initial likelihood."""
    first = run.steps[0].exchange if run.steps else None
    return {"run": token, "before": None if first is None else number(first.before)}


def prune_record(run: Run, t: int, rows: Rows) -> dict[str, Any]:
    """Return the record of step `t`.

    Parameters
    ----------
    run : Run
        Run of :class:`graftviz.ForcedPruning`.
    t : int
    rows : Rows
        Training rows of the run.

    Returns
    -------
    dict
        ``rank`` holds the contributions of all edges in ascending order: of the model before the
        exchange, and in steps without an exchange of the model of the step. Parameters are sorted
        by untied value, and ``which`` holds the index of the centre of each.
    """
    step, metrics = run.steps[t - 1], run.metrics[t - 1]
    exchange = step.exchange
    assert exchange is not None  # every step of the learner has one
    order = np.argsort(exchange.values, kind="stable")
    shown = order
    if len(order) > MOST_TICKS:
        shown = order[np.linspace(0, len(order) - 1, MOST_TICKS).astype(int)]
    return {
        "t": t,
        **attributes(exchange, "kind", "tree", "required", "tries", "accepted", "fallback"),
        "isRequired": step.required,
        "words": " ".join(exchange_step(step, run.table.names)),
        "notes": [remark_words(note) for note in step.notes],
        "edges": step.n_edges,
        "removed": exchange.removed.tolist(),
        "contributions": numbers(exchange.contributions),
        "added": exchange.added.tolist(),
        "gains": numbers(exchange.gains),
        "before": number(exchange.before),
        "after": number(exchange.after),
        "best": number(exchange.best),
        "recall": number(metrics.recall),
        "precision": number(metrics.precision),
        "rank": _ranking(run, t, rows),
        "parameters": len(order),
        "values": numbers(exchange.values[shown]),
        "which": exchange.assignment[shown].tolist(),
        "centres": numbers(exchange.centres),
        "sizes": np.bincount(exchange.assignment, minlength=len(exchange.centres)).tolist(),
    }


def prune_outcome(run: Run) -> dict[str, Any]:
    """Return the record of the end of a run."""
    outcome = run.outcome
    assert outcome is not None  # called only after the end of the run
    return {
        "steps": len(run.steps),
        "stop_reason": remark_words(outcome.stop_reason),
    }


def _ranking(run: Run, t: int, rows: Rows) -> list[list[float]]:
    """Return [i, j, contribution] of the edges that step `t` could exchange, or has."""
    step = run.steps[t - 1]
    is_exchange = step.exchange is not None and step.exchange.kind == "exchange"
    model = (run.steps[t - 2] if is_exchange else step).model()
    _, contributions = contributions_of(model, rows)
    least = np.argsort(contributions.total, kind="stable")[:MOST_RANKED]
    return [
        [int(i), int(j), number(contribution) or 0.0]
        for (i, j), contribution in zip(model.edges[least], contributions.total[least], strict=True)
    ]
