"""Edge grafting: count all pairs, then activate the best edge at each step (BC algorithm 1)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner, drained
from graftviz.learning.grafting.active_set import Search, scored_edges
from graftviz.learning.grafting.exhaustive import ExhaustiveSearch
from graftviz.learning.grafting.grafting import GraftingRun
from graftviz.learning.grafting.grafting_options import GraftingOptions
from graftviz.learning.grafting.queue import BY_CHANCE
from graftviz.learning.grafting.streaming import StreamPlan, stream_steps
from graftviz.learning.settings import Rescoring, rescoring_option
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.options import CodeLine, checked_seed

_ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class EdgeGrafting(GraftingOptions):
    """Greedy activation of the edge with the largest score.

    Best-choice approximates this learner. It counts all n (n - 1) / 2 pair tables before the first
    edge and compares all scores at every step. Use it as the reference, or if n is a few hundred.

    Source: BC algorithm 1.

    Examples
    --------
    >>> gv.learn(survey, gv.EdgeGrafting(preset="paper", max_edges=5)).model.n_edges
    5
    """

    rescoring: Rescoring = rescoring_option("edges")

    screens: ClassVar[bool] = True
    name: ClassVar[str] = "edge-grafting"
    title: ClassVar[str] = "Edge grafting"
    idea: ClassVar[str] = (
        "Counts every pair first, then activates the edge with the largest score, one per step. "
        "The reference that best-choice approximates."
    )
    source: ClassVar[str] = "Best-choice edge grafting, algorithm 1"
    sentences: ClassVar[str] = "best of all"
    smaller: ClassVar[str] = "best-choice, which counts only the pairs it tests"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "count the pair tables of all pairs"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("score", 1, "s = score of every inactive edge"),
        CodeLine("best", 1, "e* = the edge with the largest score"),
        CodeLine("activate", 1, "if s(e*) > λ: activate e*"),
        CodeLine("refit", 2, "re-optimise all active weights"),
        CodeLine("stop", 1, "else stop"),
    )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed chooses the rows of a screening by sample."""
        outcome = yield from self._grow(GraftingRun(table, self, seed=checked_seed(seed)))
        return outcome

    def outcome(self, table: DiscreteTable, *, seed: int = 0) -> Outcome:
        """Learn like `steps` without reports of the steps, which takes half the time or less."""
        return drained(self._grow(GraftingRun(table, self, seed=checked_seed(seed), reports=False)))

    def _grow(self, run: GraftingRun) -> Generator[Step, Learner | None, Outcome]:
        search = ExhaustiveSearch(run.counts, run.candidates)
        with run.clock.work("statistics"):
            while search.count(_ROWS_AT_ONCE):
                pass
            search.exclude(run.prior.decided)
        polished = False
        reported = 0  # tests of earlier steps
        scores_all = self.rescoring == "all"
        if len(run.prior.required) and not run.reports:
            run.refit(run.prior.required)
        elif len(run.prior.required):
            sent = yield run.begin_required()
            run.clock.resume()
            if isinstance(sent, EdgeGrafting):
                scores_all = sent.rescoring == "all"
                run.switch(sent)
        while True:
            slot, score = -1, 0.0
            if run.room > 0:
                with run.clock.work("scoring"):
                    slot, score = search.best(
                        run.scorer.scoring, run.scorer.drift, scores_all=scores_all
                    )
            if slot >= 0 and score > run.threshold:
                polished = False
                tests, reported = search.tests - reported, search.tests
                edge = np.array([search.edge(slot)])
                search.active[slot] = True
                run.refit(edge)
                if not run.reports:
                    run.tests += tests
                    continue
                lines = ("loop", "score", "best", "activate", "refit")
                sent = yield run.step(
                    Search(
                        activated=scored_edges(edge, [score]),
                        tests=tests,
                        lines=lines if run.tests else ("count", *lines),
                    )
                )
                run.clock.resume()
                if isinstance(sent, EdgeGrafting):
                    scores_all = sent.rescoring == "all"
                    run.switch(sent)
                continue
            has_room = run.room > 0
            if not polished:
                # Only at polished weights do the scores prove that no edge violates.
                run.polish()
                polished = True
                if has_room:
                    continue
            stopped_by = run.stopped_by
            run.tests += search.tests - reported
            reported = search.tests
            pruned = run.prune()
            search.release(pruned)
            if len(pruned):
                continue
            with run.clock.work("scoring"):
                search.score_all(run.scorer.scoring, run.scorer.drift)
            inactive = np.flatnonzero(~search.active)
            pairs, scores = search.pairs[inactive], search.scores[inactive]
            polished = False
            lower = partial(run.lower_significance, pairs, scores)
            found = run.deviating(stopped=stopped_by is not None, lower=lower)
            if found is None:
                continue
            released = run.settle() if len(found) == 0 else None
            if released is not None:
                search.release(released)
                continue
            if len(found) == 0:
                return run.finish(pairs, scores, stopped_by=stopped_by)
            search.exclude(found)
            step = run.activate_deviating(found)
            if run.reports:
                sent = yield step
                run.clock.resume()
                if isinstance(sent, EdgeGrafting):
                    scores_all = sent.rescoring == "all"
                    run.switch(sent)


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
