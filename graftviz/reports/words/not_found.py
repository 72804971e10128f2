"""The strongest pairs that are not edges at the end of a run, each with its reason."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.nodewise.nodewise_l1 import distances
from graftviz.learning.prior import PriorOptions
from graftviz.learning.run import LearningRun
from graftviz.learning.scores.pair_test import (
    chance_of,
    pair_test,
    smallest_norms,
    usual_significance,
)
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import history_at, why_not
from graftviz.reports.words.judging import (
    activation_test,
    judge,
    rows_needed_words,
    score_of,
    verdict,
)
from graftviz.reports.words.phrases import pair, score, short
from graftviz.reports.words.steps import learner_at
from graftviz.reports.words.third_variable import neighbours, pair_scale, strongest_third
from graftviz.utils.arrays import places_of

_MOST_VARIABLES = 2_000
_MOST_COUNTS = 20_000_000_000  # rows times pairs, which take about a second
_BY_CHANCE = 0.5  # share of the listed pairs that chance may explain


class _Absent(NamedTuple):
    """Inactive pair with its strength, and how many as strong ones chance makes of all inactive."""

    i: int
    j: int
    strength: float
    by_chance: float
    inactive: int


class AbsentPair(NamedTuple):
    """Pair of variables that is not an edge although its rows are dependent, and why.

    Attributes
    ----------
    source, target : int
        source < target.
    strength : float
        Distance of the rows of both variables from independence, as a multiple of what independent
        variables exceed at the level of the run, or at the usual one if only λ decides. Up to 1,
        chance may explain it.
    reason : str
        "given": not in the graph that was given; "forbidden" by the options; "violates": the run
        ended first; "third": a third variable explains it;
        "edges": all edges together explain it; "rare": too few rows are in the states that deviate;
        "rows": too weak for these rows.
    third : int or None
        The third variable.
    words : str
        The reason, in sentences.

    Examples
    --------
    >>> gv.learn(survey, gv.BestChoice(max_edges=10)).not_found[0].reason
    'violates'
    """

    source: int
    target: int
    strength: float
    reason: str
    third: int | None
    words: str


def strongest_absent(run: LearningRun, most: int = 5) -> tuple[AbsentPair, ...] | None:
    """Return the inactive pairs whose rows depend most, strongest first, and why they are no edges.

    The list ends before the pair with which chance would explain half of it.

    None for learners that do not score pairs, and for large tables.
    """
    learner, table = learner_at(run, len(run.steps)), run.table
    n = table.n_variables
    is_large = n > _MOST_VARIABLES or n * (n - 1) // 2 * table.n_rows > _MOST_COUNTS
    if not learner.by_score or learner.by_feature or is_large:
        return None
    return tuple(_explained(run, absent) for absent in _strongest(run, most))


def absent_words(run: LearningRun, found: AbsentPair) -> str:
    """Return a pair with its reason, as text."""
    return f"{pair(run.table.names, found.source, found.target)}: {found.words}"


def _strongest(run: LearningRun, most: int) -> list[_Absent]:
    """Rank the inactive pairs by their distance from independence, over that of chance."""
    t, counts = len(run.steps), PairCounts(run.table)
    margins, offsets, rows = counts.packed.margins, counts.packed.node_offsets, counts.packed.rows
    kappa = activation_test(run, t).significance or usual_significance(margins, offsets)
    test = pair_test(margins, offsets, rows, kappa)
    limits = smallest_norms(test)
    strengths = distances(counts) / np.where(limits > 0.0, limits, np.inf)
    active = history_at(run, t).edges_at(t)
    strengths[active[:, 0], active[:, 1]] = 0.0
    pairs = np.column_stack(np.triu_indices(len(strengths), 1))
    flat, inactive = strengths[pairs[:, 0], pairs[:, 1]], len(pairs) - len(active)
    best = np.argsort(-flat, kind="stable")[:most]
    best = best[flat[best] > 0.0]
    by_chance = chance_of(test, pairs[best], np.minimum(flat[best], 1.0)) * inactive
    is_real = (flat[best] > 1.0) | (by_chance < _BY_CHANCE * np.arange(1, len(best) + 1))
    last = int(np.argmin(np.append(is_real, False)))
    found = zip(pairs[best].tolist(), flat[best].tolist(), by_chance.tolist(), strict=True)
    return [_Absent(i, j, own, chance, inactive) for (i, j), own, chance in found][:last]


def _explained(run: LearningRun, absent: _Absent) -> AbsentPair:
    """Return the reason why a pair is no edge."""
    i, j, strength, by_chance, inactive = absent
    t, table, texts = len(run.steps), run.table, catalogue("answers")

    def because(reason: str, words: str, third: int | None = None) -> AbsentPair:
        return AbsentPair(i, j, strength, reason, third, words)

    learner = learner_at(run, t)
    if isinstance(learner, PriorOptions) and learner.is_given(table.names):
        return because("given", texts["absence"]["given"])
    if len(places_of(learner.forbidden_pairs(table.names), i, j)):
        return because("forbidden", texts["absence"]["forbidden"])
    history, test = history_at(run, t), activation_test(run, t)
    own = score_of(run, history, i, j, t, test)
    kind, judged = verdict(own, test), judge(own, test, t).words
    if kind in ("above", "passes"):
        return because("violates", why_not(run, i, j, t)["words"])
    if kind == "rare":
        return because("rare", judged)
    near = neighbours(history.edges_at(t), i, j)
    if strength > 1.0 and near:
        best = strongest_third(table, pair_scale(learner, table, i, j, test), i, j, near)
        if best.explains:
            name = short(table.names[best.third])
            fall = best.words(name)
            words = texts["not_found"]["third"].format(third=name, fall=fall)
            return because("third", words, best.third)
        if best.limit is not None and best.raw > best.limit:
            raw, left = score(best.raw), score(own.value)
            return because("edges", texts["not_found"]["edges"].format(raw=raw, left=left))
    sizes, rows = table.cardinalities[[i, j]].tolist(), round(table.total_weight)
    sentences = [judged, rows_needed_words(own, test, sizes, rows)]
    if strength <= 1.0:
        count, pairs = f"{by_chance:.1g}", f"{inactive:,}"
        sentences.append(texts["not_found"]["chance"].format(count=count, pairs=pairs))
    return because("rows", " ".join(filter(None, sentences)))
