"""Feature grafting and grafting-light: activate the feature with the largest gradient, fit."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Literal

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.features.run import FeatureOptions, graft_features
from graftviz.learning.features.solver import ORTHANT_WISE, PROXIMAL
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.options import CodeLine, option


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


@dataclass(frozen=True)
class GraftingLight(FeatureOptions):
    """Greedy activation of single features, with one step of all weights in between.

    The step updates every active weight once, then the node weights, and sends all messages once.
    As the next feature is chosen at weights that are not fitted fully, the order of features
    differs, and some may be activated that a full fit would not need. When no feature violates any
    more, the weights are fitted fully,
    and the search continues if a feature violates then: the run ends at the objective of feature
    grafting.

    A single step saves work if a full fit has to visit all edges. Here node weights are free, so
    edges do not interact and a full fit visits only the edge of the new feature, while the step
    updates every edge that is not fitted yet. With few states feature grafting is faster; with
    dozens of states, where one edge is expensive, grafting-light is.

    Source: thesis section 3.2.2, after Zhu, Lao and Xing, "Grafting-light: fast, incremental
    feature selection and structure learning of Markov random fields" (2010).

    Examples
    --------
    >>> found = gv.learn(survey, gv.GraftingLight(max_features=6))
    >>> len(found.trace.steps), found.model.n_edges
    (6, 5)
    """

    name: ClassVar[str] = "grafting-light"
    title: ClassVar[str] = "Grafting-light"
    idea: ClassVar[str] = (
        "Activates one joint state of one pair per step like feature grafting, but takes a single "
        "optimisation step in between, so that it chooses at unfinished weights."
    )
    source: ClassVar[str] = "Thesis, section 3.2.2 (Zhu, Lao and Xing, 2010)"
    one_step: ClassVar[bool] = True

    optimisation: Literal["proximal", "orthant-wise"] = option(
        "proximal",
        "step of the active weights after an activation. proximal: a weight may become zero or "
        "change its sign; orthant-wise: a weight that would change its sign becomes zero, as in "
        "the paper, but with the same diagonal scaling and without a line search",
        label="Step",
    )

    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "count p_D(i=a, j=b) of all features"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("score", 1, "s = |b(a, b) − p_D(a, b)| of every inactive feature"),
        CodeLine("best", 1, "f* = the feature with the largest s"),
        CodeLine("activate", 1, "if s(f*) > λ: activate f*"),
        CodeLine("step", 2, "one step of all active weights; send messages once"),
        CodeLine("stop", 1, "else optimise all active weights; stop if still no s > λ"),
    )

    @property
    def update(self) -> int:
        """Kind of the update of active weights."""
        return ORTHANT_WISE if self.optimisation == "orthant-wise" else PROXIMAL

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is unused, as the algorithm is deterministic."""
        return (yield from graft_features(table, self))
