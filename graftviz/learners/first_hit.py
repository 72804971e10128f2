"""First hit: test edges in random order and activate the first that violates (BC §3.1)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from graftviz.costs import CostPart, TableSize
from graftviz.learners.base import CodeLine, Learner
from graftviz.learners.cost import (
    LOGGED_TEST,
    SLOT,
    TEST,
    assumed_edges,
    candidates_of,
    fits,
    methods_for,
    pair_counts,
)
from graftviz.learners.grafting_options import GraftingOptions
from graftviz.learners.streaming import StreamPlan, stream_steps
from graftviz.scores.registry import all_scores
from graftviz.search.state import BY_CHANCE
from graftviz.table import DiscreteTable
from graftviz.trace import Outcome, Step

_HIT_EVERY = 0.05  # tests between two violating edges, per variable


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
            hubs_once=False,
            hubs_after=0,
            order=BY_CHANCE,
            full_queue=False,
            screening=self.screening_of(n),
        )

    def cost(self, size: TableSize, cache_bytes: int, notes: list[str]) -> list[CostPart]:
        """Return the parts of the memory and time of a run."""
        budget = self.edge_budget(size.n)
        edges, chosen = assumed_edges(size, budget, notes), methods_for(self, size, notes)
        wait = max(_HIT_EVERY * size.n, 1.0)
        tests = 2.0 * size.possible
        if budget < size.possible:
            tests = min(size.possible, wait * edges)
            if tests < size.possible:
                notes.append(f"From one hit to the next {wait:,.0f} tests are assumed.")
        possible, screening = candidates_of(size, self.screening_of(size.n))
        counted = min(possible, tests)
        return [
            *screening,
            pair_counts(size, counted, SLOT, cache_bytes),
            CostPart("record of the steps", LOGGED_TEST * tests, 0.0),
            CostPart(
                "search", 0.0, tests * (TEST + all_scores()[chosen.score].seconds(size, edges))
            ),
            *fits(size, chosen, edges, edges),
        ]

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; `seed` sets the order of tests."""
        return stream_steps(self, table, seed, FirstHit.plan)
