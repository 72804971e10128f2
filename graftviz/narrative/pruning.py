"""Sentences about forced pruning: its steps, and why a pair is not an edge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.exchange import Exchange
from graftviz.fitting.structure_fit import rows_of
from graftviz.narrative.phrases import Absence, listed_edges, plural, score
from graftviz.runs import Run
from graftviz.search.contributions import contributions_of, gain_of
from graftviz.trace import Step


def exchange_step(step: Step, names: Sequence[str]) -> list[str]:
    """Describe a step of forced pruning in sentences."""
    exchange = step.exchange
    assert exchange is not None  # every step of the learner has one
    others = step.edges - exchange.tree
    values = plural(len(exchange.centres), "value")
    tied = f"tied to {values}" if len(exchange.centres) < len(exchange.values) else "not tied"
    if exchange.kind == "start":
        start = (
            f"Started with the {plural(exchange.tree, 'edge')} of the Chow–Liu tree and "
            f"{plural(others, 'other random edge')}"
        )
        parameters = plural(len(exchange.values), "parameter")
        return [f"{start}. Fitting the {parameters}, {tied}, {_change(exchange)}."]
    if exchange.kind == "restart":
        return [
            f"Restarted with the tree and {plural(others, 'other random edge')}. The fit, with "
            f"parameters {tied}, {_change(exchange)}."
        ]
    if exchange.kind == "best":
        return [
            "Returned to the best model: "
            f"{plural(len(exchange.removed), 'edge')} removed, {len(exchange.added):,} added. This "
            f"{_change(exchange)}."
        ]
    removed = listed_edges(names, exchange.removed.tolist(), exchange.contributions.tolist())
    added = listed_edges(names, exchange.added.tolist(), exchange.gains.tolist())
    parts = []
    if removed:
        parts.append(f"Removed {removed}{_deletion_rule(exchange)}")
    if added:
        pairs = "the pair" if len(exchange.added) == 1 else "the pairs"
        parts.append(f"{'added' if parts else 'Added'} {added}, {pairs} with the largest gain")
    return [f"{'; '.join(parts)}. The fit {_change(exchange)}."]


def exchange_absence(run: Run, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is not an edge after step `t`: its gain and the smallest contribution."""
    if t == 0:
        return Absence(None, None, 0, "No step has been made yet.", "least contribution")
    state = run.steps[t - 1].history.state_at(t)
    model = state.model
    rows = rows_of(run.table)
    if rows.cardinalities[[i, j]].min() < 2 or not all(np.ptp(run.table.codes[k]) for k in (i, j)):
        words = "One of its variables is constant, so the pair cannot be an edge."
        return Absence(0.0, None, 0, words, "least contribution")
    fit, contributions = contributions_of(model, rows)
    least = float(contributions.total.min())
    gain, _ = gain_of(fit, 0.5 / run.table.n_rows, i, j)
    start = f"Its gain, with only its own weights fitted, is {score(gain)} nats per row"
    if gain <= least:
        words = f"{start}; every edge of the model contributes at least {score(least)}."
    else:
        words = (
            f"{start}, more than the contribution {score(least)} of the weakest edge. It may be "
            "added in a later exchange, as each adds only k pairs."
        )
        if run.outcome is not None and t == len(run.steps):
            words = (
                f"{start}, more than the contribution {score(least)} of the weakest edge; but the "
                "run has ended, and gains of single pairs do not add up."
            )
    tests = sum(step.tests > 0 for step in run.steps[:t])
    return Absence(gain, least, tests, words, "least contribution")


def _deletion_rule(exchange: Exchange) -> str:
    """Describe how the removed edges were chosen."""
    if exchange.fallback:
        return f", one of {exchange.tries:,} drawn subsets, none of which was accepted"
    if exchange.tries == 0:
        return f", the smallest contribution{'s' if len(exchange.removed) > 1 else ''}"
    if exchange.accepted == 1:
        return f", the first accepted of {plural(exchange.tries, 'drawn subset')}"
    share = exchange.acceptance or 0.0
    return f", the last state of {plural(exchange.tries, 'swap')} ({share:.0%} accepted)"


def _change(exchange: Exchange) -> str:
    """Describe the change of the pseudo-likelihood."""
    before, after, top = (
        f"{value:.5g}".replace("-", "−")
        for value in (exchange.before, exchange.after, exchange.best)
    )
    best = f" (best so far: {top})"
    if exchange.after >= exchange.best:
        best = "" if exchange.kind == "best" else ", the best so far"
    return f"changes the PLL from {before} to {after} nats per row{best}"
