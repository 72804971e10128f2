"""The score of one pair at a chosen step, beside the threshold that decides about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import History
from graftviz.learning.run import LearningRun
from graftviz.learning.scores.base import PairFit, edge_dimension
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.trace import ActivationTest
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import Absence, score
from graftviz.reports.words.steps import learner_at
from graftviz.utils.errors import InputError


class PairScore(NamedTuple):
    """The score of a pair, and its test; see :class:`graftviz.learning.scores.base.PairNorm`."""

    value: float
    multiple: float = 0.0
    needed: float = 0.0
    share: float = 0.0

    def limit(self, test: ActivationTest) -> float:
        """Return the score with which the pair would pass; infinite if none suffices."""
        if test.significance == 0.0:
            return test.lam
        own = self.value / self.share if self.share > 0.0 else math.inf
        return max(test.lam, own)


def history_at(run: LearningRun, t: int) -> History:
    """Return the history of a run that has made step `t`; InputError if it has not."""
    if not run.steps and run.outcome is None:
        raise InputError("Nothing has been learned yet.")
    if not 0 <= t <= len(run.steps):
        raise InputError(f"Step {t} has not been made; there are {len(run.steps)} so far.")
    return run.steps[-1].history if run.outcome is None else run.outcome.history


def activation_test(run: LearningRun, t: int) -> ActivationTest:
    """Return the activation test in force at step `t`; before the first step, that of the first."""
    if run.steps:
        test = run.steps[max(t, 1) - 1].test
        if test is not None:
            return test
    learner = learner_at(run, t)
    test = learner.activation_test(PairCounts(run.table)) if learner.by_score else None
    return test or ActivationTest("belief", float(getattr(learner, "lam", None) or 0.0))


def score_of(
    run: LearningRun, history: History, i: int, j: int, t: int, test: ActivationTest
) -> PairScore:
    """Score a pair at the model of step `t`, by the score the run used."""
    table, state = run.table, history.state_at(t)
    sizes = table.cardinalities
    weight: Any = getattr(learner_at(run, t), "group_weight", "count")
    dimension = edge_dimension(sizes[i], sizes[j], weight)
    beliefs = np.split(state.node_beliefs, history.start.node_offsets[1:-1])
    at = PairFit(table, state.model, beliefs, i, j)
    norm = SCORES[test.score].of_pair(at, test.significance_of(i, j))
    return PairScore(norm.value / dimension, *norm[1:])


def verdict(own: PairScore, test: ActivationTest) -> str:
    """Return what decides about a score: a key of the texts "score".

    A score with "above" or "passes" violates.
    """
    if test.significance == 0.0:
        return "above" if own.value > test.lam else "not_above"
    if own.needed == 0.0:
        return "constant"
    fails = {
        "weak": own.multiple <= own.needed,
        "rare": own.share <= 1.0,
        "small": own.value <= test.lam,
    }
    return next((kind for kind, holds in fails.items() if holds), "passes")


def judge(own: PairScore, test: ActivationTest, t: int) -> Absence:
    """Compare a score with λ and, with κ, its multiple of the noise with what this pair needs."""
    value, multiple, needed = own.value, own.multiple, own.needed
    texts: Mapping[str, str] = catalogue("answers")["score"]
    start = texts["start"].format(step=t, score=score(value, test.lam))
    if test.significance > 0.0 and needed > 0.0:
        often, least = score(multiple, needed), score(needed, multiple)
        start = texts["noise"].format(start=start, multiple=often, needed=least)
    limit = own.limit(test)
    words = texts[verdict(own, test)].format(start=start, limit=f"λ = {test.lam:g}")
    return Absence(value, limit, 0, words, "λ" if limit == test.lam else texts["own"])


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
    noise. Noise shrinks as 1/√N, and so does a limit that is a multiple of it, as that of κ, and λ
    of the page by default. The result is the N at which the root mean square of the score exceeds
    the limit by the standard deviation of the score, the noise in one of the table's directions:
    the N of N (δ² + ν²/N) = (L + ν / √f)², where L/√N is the limit and f the number of directions.
    Such an edge is found in most samples of N rows.

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
    value, limit = own.value, own.limit(test)
    if not value or not own.multiple or not value <= limit < math.inf:
        return None
    noise = value / own.multiple
    freedom = (sizes[0] - 1) * (sizes[1] - 1)
    needed = rows_needed(value, noise, limit, freedom, rows)
    texts: Mapping[str, str] = catalogue("answers")["needs"]
    text = texts["more" if needed.is_least else "about"].format(
        needed=f"{needed.rows:,}", rows=f"{rows:,}"
    )
    kind = "noise" if limit > test.lam else "lam"
    return texts[kind].format(text=text, needed=score(limit / noise))
