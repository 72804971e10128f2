"""The score of one pair at a chosen step, beside the threshold that decides about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.history import History
from graftviz.narrative.phrases import Absence, score
from graftviz.narrative.steps import learner_at
from graftviz.runs import Run
from graftviz.scores.base import PairFit, edge_dimension
from graftviz.scores.registry import all_scores
from graftviz.texts import LANGUAGE, catalogue
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
    # A pair that cannot vary has no noise.
    multiple = norm.value / norm.noise if norm.noise > 0.0 else 0.0
    return PairScore(norm.value / dimension, multiple)


def judge(own: PairScore, test: ActivationTest, t: int, language: str = LANGUAGE) -> Absence:
    """Compare a score with λ, and its multiple of the noise with κ; report the one that fails."""
    value, multiple, significance = own.value, own.multiple, test.significance
    texts: Mapping[str, str] = catalogue("answers", language)["score"]
    if value is None or multiple is None:
        words = texts["none"].format(step=t, why=own.why_none)
        return Absence(None, significance or test.lam, 0, words, test.symbol)
    start = texts["start"].format(step=t, score=score(value, test.lam))
    is_large, is_significant = value > test.lam, multiple > significance
    limit = f"λ = {test.lam:g}"
    if significance == 0.0:
        words = texts["above" if is_large else "not_above"].format(start=start, limit=limit)
        return Absence(value, test.lam, 0, words)
    often = score(multiple, significance)
    if is_significant and not is_large:
        words = texts["noisy"].format(start=start, multiple=often, limit=limit)
        return Absence(value, test.lam, 0, words)
    words = texts["noisy_above" if is_significant else "noisy_not_above"].format(
        start=start, multiple=often, limit=f"κ = {significance:g}"
    )
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
    own: PairScore,
    test: ActivationTest,
    sizes: tuple[int, int],
    rows: int,
    language: str = LANGUAGE,
) -> str | None:
    """Return why a true edge is not found, and the rows it needs; None if its score violates.

    Parameters
    ----------
    own : PairScore
    test : ActivationTest
    sizes : pair of int
        Numbers of states of both variables.
    rows : int
    language : str
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
    texts: Mapping[str, str] = catalogue("answers", language)["needs"]
    text = texts["more" if needed.is_least else "about"].format(
        needed=f"{needed.rows:,}", rows=f"{rows:,}"
    )
    return texts["noise" if limit > test.lam else "lam"].format(text=text)
