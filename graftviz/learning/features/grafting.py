"""Feature grafting: activate the single feature with the largest gradient, fit all, repeat."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.features.options import FeatureOptions
from graftviz.learning.features.run import graft_features
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.options import CodeLine


@dataclass(frozen=True)
class FeatureGrafting(FeatureOptions):
    """Greedy activation of the single feature with the largest gradient.

    A feature is one joint state (a, b) of one pair (i, j); the objective is the Bethe likelihood
    plus λ Σ |w_k| + λ₂ Σ w_k² over the features, with free node weights. It is the predecessor of
    edge grafting: features of an edge are tested one by one, so an edge may stay *partially
    active*, with weights for only a few of its joint states. Use it to study the effect of
    grouping, or if few joint states describe the dependence.

    Source: thesis algorithm 5, after Perkins, Lacker and Theiler (2003) and Lee, Ganapathi and
    Koller (2006).

    Examples
    --------
    >>> found = gv.learn(survey, gv.FeatureGrafting(max_features=6))
    >>> len(found.trace.steps), found.model.n_edges
    (6, 5)
    """

    name: ClassVar[str] = "feature-grafting"
    title: ClassVar[str] = "Feature grafting"
    idea: ClassVar[str] = (
        "Activates one joint state of one pair per step, the one with the largest gradient, so "
        "edges may stay partially active. The predecessor of edge grafting, without groups."
    )
    source: ClassVar[str] = "Thesis, algorithm 5 (grafting: Perkins et al. 2003; Lee et al. 2006)"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "count p_D(i=a, j=b) of all features"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("score", 1, "s = |b(a, b) − p_D(a, b)| of every inactive feature"),
        CodeLine("best", 1, "f* = the feature with the largest s"),
        CodeLine("activate", 1, "if s(f*) > λ: activate f*"),
        CodeLine("refit", 2, "optimise all active weights, with penalty λ|w| + λ₂w² each"),
        CodeLine("stop", 1, "else stop"),
    )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is unused, as the algorithm is deterministic."""
        return (yield from graft_features(table, self))
