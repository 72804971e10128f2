"""First hit: test edges in random order and activate the first that violates (BC §3.1)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.grafting.grafting_options import GraftingOptions
from graftviz.learning.grafting.state import BY_CHANCE
from graftviz.learning.grafting.streaming import StreamPlan, stream_steps
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.options import CodeLine


@dataclass(frozen=True)
class FirstHit(GraftingOptions):
    """Best-choice without a reservoir: the first violating edge is activated immediately.

    It reaches an edge budget fastest and with the worst edges. Use it as the baseline that shows
    the effect of the reservoir.

    Source: BC §3.1, the baseline "first hit".

    Examples
    --------
    >>> gv.learn(survey, gv.FirstHit(max_edges=5)).model.n_edges
    5
    """

    name: ClassVar[str] = "first-hit"
    title: ClassVar[str] = "First hit"
    idea: ClassVar[str] = (
        "Tests edges in random order and activates the first one above λ. Fast but "
        "inaccurate: the baseline that shows the benefit of the reservoir."
    )
    source: ClassVar[str] = "Best-choice edge grafting, section 3.1"
    sentences: ClassVar[str] = "first hit"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("loop", 0, "repeat"),
        CodeLine("refill", 1, "if all were drawn: start over with those that failed"),
        CodeLine("extract", 1, "e = a random inactive edge not tested since the last change"),
        CodeLine("count", 1, "count its pair table if it is new"),
        CodeLine("score", 1, "s = score of e"),
        CodeLine("freeze", 1, "if s ≤ λ: set e aside"),
        CodeLine("activate", 0, "until s > λ: activate e"),
        CodeLine("refit", 0, "re-optimise all active weights"),
    )

    def plan(self, n: int) -> StreamPlan:
        """Return a plan with a reservoir of size 1, which the first violating edge fills."""
        return StreamPlan(
            capacity=1,
            first_limit=n * (n - 1) // 2,
            limit=1,
            alpha=1.0,
            hubs=False,
            hub_centrality=None,
            order=BY_CHANCE,
            full_queue=False,
            screening=self.screening_of(n),
        )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; `seed` sets the order of tests."""
        return stream_steps(self, table, seed, FirstHit.plan)
