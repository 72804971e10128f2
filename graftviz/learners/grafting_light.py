"""Grafting-light: as feature grafting, but one optimisation step after each activation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from graftviz.learners.base import CodeLine, Learner
from graftviz.learners.feature_options import FeatureOptions
from graftviz.learners.feature_run import graft_features
from graftviz.table import DiscreteTable
from graftviz.trace import Outcome, Step


@dataclass(frozen=True)
class GraftingLight(FeatureOptions):
    """Greedy activation of single features, with one proximal step of all weights in between.

    The step moves every active weight once, node weights follow it, and messages are sent once. The
    next feature is chosen at unfinished weights, so that some come in that a full fit would not
    have needed. Weights are fitted fully when nothing violates any more, and the search goes on if
    something violates then: it ends at the objective of feature grafting.

    A single step saves work where a full fit has to go through all edges. Here node weights are
    free, so that edges do not disturb each other and a full fit works on the new feature's edge
    alone, while the step moves all that are not fitted yet: with few states feature grafting is the
    faster of the two, and with dozens of states, where one edge is much work, this one.

    Source: thesis section 3.2.2, after Zhu, Lao and Xing, "Grafting-light: fast, incremental
    feature selection and structure learning of Markov random fields" (2010).
    """

    name: ClassVar[str] = "grafting-light"
    title: ClassVar[str] = "Grafting-light"
    idea: ClassVar[str] = (
        "Activates one joint state of one pair per step like feature grafting, but takes a single "
        "optimisation step in between, so that it chooses at unfinished weights."
    )
    source: ClassVar[str] = "Thesis, section 3.2.2 (Zhu, Lao and Xing, 2010)"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "count p_D(i=a, j=b) of all features"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("score", 1, "s = |b(a, b) − p_D(a, b)| of every inactive feature"),
        CodeLine("best", 1, "f* = the feature with the largest s"),
        CodeLine("activate", 1, "if s(f*) > λ: activate f*"),
        CodeLine("step", 2, "one proximal step of all active weights; send messages once"),
        CodeLine("stop", 1, "else optimise all active weights; stop if still no s > λ"),
    )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is not used, as nothing here is random."""
        return (yield from graft_features(table, self, one_step=True))
