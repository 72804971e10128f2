"""The score of one pair at a chosen step, beside the threshold that decides about it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.history import History
from graftviz.narrative.phrases import Absence, score, violation
from graftviz.narrative.steps import learner_at
from graftviz.runs import Run
from graftviz.scores.base import PairFit, edge_dimension
from graftviz.scores.registry import all_scores
from graftviz.trace import ActivationTest


class PairScore(NamedTuple):
    """The score of a pair, and what multiple of its sampling noise it is; None where there is none.

    `why_none` is the reason.
    """

    value: float | None
    multiple: float | None = None
    why_none: str = ""


def activation_test(run: Run, t: int) -> ActivationTest:
    """Return the activation test in force at step `t`; before the first step, that of the first."""
    if run.steps:
        test = run.steps[max(t, 1) - 1].test
        if test is not None:
            return test
    learner = learner_at(run, t)
    test = learner.activation_test(PairCounts(run.table)) if learner.by_score else None
    return test or ActivationTest("belief", float(getattr(learner, "lam", None) or 0.0))


def score_of(run: Run, history: History, i: int, j: int, t: int, test: ActivationTest) -> PairScore:
    """Score a pair at the model of step `t`, by the score the run used."""
    table, state = run.table, history.state_at(t)
    sizes = table.cardinalities
    weight: Any = getattr(learner_at(run, t), "group_weight", "count")
    dimension = edge_dimension(sizes[i], sizes[j], weight)
    beliefs = np.split(state.node_beliefs, history.start.node_offsets[1:-1])
    norm = all_scores()[test.score].of_pair(PairFit(table, state.model, beliefs, i, j))
    if norm.value is None:
        return PairScore(None, why_none=norm.why_none)
    return PairScore(norm.value / dimension, _multiple(norm.value, norm.noise))


def _multiple(distance: float, noise: float) -> float:
    """Return a distance over its noise; 0 for a pair that cannot vary."""
    return distance / noise if noise > 0.0 else 0.0


def judge(own: PairScore, test: ActivationTest, t: int) -> Absence:
    """Compare a score with λ, and its multiple of the noise with κ; report the one that fails."""
    value, multiple, significance = own.value, own.multiple, test.significance
    if value is None or multiple is None:
        words = f"At step {t} it has no score: {own.why_none}."
        return Absence(None, significance or test.lam, 0, words, test.symbol)
    start, limit = f"At step {t} its score is {score(value, test.lam)}", f"λ = {test.lam:g}"
    is_large, is_significant = value > test.lam, multiple > significance
    if significance == 0.0:
        return Absence(value, test.lam, 0, f"{start}, {violation(is_large, limit)}.")
    often = f"{score(multiple, significance)} times its noise"
    if is_significant and not is_large:
        words = f"{start}, {often} but {violation(False, limit)}."
        return Absence(value, test.lam, 0, words)
    words = f"{start}, {often}: {violation(is_significant, f'κ = {significance:g}')}."
    return Absence(multiple, significance, 0, words, "κ")
