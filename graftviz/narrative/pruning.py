"""Forced pruning in words: its steps, and why a pair is no edge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.exchange import Exchange
from graftviz.fitting.structure_fit import rows_of
from graftviz.narrative.baselines import Absence
from graftviz.narrative.phrases import LONGEST_LIST, listed, pair, plural, score
from graftviz.runs import Run
from graftviz.search.contributions import contributions_of, gain_of
from graftviz.trace import Step


def exchange_step(step: Step, names: Sequence[str]) -> list[str]:
    """Tell a step of forced pruning in sentences."""
    exchange = step.exchange
    assert exchange is not None  # every step of the learner has one
    others = step.edges - exchange.tree
    values = plural(len(exchange.centres), "value")
    tied = f"tied to {values}" if len(exchange.centres) < len(exchange.values) else "not tied"
    if exchange.kind == "start":
        began = (
            f"Began with the {plural(exchange.tree, 'edge')} of the Chow–Liu tree and "
            f"{plural(others, 'other random edge')}"
        )
        parameters = plural(len(exchange.values), "parameter")
        return [f"{began}. Fitting the {parameters}, {tied}, {_rise(exchange)}."]
    if exchange.kind == "restart":
        return [
            f"Began again with the tree and {plural(others, 'other random edge')}. The fit, with "
            f"parameters {tied}, {_rise(exchange)}."
        ]
    if exchange.kind == "best":
        return [
            "Went back to the best model seen: "
            f"{plural(len(exchange.removed), 'edge')} out, {len(exchange.added):,} in. That "
            f"{_rise(exchange)}."
        ]
    out = _named(exchange.removed, exchange.contributions, names)
    into = _named(exchange.added, exchange.gains, names)
    left, new = len(exchange.removed), len(exchange.added)
    told = []
    if left:
        told.append(f"{out} left{_how(exchange)}")
    if new:
        gained = "whose own weights gain most" if new == 1 else "those whose own weights gain most"
        told.append(f"{into} entered, {gained}")
    return [f"{'; '.join(told)}. The fit {_rise(exchange)}."]


def exchange_absence(run: Run, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge after step `t`: what it would gain, what edges contribute."""
    if t == 0:
        return Absence(None, None, 0, "No step has been made yet.", "least contribution")
    state = run.steps[t - 1].history.state_at(t)
    model = state.model
    rows = rows_of(run.table)
    if rows.cardinalities[[i, j]].min() < 2 or not _varies(run, i, j):
        words = "One of its variables never varies, so that it has nothing to say."
        return Absence(0.0, None, 0, words, "least contribution")
    fit, known = contributions_of(model, rows)
    least = float(known.total.min())
    gain, _ = gain_of(fit, 0.5 / run.table.n_rows, i, j)
    told = f"Its own weights, fitted alone, would gain {score(gain)} nats per row"
    if gain <= least:
        words = f"{told}; every edge of the model contributes at least {score(least)}."
    else:
        words = (
            f"{told}, more than the {score(least)} that the weakest edge contributes. It can enter "
            "in a later exchange: only so many enter at a time."
        )
        if run.outcome is not None and t == len(run.steps):
            words = (
                f"{told}, more than the {score(least)} that the weakest edge contributes; but the "
                "exchanges have come to their end, and what is gained alone may not be gained "
                "together with others."
            )
    tests = sum(step.tests > 0 for step in run.steps[:t])
    return Absence(gain, least, tests, words, "least contribution")


def _varies(run: Run, i: int, j: int) -> bool:
    return all(bool((run.table.codes[k] != run.table.codes[k][0]).any()) for k in (i, j))


def _named(edges: np.ndarray, worth: np.ndarray, names: Sequence[str]) -> str:
    """Write "a – b (0.0122) and c – d (0.0110)"."""
    named = [
        f"{pair(names, i, j)} ({score(value)})"
        for (i, j), value in zip(
            edges[:LONGEST_LIST].tolist(), worth[:LONGEST_LIST].tolist(), strict=True
        )
    ]
    return listed(named, len(edges)) if named else ""


def _how(exchange: Exchange) -> str:
    """Say how the edges that left were chosen."""
    if exchange.fallback:
        return f", one of {exchange.tries:,} subsets drawn, of which none was accepted"
    if exchange.tries == 0:
        return ", which contributed least"
    if exchange.accepted == 1:
        return f", the first subset accepted of {plural(exchange.tries, 'drawn one')}"
    share = exchange.acceptance or 0.0
    return f", where a chain of {plural(exchange.tries, 'swap')} ended ({share:.0%} accepted)"


def _rise(exchange: Exchange) -> str:
    """Say from where to where the pseudo-likelihood went."""
    before, after, top = (
        f"{value:.5g}".replace("-", "−")
        for value in (exchange.before, exchange.after, exchange.best)
    )
    best = f"; the best so far is {top}"
    if exchange.after >= exchange.best:
        best = "" if exchange.kind == "best" else ", the best so far"
    return f"takes the PLL from {before} to {after} nats per row{best}"
