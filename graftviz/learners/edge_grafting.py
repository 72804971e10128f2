"""Edge grafting: count all pairs, then activate the best edge, one at a time (BC alg. 1)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graftviz.learners.base import CodeLine, Learner
from graftviz.learners.grafting import (
    GraftingOptions,
    GraftingRun,
    Search,
    budget_reason,
    scored_edges,
)
from graftviz.search.exhaustive import ExhaustiveSearch
from graftviz.table import DiscreteTable
from graftviz.trace import Outcome, Step

_ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class EdgeGrafting(GraftingOptions):
    """Greedy activation of whole edges, always the one with the largest score.

    It is what best-choice approximates: nothing better can be picked by score, at the price of
    counting all n (n - 1) / 2 pair tables before the first edge and comparing all scores in every
    step. Use it as the reference, or where n is a few hundred.

    Source: BC algorithm 1.
    """

    name: ClassVar[str] = "edge-grafting"
    title: ClassVar[str] = "Edge grafting"
    idea: ClassVar[str] = (
        "Counts every pair first, then activates the edge with the largest score, one per step. "
        "The reference that best-choice approximates."
    )
    source: ClassVar[str] = "Best-choice edge grafting, algorithm 1"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "count the pair tables of all pairs"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("score", 1, "score every inactive edge: s = ‖bᵢbⱼᵀ − p_D‖ / d"),
        CodeLine("best", 1, "e* = the edge with the largest score"),
        CodeLine("activate", 1, "if s(e*) > λ: activate e*"),
        CodeLine("refit", 2, "re-optimise all active weights"),
        CodeLine("stop", 1, "else stop"),
    )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is not used, as nothing here is random."""
        run = GraftingRun(table, self)
        search = ExhaustiveSearch(run.counts)
        drift = run.network.state.drift
        with run.clock.work("statistics"):
            while search.count(_ROWS_AT_ONCE):
                pass
        with run.clock.work("scoring"):
            search.score_all(run.beliefs, drift, self.threshold)
        stopped_by = ""
        polished = False
        while True:
            if run.room <= 0:
                stopped_by = budget_reason(run.budget) if run.inactive else ""
                break
            with run.clock.work("scoring"):
                slot, score = search.best(run.beliefs, drift, run.options.threshold)
            if slot < 0 or score <= run.options.lam:
                if polished:
                    run.tests += run.inactive
                    break
                # Only polished weights can prove that nothing violates.
                run.polish()
                polished = True
                continue
            polished = False
            tests = run.inactive
            edge = np.array([search.edge(slot)])
            search.active[slot] = True
            run.refit(edge)
            lines = ("loop", "score", "best", "activate", "refit")
            sent = yield run.step(
                Search(
                    activated=scored_edges(edge, [score]),
                    tests=tests,
                    lines=lines if run.index > 1 else ("count", *lines),
                )
            )
            run.clock.resume()
            if isinstance(sent, EdgeGrafting):
                run.switch(sent)
        if not polished:
            run.polish()
        with run.clock.work("scoring"):
            search.score_all(run.beliefs, drift, run.options.threshold)
        inactive = np.flatnonzero(~search.active)
        pairs = run.counts.store.pairs
        edges = np.stack([pairs.first[inactive], pairs.second[inactive]], axis=1)
        return run.finish(edges, search.scores[inactive], stopped_by=stopped_by)
