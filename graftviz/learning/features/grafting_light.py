"""Grafting-light: feature grafting with one optimisation step after each activation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Literal

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.features.options import FeatureOptions
from graftviz.learning.features.run import graft_features
from graftviz.learning.features.solver import ORTHANT_WISE, PROXIMAL
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.options import CodeLine, option


@dataclass(frozen=True)
class GraftingLight(FeatureOptions):
    """Greedy activation of single features, with one step of all weights in between.

    The step updates every active weight once, then the node weights, and sends all messages once.
    As the next feature is chosen at weights that are not fitted fully, some features are activated
    that a full fit would not need. When no feature violates any more, the weights are fitted fully,
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
        "change its sign; orthant-wise: the step of the paper, in which a weight that would change "
        "its sign becomes zero",
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
