"""Sentences about forced pruning: its steps, and why a pair is not an edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.learning.pruning.contributions import contributions_of, gain_of
from graftviz.learning.pruning.structure_fit import rows_of
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import Exchange, Step
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import Absence, counted, listed_edges, score


def exchange_step(step: Step, names: Sequence[str]) -> list[str]:
    """Describe a step of forced pruning in sentences."""
    exchange, texts = step.exchange, catalogue("learners")
    assert exchange is not None  # every step of the learner has one
    own, counts = texts["exchange"], texts["counts"]
    change = _change(exchange, own)
    if exchange.kind in ("start", "restart"):
        values = counted(counts["values"], len(exchange.centres))
        is_tied = len(exchange.centres) < len(exchange.values)
        sentence = own[exchange.kind].format(
            tree=counted(counts["edges"], exchange.tree),
            others=counted(
                counts["random_edges"], step.n_edges - exchange.tree - exchange.required
            ),
            parameters=counted(counts["parameters"], len(exchange.values)),
            tied=own["tied"].format(values=values) if is_tied else own["not_tied"],
            change=change,
        )
        return [str(sentence)]
    if exchange.kind == "best":
        removed = counted(counts["edges"], len(exchange.removed))
        added = f"{len(exchange.added):,}"
        return [str(own["back"].format(removed=removed, added=added, change=change))]
    removed = listed_edges(names, exchange.removed.tolist(), exchange.contributions.tolist())
    added = listed_edges(names, exchange.added.tolist(), exchange.gains.tolist())
    text = ""
    if removed:
        text = own["removed"].format(edges=removed, rule=_deletion_rule(exchange, texts))
    if added:
        kind = "removed_added" if text else "added"
        text = counted(own[kind], len(exchange.added), text=text, edges=added)
    return [str(own["fit"].format(text=text, change=change))]


def exchange_absence(run: LearningRun, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is not an edge after step `t`: its gain and the smallest contribution."""
    texts: Mapping[str, str] = catalogue("learners")["exchange"]
    if t == 0:
        no_step = catalogue("answers")["absence"]["no_step"]
        return Absence(None, None, 0, no_step, "least contribution")
    state = run.steps[t - 1].history.state_at(t)
    model = state.model
    rows = rows_of(run.table)
    if rows.cardinalities[[i, j]].min() < 2 or not all(np.ptp(run.table.codes[k]) for k in (i, j)):
        return Absence(0.0, None, 0, texts["constant"], "least contribution")
    fit, contributions = contributions_of(model, rows)
    least = float(contributions.total.min())
    gain, _ = gain_of(fit, 0.5 / run.table.total_weight, i, j)
    start = texts["gain"].format(gain=score(gain))
    has_ended = run.outcome is not None and t == len(run.steps)
    kind = "weaker" if gain <= least else "ended" if has_ended else "later"
    words = texts[kind].format(text=start, least=score(least))
    tests = sum(step.tests > 0 for step in run.steps[:t])
    return Absence(gain, least, tests, words, "least contribution")


def _deletion_rule(exchange: Exchange, texts: Mapping[str, Any]) -> str:
    """Describe how the removed edges were chosen."""
    own, counts = texts["exchange"], texts["counts"]
    if exchange.fallback:
        return str(own["none_accepted"].format(tries=f"{exchange.tries:,}"))
    if exchange.tries == 0:
        return counted(own["smallest"], len(exchange.removed))
    if exchange.accepted == 1:
        return str(own["accepted"].format(subsets=counted(counts["subsets"], exchange.tries)))
    share = f"{exchange.acceptance or 0.0:.0%}"
    return str(own["walk"].format(swaps=counted(counts["swaps"], exchange.tries), share=share))


def _change(exchange: Exchange, texts: Mapping[str, str]) -> str:
    """Describe the change of the pseudo-likelihood."""
    before, after, best = (
        f"{value:.5g}".replace("-", "−")
        for value in (exchange.before, exchange.after, exchange.best)
    )
    kind = "change_below"
    if exchange.after >= exchange.best:
        kind = "change" if exchange.kind == "best" else "change_best"
    return texts[kind].format(before=before, after=after, best=best)
