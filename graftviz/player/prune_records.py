"""Runs of forced pruning as the Prune page reads them (docs/player.md), in plain JSON values.

A page shows three runs that differ in nothing but how edges are chosen to leave. What they share
(variables, places, the tree) stands in the header; every exchange is a record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.fitting.structure_fit import Rows
from graftviz.narrative.pruning import exchange_step
from graftviz.runs import Run
from graftviz.search.contributions import contributions_of

DIGITS = 7
MOST_RANKED = 400  # edges of a ranking; of a larger model, those that contribute least
MOST_TICKS = 2000  # parameters on the strip; of more, evenly chosen ones


def prune_header(
    *,
    token: str,
    title: str,
    names: Sequence[str],
    places: np.ndarray,
    tree: np.ndarray,
    runs: Sequence[Mapping[str, str]],
    facts: Sequence[str] = (),
    given: bool = False,
    note: str = "",
) -> dict[str, Any]:
    """Return what all pictures of a page share.

    Parameters
    ----------
    token : str
        What the page calls these runs together.
    title : str
        The data set in words.
    names : sequence of str
        Of the variables.
    places : array, shape (n, 2)
        0 … 10000, y downwards.
    tree : int array, shape (k, 2)
        Edges of the Chow–Liu tree, with which every run starts.
    runs : sequence of mapping
        ``{run, heuristic, name}``, in the order of the legend.
    facts : sequence of str
        What holds for all, e.g. "seed 0".
    given : bool
        Whether the places are known ones, whose shape means something.
    note : str
        A sentence to show under the title.
    """
    return {
        "token": token,
        "title": title,
        "names": list(names),
        "positions": np.rint(places).astype(int).tolist(),
        "given": given,
        "tree": np.sort(tree, axis=1).tolist(),
        "runs": [dict(run) for run in runs],
        "facts": list(facts),
        "note": note,
    }


def prune_head(run: Run, token: str) -> dict[str, Any]:
    """Return what is known of a run after its first step: from where its likelihood comes."""
    first = run.steps[0].exchange if run.steps else None
    return {"run": token, "before": None if first is None else _number(first.before)}


def prune_record(run: Run, t: int, rows: Rows) -> dict[str, Any]:
    """Return the record of step `t`.

    Parameters
    ----------
    run : Run
        Of :class:`graftviz.ForcedPruning`.
    t : int
    rows : Rows
        Those the run learns from.

    Returns
    -------
    dict
        With ``rank``, what every edge of the model before the exchange contributes, least first;
        empty where no edges were chosen by it. Parameters are sorted by their untied value, and
        ``which`` says which centre each of them shares.
    """
    step = run.steps[t - 1]
    exchange = step.exchange
    assert exchange is not None  # every step of the learner has one
    order = np.argsort(exchange.values, kind="stable")
    shown = order
    if len(order) > MOST_TICKS:
        shown = order[np.linspace(0, len(order) - 1, MOST_TICKS).astype(int)]
    return {
        "t": t,
        "kind": exchange.kind,
        "words": " ".join(exchange_step(step, run.table.names)),
        "notes": list(step.notes),
        "edges": step.edges,
        "tree": exchange.tree,
        "removed": exchange.removed.tolist(),
        "contributions": _numbers(exchange.contributions),
        "added": exchange.added.tolist(),
        "gains": _numbers(exchange.gains),
        "before": _number(exchange.before),
        "after": _number(exchange.after),
        "best": _number(exchange.best),
        "tries": exchange.tries,
        "accepted": exchange.accepted,
        "fallback": exchange.fallback,
        "rank": _ranking(run, t, rows) if exchange.kind == "exchange" else [],
        "parameters": len(order),
        "values": _numbers(exchange.values[shown]),
        "which": exchange.assignment[shown].tolist(),
        "centres": _numbers(exchange.centres),
        "sizes": np.bincount(exchange.assignment, minlength=len(exchange.centres)).tolist(),
    }


def prune_outcome(run: Run) -> dict[str, Any]:
    """Return how a run ended."""
    outcome = run.outcome
    assert outcome is not None  # asked once the run has ended
    return {
        "steps": len(run.steps),
        "stop_reason": outcome.stop_reason,
    }


def _ranking(run: Run, t: int, rows: Rows) -> list[list[float]]:
    """Return [i, j, contribution] of the edges there were before step `t`, least first."""
    model = run.steps[t - 2].model()
    _, known = contributions_of(model, rows)
    least = np.argsort(known.total, kind="stable")[:MOST_RANKED]
    return [
        [int(i), int(j), _number(worth) or 0.0]
        for (i, j), worth in zip(model.edges[least], known.total[least], strict=True)
    ]


def _number(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _numbers(values: np.ndarray) -> list[float | None]:
    return [_number(value) for value in values.tolist()]
