"""Loop of the streaming learners: test, choose, activate, refit, update (BC alg. 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.grafting.active_set import Search, scored_edges
from graftviz.learning.grafting.grafting import GraftingRun
from graftviz.learning.grafting.queue import BY_SCORE
from graftviz.learning.grafting.reservoir import EXHAUSTED, REACHED, Choice, ReservoirSearch
from graftviz.learning.grafting.screening import NONE
from graftviz.learning.trace import (
    ADMITTED,
    DISPLACED_MINIMUM,
    NO_PAIRS,
    PASSED,
    TOO_WEAK,
    Outcome,
    Remark,
    Step,
)
from graftviz.utils.arrays import freeze
from graftviz.utils.options import checked_seed

_PAIRS_SAMPLED = 10_000  # at most, to find weak edges
_FEW = 10  # inactive pairs per edge, which are tested faster than the weights are polished


class StreamPlan(NamedTuple):
    """Resolved options of a streaming learner.

    Attributes
    ----------
    capacity : int
        |R|.
    first_limit : int
        Cap on the tests of the first filling.
    limit : int
        t_max.
    alpha : float
    hubs : bool
    hub_centrality : float or None
        ĉ; None: the mean centrality.
    order : int
        Order in which frozen edges return, see :class:`ReservoirSearch`; by score with screening.
    full_queue : bool
    screening : str
        ALL or SAMPLE: all pairs or the candidates are counted first and tested in the order of
        their belief scores; NONE.
    tests_after_filling : bool
        Whether the first step makes t_max tests after those that fill R.
    """

    capacity: int
    first_limit: int
    limit: int
    alpha: float
    hubs: bool
    hub_centrality: float | None
    order: int
    full_queue: bool
    screening: str
    tests_after_filling: bool = False

    @property
    def is_screened(self) -> bool:
        """Whether pairs are counted first and tested by score."""
        return self.screening != NONE


def hub_mask(degrees: np.ndarray, centrality: float | None) -> np.ndarray:
    """Return the mask of hubs: nodes with deg(i) / (n - 1) above ĉ (None: above the mean)."""
    n = len(degrees)
    bound = degrees.mean() if centrality is None else centrality * (n - 1)
    mask: np.ndarray = degrees > bound
    return mask


def stream_steps(
    options: Any, table: DiscreteTable, seed: int, plan_of: Callable[[Any, int], StreamPlan]
) -> Generator[Step, Learner | None, Outcome]:
    """Run a streaming learner; see :meth:`graftviz.learning.base.Learner.steps`.

    Parameters
    ----------
    options : GraftingOptions
        The learner; one of the same class may be sent in to replace it.
    plan_of : callable
        ``plan_of(options, n)`` resolves the options for n variables.
    """
    stream = _Stream(options, table, seed, plan_of)
    run = stream.run
    if len(run.prior.required):
        sent = yield stream.begin_required()
        run.clock.resume()
        if isinstance(sent, type(options)):
            stream.switch(sent)
    while True:
        if run.room > 0 and stream.find():
            sent = yield run.step(stream.activate())
            run.clock.resume()
            if isinstance(sent, type(options)):
                stream.switch(sent)
            continue
        stopped_by = run.stopped_by
        if not stream.polished:
            run.polish()
            stream.polished = True
        # Pruning frees budget and may make other edges violate: continue.
        pruned = run.prune()
        stream.release(pruned)
        if len(pruned):
            continue
        found = run.deviating(stopped=stopped_by is not None, lower=stream.lower_significance)
        if found is None:
            continue
        if len(found) == 0:
            released = run.settle()
            if released is None:
                break
            stream.restart(released)
            continue
        sent = yield stream.activate_deviating(found)
        run.clock.resume()
        if isinstance(sent, type(options)):
            stream.switch(sent)
    with run.clock.work("scoring"):
        slots, scores = stream.inactive_scores(is_current=stopped_by is None)
    return run.finish(stream.search.edges(slots), scores, stopped_by=stopped_by)


class _Stream:
    """Active set, search and plan of a streaming learner."""

    def __init__(
        self,
        options: Any,
        table: DiscreteTable,
        seed: int,
        plan_of: Callable[[Any, int], StreamPlan],
    ) -> None:
        self.run = GraftingRun(table, options, seed=checked_seed(seed))
        self.plan = plan_of(options, table.n_variables)
        self._plan_of = plan_of
        self.search = ReservoirSearch(
            self.run.counts,
            capacity=self.plan.capacity,
            seed=seed,
            order=BY_SCORE if self.plan.is_screened else self.plan.order,
            full_queue=self.plan.full_queue,
            excluded=NO_PAIRS if self.plan.is_screened else self.run.prior.decided,
        )
        if self.plan.is_screened:
            with self.run.clock.work("scoring"):
                undecided = self.run.prior.undecided(self.run.candidates, table.n_variables)
                self.search.screen(self.run.scorer.scoring, self.run.threshold, undecided)
            self.search.exclude(self.run.prior.decided)
        self._seed = seed
        self.polished = False
        self._smoothed = False  # whether the weights are polished, coarsely at least
        self._round = 0
        self._degrees = np.zeros(table.n_variables, dtype=np.int64)
        self._dropped = np.zeros(0, dtype=np.int64)
        self._hubs = np.zeros(table.n_variables, dtype=np.bool_)
        self._limit = 0
        self._refills_before = 0
        self._notes: list[Remark] = []

    def begin_required(self) -> Step:
        """Activate the required edges and refit."""
        np.add.at(self._degrees, self.run.prior.required.reshape(-1), 1)
        search = self.search
        return self.run.begin_required(
            queue=search.queue_size, frozen=search.frozen_size, unseen=search.unseen_size
        )

    def find(self) -> bool:
        """Test edges until the reservoir has an edge; return False if no edge violates.

        It returns False only at polished weights with every inactive edge tested.
        """
        self.search.begin_step()
        self._refills_before = self.search.refills
        self._notes = []
        self._reorganise()
        while True:
            self._round += 1
            with self.run.clock.work("scoring"):
                ended = self._test()
            if self.search.reservoir_size > 0:
                return True
            if self.polished and ended == EXHAUSTED:
                # The tests of this round belong to no step, so they are counted here.
                self.run.tests += self.search.tests_logged
                return False
            # After screening all pairs are tested after a coarse polish first, which finds nearly
            # all of the edges that are left.
            self.polished = self._smoothed or not self.plan.is_screened
            self._smoothed = True
            self.run.polish(coarse=not self.polished)
            if self.plan.is_screened and self.run.index:
                self._notes = [Remark("notes.refitted", {})]

    def activate(self) -> Search:
        """Choose from the reservoir, activate, refit, and update the reservoir."""
        run, search = self.run, self.search
        with run.clock.work("scoring"):
            choice = search.choose(self.plan.alpha, run.room)
            edges = search.edges(choice.slots)
            activated = scored_edges(edges, search.state.score[choice.slots].tolist())
            skipped = search.edges(choice.skipped)
            search.activate(choice.slots)
        run.refit(edges)
        self.polished = self._smoothed = False
        np.add.at(self._degrees, edges.reshape(-1), 1)
        dropped_before = search.edges(self._dropped)
        with run.clock.work("scoring"):
            self._dropped = search.rescore(run.scorer.scoring, run.threshold)
        tested, replaced = search.log()
        hubs = np.flatnonzero(self._hubs).astype(np.int32)
        freeze(skipped, dropped_before, hubs)
        return Search(
            activated=activated,
            tests=len(tested.scores),
            test_limit=self._limit,
            reservoir=choice.view,
            skipped_adjacent=skipped,
            replaced=replaced,
            dropped=dropped_before,
            queue=search.queue_size,
            frozen=search.frozen_size,
            unseen=search.unseen_size,
            hubs=hubs,
            tested=tested,
            lines=self._lines(tested.verdicts, choice),
            notes=tuple(self._notes),
        )

    def activate_deviating(self, pairs: np.ndarray) -> Step:
        """Activate pairs whose marginals deviate from the data's."""
        np.add.at(self._degrees, pairs.reshape(-1), 1)
        self.search.begin_step()
        self.search.take(pairs)
        self.polished = self._smoothed = False
        return self.run.activate_deviating(pairs)

    def release(self, pairs: np.ndarray) -> None:
        """Return removed edges to the frozen list."""
        if len(pairs) == 0:
            return
        np.add.at(self._degrees, pairs.reshape(-1), -1)
        self.search.release(pairs)
        with self.run.clock.work("scoring"):
            dropped = self.search.rescore(self.run.scorer.scoring, self.run.threshold)
        self._dropped = np.concatenate([self._dropped, dropped])

    def lower_significance(self) -> bool:
        """Lower an automatic κ if many pairs just below it are edges; return whether it was."""
        run, search = self.run, self.search
        if not run.lowers_significance:
            return False
        slots = search.inactive_slots()
        if len(slots) > _PAIRS_SAMPLED:
            slots = np.random.default_rng(self._seed).choice(slots, _PAIRS_SAMPLED, replace=False)
        with run.clock.work("scoring"):
            scores = search.current_scores(run.scorer.scoring, slots)
            lowered = run.lower_significance(search.edges(slots), scores)
        if lowered:
            self.restart(NO_PAIRS)
        return lowered

    def restart(self, released: np.ndarray) -> None:
        """Test all pairs again at other weights, after edges were removed."""
        self.search.invalidate_scores()
        self.release(released)
        self.polished = self._smoothed = False

    def inactive_scores(self, *, is_current: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return slots and scores (or bounds) of all tested edges at the current weights.

        Parameters
        ----------
        is_current : bool
            Whether the last round of tests was made at these weights, so its scores hold.
        """
        return self.search.inactive_scores(self.run.scorer.scoring, is_current=is_current)

    def switch(self, options: Any) -> None:
        """Continue with other options."""
        before = self.run.settings
        self.run.switch(options)
        self.plan = self._plan_of(options, self.run.counts.n_variables)
        self.search.resize(self.plan.capacity)
        if self.run.settings != before:
            self.search.invalidate_scores()
        with self.run.clock.work("scoring"):
            dropped = self.search.rescore(self.run.scorer.scoring, self.run.threshold)
        self._dropped = np.concatenate([self._dropped, dropped])

    def _reorganise(self) -> None:
        """Move the edges of hubs up the queue (alg. 2)."""
        self._hubs = np.zeros(len(self._degrees), dtype=np.bool_)
        if self.plan.hubs and self.run.n_edges > 0:
            self._hubs = hub_mask(self._degrees, self.plan.hub_centrality)
            with self.run.clock.work("scoring"):
                self.search.boost(self._hubs, threshold=self.run.threshold)

    def _test(self) -> int:
        """Make this step's tests; continue to the first violating edge if R is still empty."""
        search, plan = self.search, self.plan
        first = self._round == 1
        self._limit = plan.first_limit if first else plan.limit
        ended = search.test(
            self.run.scorer.scoring,
            self.run.threshold,
            round_number=self._round,
            limit=self._limit,
            until=plan.capacity if first else None,
            promising=plan.is_screened and not first,
        )
        if ended == REACHED and first and plan.tests_after_filling:
            self._limit = search.tests_logged + plan.limit
            ended = search.test(
                self.run.scorer.scoring,
                self.run.threshold,
                round_number=self._round,
                limit=plan.limit,
            )
        elif first and ended != REACHED and search.reservoir_size:
            filled = {"size": search.reservoir_size, "places": plan.capacity}
            self._notes.append(Remark("notes.filling", {"tests": search.tests_logged, **filled}))
        # A polish moves the weights so far that all pairs have to be tested again: where they are
        # many, it comes first.
        are_few = self.run.inactive <= _FEW * self.run.n_edges
        is_time = self._smoothed or first or are_few or not plan.is_screened
        if search.reservoir_size == 0 and ended != EXHAUSTED and is_time:
            ended = search.test(
                self.run.scorer.scoring,
                self.run.threshold,
                round_number=self._round,
                limit=None,
                until=plan.capacity if plan.is_screened else 1,
            )
            if search.reservoir_size and plan.limit > 1 and not plan.is_screened:
                tests = {"limit": self._limit, "tests": search.tests_logged}
                self._notes.append(Remark("notes.first_hit", tests))
        return ended

    def _lines(self, verdicts: np.ndarray, choice: Choice) -> tuple[str, ...]:
        """Return the keys of the pseudo-code lines that ran."""
        keys = {line.key for line in self.run.options.code_lines}
        ran = {
            "reorganise": bool(self._hubs.any()),
            "fill": self._round == 1,
            "loop": self._round > 1 or "fill" not in keys,
            "refill": self.search.refills > self._refills_before,
            "extract": len(verdicts) > 0,
            "count": len(verdicts) > 0,
            "score": len(verdicts) > 0,
            "admit": bool((verdicts == ADMITTED).any()),
            "replace": bool((verdicts == DISPLACED_MINIMUM).any()),
            "freeze": bool(((verdicts == PASSED) | (verdicts == TOO_WEAK)).any()),
            "threshold": True,
            "activate": len(choice.slots) > 0,
            "refit": True,
            "update": True,
        }
        return tuple(key for key, happened in ran.items() if happened and key in keys)
