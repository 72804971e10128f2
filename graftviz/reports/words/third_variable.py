"""Reason for an edge that is not true: the score of the pair given a third variable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.history import History
from graftviz.learning.run import LearningRun
from graftviz.learning.scores.base import edge_dimension
from graftviz.learning.scores.pair_test import pair_test, threshold_of
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.trace import ActivationTest
from graftviz.learning.weights.noise import impurity_of
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import score, short
from graftviz.reports.words.steps import learner_at
from graftviz.utils.arrays import places_of
from graftviz.utils.options import option_specs

_BEST = "best"  # the preset that scores by the pseudo-likelihood
_MANY_CODES = 20_000_000  # rows times variables from which only neighbours are third variables
_MOST_TABLES = 12  # states of the third variable whose tables are returned
_MOST_CELLS = 400  # of a table that is returned
_LONGEST_PATH = 6  # variables of a path that are named


class PairScale(NamedTuple):
    """Unit of the scores of a pair, and the limit that they must exceed to violate.

    Attributes
    ----------
    factor : float
        Score of a norm of one, of variables without edges.
    lam : float or None
        None for learners that do not compare scores of pairs with λ.
    needed : float
        Multiple of its noise that a score must also exceed; 0 without κ.
    """

    factor: float
    lam: float | None
    needed: float

    def limit(self, noise: float) -> float | None:
        """Return the limit of a score with this noise."""
        return None if self.lam is None else max(self.lam, self.needed * noise)


class ThirdVariable(NamedTuple):
    """The third variable that lowers the score of a pair most.

    Attributes
    ----------
    third : int
    raw, given : float
        Score of the pair without the third variable, and given it.
    noise : float
        Sampling noise of the score given the third variable.
    limit : float or None
        Limit of the score; None for learners that do not compare scores of pairs with λ.
    by_lam : bool
        Whether the limit is λ.
    """

    third: int
    raw: float
    given: float
    noise: float
    limit: float | None
    by_lam: bool

    @property
    def explains(self) -> bool:
        """Whether only the score given the third variable is at or below the limit."""
        return self.limit is not None and self.given <= self.limit < self.raw

    def words(self, name: str) -> str:
        """Return how the score falls, as a part of a sentence; `name` is that of the variable."""
        texts: Mapping[str, str] = catalogue("answers")["third"]
        fall = texts["falls" if self.given < self.raw else "instead"].format(
            third=name, raw=score(self.raw), given=score(self.given)
        )
        if self.limit is None:
            return fall
        own = texts["own"].format(limit=score(self.limit))
        limit = f"λ = {self.limit:g}" if self.by_lam else own
        return texts["below" if self.given <= self.limit else "above"].format(
            text=fall, limit=limit
        )


def strongest_third(
    table: DiscreteTable, scale: PairScale, i: int, j: int, candidates: Sequence[int]
) -> ThirdVariable:
    """Return the candidate that lowers the score of a pair most; there must be one."""
    norms = [conditional_norm(table, i, j, k) for k in candidates]
    third = candidates[int(np.argmin(norms))]
    limit = scale.limit(conditional_noise(table, i, j) * scale.factor)
    return ThirdVariable(
        third=third,
        raw=conditional_norm(table, i, j) * scale.factor,
        given=min(norms) * scale.factor,
        noise=conditional_noise(table, i, j, third) * scale.factor,
        limit=limit,
        by_lam=limit == scale.lam,
    )


def conditional_tables(table: DiscreteTable, i: int, j: int, third: int) -> np.ndarray:
    """Return the counts of a pair for each state of a third variable, shape (s_third, s_i, s_j)."""
    sizes = [len(table.labels[k]) for k in (third, i, j)]
    codes = table.codes
    key = (codes[third].astype(np.int64) * sizes[1] + codes[i]) * sizes[2] + codes[j]
    return np.bincount(key, table.weights, minlength=math.prod(sizes)).reshape(sizes)


def conditional_norm(table: DiscreteTable, i: int, j: int, third: int | None = None) -> float:
    """Return the norm of what a third variable leaves of the dependence of a pair.

    It is ‖Σ_c p(c) p(x_i | c) p(x_j | c) − p(x_i, x_j)‖₂ with the relative frequencies of all rows.
    The first term is the pair marginal of the model with the edges i – c and j – c only, fitted
    without a penalty, so this is the norm of the gradient of its likelihood in the weights of the
    edge i – j. Without a third variable the model has no edges: ‖p(x_i) p(x_j) − p(x_i, x_j)‖₂.
    """
    total = table.total_weight
    frequencies = table.joint_counts(i, j) / total
    if third is None:
        expected = np.outer(frequencies.sum(axis=1), frequencies.sum(axis=0))
    else:
        to_i, to_j = table.joint_counts(i, third), table.joint_counts(third, j)
        rows = to_i.sum(axis=0)
        expected = to_i @ _shares(to_j, rows) / total
    return float(np.linalg.norm(expected - frequencies))


def conditional_noise(table: DiscreteTable, i: int, j: int, third: int | None = None) -> float:
    """Return the sampling noise of :func:`conditional_norm`.

    It is the root mean square, over samples of N rows, if i and j are independent given the third
    variable: √(Σ_c p(c) (1 − ‖p(x_i | c)‖²) (1 − ‖p(x_j | c)‖²) / N).
    """
    total = table.total_weight
    if third is None:
        shares = [table.joint_counts(i, j).sum(axis=axis)[np.newaxis] / total for axis in (1, 0)]
        weights = np.ones(1)
    else:
        counts = [table.joint_counts(third, k) for k in (i, j)]
        rows = counts[0].sum(axis=1)
        shares = [_shares(count, rows) for count in counts]
        weights = rows / total
    variance = float((weights * impurity_of(shares[0]) * impurity_of(shares[1])).sum())
    return math.sqrt(variance / total)


def _shares(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return counts as shares of the totals of their rows; 0 where a total is 0."""
    shares: np.ndarray = counts / np.where(totals > 0, totals, 1)[:, np.newaxis]
    return shares


def explain_edge(
    run: LearningRun,
    history: History,
    i: int,
    j: int,
    t: int,
    test: ActivationTest,
) -> dict[str, Any] | None:
    """Return the third variable that explains an active edge, with its numbers; see docs/player.md.

    Of an edge that is not true it is the variable inside a shortest path of true edges that lowers
    the score most. Without true edges, or without a path of them, it is the one of all variables.
    None for a true edge, and without a third variable.
    """
    truth, table = run.truth, run.table
    if truth is not None and len(places_of(truth, i, j)):
        return None
    paths = [] if truth is None else shortest_paths(truth, i, j)
    thirds = {k: path for path in paths for k in path[1:-1]}
    candidates = sorted(thirds) or _all_thirds(run, history, i, j, t)
    if not candidates:
        return None
    scale = pair_scale(learner_at(run, t), table, i, j, test)
    found = strongest_third(table, scale, i, j, candidates)
    third = found.third
    labels = [table.labels[k] for k in (third, i, j)]
    is_small = len(labels[1]) * len(labels[2]) <= _MOST_CELLS
    counts = conditional_tables(table, i, j, third) if is_small else np.zeros((0, 0, 0))
    path = thirds.get(third)
    texts: Mapping[str, str] = catalogue("answers")["third"]
    symbol = "λ" if found.by_lam else catalogue("answers")["score"]["own"]
    names = [short(name) for name in table.names]
    return {
        "third": third,
        "name": table.names[third],
        "path": path or [i, third, j],
        "known": path is not None,
        "raw": found.raw,
        "given": found.given,
        "noise": found.noise,
        "limit": found.limit,
        "symbol": symbol,
        "labels": [list(labels[1]), list(labels[2])],
        "tables": [
            {"state": state, "rows": int(part.sum()), "counts": part.tolist()}
            for state, part in zip(
                (None, *labels[0][:_MOST_TABLES]), (counts.sum(axis=0), *counts), strict=False
            )
            if is_small
        ],
        "more": max(len(counts) - _MOST_TABLES, 0),
        "best": _offers_best(run),
        "words": _words(
            texts,
            names,
            path,
            (i, third, j),
            found.words(names[third]),
            truth is not None,
        ),
    }


def pair_scale(
    learner: Learner, table: DiscreteTable, i: int, j: int, test: ActivationTest
) -> PairScale:
    """Return the scale of a run's scores for a pair of variables without edges."""
    weight: Any = getattr(learner, "group_weight", "count")
    sizes = table.cardinalities
    used = SCORES.get(test.score)
    factor = 1.0 if used is None else used.noise_factor
    compares = learner.by_score and not learner.by_feature
    needed = 0.0
    if test.significance > 0.0:
        margins = np.concatenate([table.state_counts(k) for k in (i, j)])
        offsets = np.cumsum([0, sizes[i], sizes[j]])
        own = pair_test(margins, offsets, table.total_weight, test.significance_of(i, j))
        needed = threshold_of(own, 0, 1)
    return PairScale(
        factor / edge_dimension(sizes[i], sizes[j], weight), test.lam if compares else None, needed
    )


def shortest_paths(edges: np.ndarray, i: int, j: int) -> list[list[int]]:
    """Return all shortest paths from i to j, as lists of variables; none if there is no path."""
    neighbours: dict[int, list[int]] = {}
    for a, b in edges.tolist():
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    distance, front = {j: 0}, [j]
    while front and i not in distance:
        found = dict.fromkeys(b for a in front for b in neighbours.get(a, []) if b not in distance)
        distance.update(dict.fromkeys(found, distance[front[0]] + 1))
        front = list(found)
    paths = [[i]] if i in distance else []
    for left in range(distance.get(i, 0) - 1, -1, -1):
        paths = [
            [*path, b] for path in paths for b in neighbours[path[-1]] if distance.get(b) == left
        ]
    return paths


def neighbours(edges: np.ndarray, i: int, j: int) -> list[int]:
    """Return the other variables with an edge to one of two variables."""
    found = set(edges[np.isin(edges, (i, j)).any(axis=1)].ravel().tolist())
    return sorted(found - {i, j})


def _all_thirds(run: LearningRun, history: History, i: int, j: int, t: int) -> list[int]:
    """Return all other variables; of a large table those with an edge to one of the pair."""
    table = run.table
    if table.n_variables * table.n_rows <= _MANY_CODES:
        found = set(range(table.n_variables))
    else:
        return neighbours(history.edges_at(t), i, j)
    return sorted(found - {i, j})


def _offers_best(run: LearningRun) -> bool:
    """Return whether the same data can be learned by the preset best instead."""
    spec = next((spec for spec in option_specs(run.learner) if spec.name == "preset"), None)
    has_best = spec is not None and _BEST in spec.choices
    return has_best and run.branch is None and getattr(run.learner, "preset", _BEST) != _BEST


def _words(
    texts: Mapping[str, str],
    names: Sequence[str],
    path: Sequence[int] | None,
    triple: tuple[int, int, int],
    fall: str,
    has_truth: bool,
) -> str:
    """Return the reason in one sentence."""
    i, third, j = (names[k] for k in triple)
    route = third
    if path is not None:
        kind = "common" if len(path) == 3 else "path"
        route = " – ".join(names[k] for k in path) if len(path) <= _LONGEST_PATH else third
    else:
        kind = "no_path" if has_truth else "any"
    return texts[kind].format(a=i, b=j, third=third, way=route, fall=fall)
