"""The score of one pair at a chosen step, beside the threshold that decides about it."""

from __future__ import annotations

import math
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


class RowsNeeded(NamedTuple):
    """Estimate of the number of rows with which a true edge would be found.

    Attributes
    ----------
    rows : int
        With two digits.
    is_least : bool
        Whether it is a lower bound, because the score is not above its noise.
    """

    rows: int
    is_least: bool


def rows_needed(score: float, noise: float, limit: float, freedom: int, rows: int) -> RowsNeeded:
    """Estimate the number of rows with which the score of a dependent pair exceeds its limit.

    With N rows, the mean of score² is δ² + ν²/N: δ is the score in the population, and ν/√N the
    noise. Noise shrinks as 1/√N, and so does a limit that is a multiple of it, as λ of the page by
    default, and κ. The result is the N at which the root mean square of the score exceeds the limit
    by the standard deviation of the score, the noise in one of the table's directions: the N of
    N (δ² + ν²/N) = (L + ν / √f)², where L/√N is the limit and f the number of directions. Such an
    edge is found in most samples of N rows.

    A δ that these rows do not show to be positive, δ² below one standard deviation of score², is
    replaced by this deviation, √(2 / f) ν²/N; the result is then a lower bound.

    Parameters
    ----------
    score, noise, limit : float
        With the present number of rows, in one unit; noise > 0.
    freedom : int
        (s_i − 1) (s_j − 1), the directions in which the table of a pair varies.
    rows : int
    """
    least = math.sqrt(2.0 / freedom) * noise**2
    signal = score**2 - noise**2
    needed = (limit + noise / math.sqrt(freedom)) ** 2 - noise**2
    found = rows * max(needed, 0.0) / max(signal, least)
    digits = max(math.floor(math.log10(found)) - 1, 0) if found >= 1.0 else 0
    return RowsNeeded(max(math.ceil(found / 10**digits) * 10**digits, rows), signal < least)


def rows_needed_words(
    own: PairScore, test: ActivationTest, sizes: tuple[int, int], rows: int
) -> str | None:
    """Return why a true edge is not found, and the rows it needs; None if its score violates.

    Parameters
    ----------
    own : PairScore
    test : ActivationTest
    sizes : pair of int
        Numbers of states of both variables.
    rows : int
    """
    value, multiple = own.value, own.multiple
    if not value or not multiple:
        return None
    noise = value / multiple
    limit = max(test.lam, test.significance * noise)
    freedom = (sizes[0] - 1) * (sizes[1] - 1)
    if value > limit:
        return None
    needed = rows_needed(value, noise, limit, freedom, rows)
    about = "more than " if needed.is_least else "about "
    text = f"Too weak for these rows: it needs {about}{needed.rows:,} rows; there are {rows:,}."
    if needed.is_least:
        text += " Its score is hardly above sampling noise."
    if limit > test.lam:
        return f"{text} The limit is κ times the noise, which shrinks as 1/√N."
    return f"{text} The estimate assumes a λ that shrinks with the noise, as 1/√N."
