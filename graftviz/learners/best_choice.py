"""Best-choice edge grafting: a stream of edge tests, a reservoir, several edges a step."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from graftviz.costs import CostPart, TableSize
from graftviz.counts import PairCounts
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
from graftviz.learners.grafting_options import GraftingOptions, Preset
from graftviz.learners.screening import NONE
from graftviz.learners.streaming import StreamPlan, stream_steps
from graftviz.options import option
from graftviz.scores.registry import all_scores
from graftviz.search.state import BY_OFFSET
from graftviz.table import DiscreteTable
from graftviz.trace import Outcome, Step

_LAST_ROUNDS = 8  # rounds of tests of all pairs at the end of a run with pruning
_CANDIDATE_ROUNDS = 6.0  # the same of candidates
_HUBS = 35e-9  # seconds per stored pair in a step with the hub rule
_RESERVOIR_EDGE = 0.5e-6  # seconds per edge of the reservoir in a step


class _Preset(NamedTuple):
    """Values of a preset for options left automatic, computed from n."""

    t_max: int
    max_edges: int | None
    hubs_once: bool = False
    hubs_after: int = 0
    full_queue: bool = False
    fills: bool = False
    tests_after_filling: bool = False


def _preset(name: str, n: int, *, screening: bool = False) -> _Preset:
    if name == "paper":
        return _Preset(math.ceil(n / 4), 3 * n)
    if name == "literal":
        return _Preset(math.ceil(n / 4), 3 * n, fills=True, tests_after_filling=True)
    if name == "thesis":
        return _Preset(math.ceil(n / 4), 3 * n, full_queue=True, fills=True)
    if name == "authors":
        return _Preset(max(1, math.isqrt(n)), 3 * n, hubs_once=True, hubs_after=15)
    return _Preset(2 * n if screening else math.ceil(n / 2), None)


@dataclass(frozen=True)
class BestChoice(GraftingOptions):
    """Best-choice edge grafting.

    Edges are tested in a stream, and the pair table of an edge is counted at its first test.
    Violating edges are stored in a reservoir of limited size. After t_max tests the best edges of
    the reservoir are activated: those in the interval I_α between τ_α and the maximum that share no
    node. Use it where counting and scoring all pairs is too slow.

    Source: BC algorithms 2–4 (in the thesis: online edge grafting, algorithms 7–9).

    Examples
    --------
    >>> learner = gv.BestChoice(alpha=0.5, max_edges=5)
    >>> [len(step.activated) for step in learner.steps(survey, seed=0)]
    [2, 3]
    """

    screens: ClassVar[bool] = True
    name: ClassVar[str] = "best-choice"
    title: ClassVar[str] = "Best-choice edge grafting"
    idea: ClassVar[str] = (
        "Tests edges in a stream, keeps violating ones in a reservoir, and activates the best of "
        "the reservoir in each step. Nearly edge grafting's choices for a fraction of its tests."
    )
    source: ClassVar[str] = "Best-choice edge grafting, algorithms 2–4"
    sentences: ClassVar[str] = "reservoir"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("reorganise", 0, "hubs H = {i : degree/(n−1) > ĉ}: move their edges up"),
        CodeLine("fill", 0, "first step: test until R is full (or the cap is reached)"),
        CodeLine("loop", 0, "repeat until t_max tests are made"),
        CodeLine("refill", 1, "if the queue is empty: refill it from the frozen list L"),
        CodeLine("extract", 1, "e = first edge of the queue, or a random unseen one"),
        CodeLine("count", 1, "count its pair table if it is new"),
        CodeLine("score", 1, "s = score of e"),
        CodeLine("admit", 1, "if s > λ and R has room: e → R"),
        CodeLine("replace", 1, "else if s > λ and s > min R: e for min R, which goes to L"),
        CodeLine("freeze", 1, "else e → L with offset v = 1 − s/λ"),
        CodeLine("threshold", 0, "τ = (1−α) · mean of R + α · max of R"),
        CodeLine("activate", 0, "activate e ∈ R with s ≥ τ, best first, none adjacent to another"),
        CodeLine("refit", 0, "re-optimise all active weights"),
        CodeLine("update", 0, "update the scores in R; what is no longer above λ goes to L"),
    )

    alpha: float = option(
        0.95,
        "α: how selective a step is; 1 takes only the best edge, 0 all above the mean of the "
        "reservoir",
        label="α",
        minimum=0.0,
        maximum=1.0,
    )
    reservoir: int | None = option(
        None,
        "|R|: capacity of the reservoir of violating edges",
        label="Reservoir size |R|",
        minimum=1,
        maximum=1_000_000,
        none_means="n, one place per variable",
    )
    t_max: int | None = option(
        None,
        "edge tests between two activation steps",
        label="Tests per step",
        minimum=1,
        maximum=100_000_000,
        none_means="2n with screening, else n/2; paper, literal and thesis n/4, authors √n",
    )
    hubs: bool | None = option(
        None,
        "test pairs with a hub first; finds more true edges where λ is so small that the reservoir "
        "is full, most of all up to α = 0.5",
        label="Hub rule",
        none_means="by preset: no in best, yes in paper",
    )
    hub_threshold: float | None = option(
        None,
        "ĉ: degree centrality above which a node counts as a hub",
        label="Hub threshold ĉ",
        minimum=0.0,
        maximum=1.0,
        none_means="the mean centrality",
    )
    first_tests: int | None = option(
        None,
        "cap on the tests that fill the reservoir for the first time",
        label="First tests",
        minimum=1,
        maximum=100_000_000,
        none_means="2 |R|; in presets literal and thesis until R is full; with screening all "
        "pairs, which costs little before there are edges",
        advanced=True,
    )
    full_queue: bool | None = option(
        None,
        "start with all pairs stored in the queue (the paper's appendix B), to measure its cost",
        label="Full queue",
        none_means="no; yes in preset thesis",
        advanced=True,
    )
    preset: Preset = option(
        "best",
        "fills in options left on automatic. best: the pseudo-likelihood and κ, then pruning; "
        "literal: to the letter of the paper, n/4 tests, 3n edges; paper: as literal, but the "
        "first filling stops after 2 |R| tests, the first step makes no further tests, and node "
        "weights are not penalised; thesis: online edge grafting, as paper but with all pairs in "
        "the queue from the start and a first filling that continues until R is full; authors: as "
        "in the authors' code, √n tests, 3n edges, hubs moved up once",
        label="Preset",
    )

    @property
    def _has_hub_rule(self) -> bool:
        return self.preset != "best" if self.hubs is None else self.hubs

    @property
    def code_lines(self) -> tuple[CodeLine, ...]:
        """Lines of the pseudo-code that these options can run."""
        lines = self.pseudocode
        return tuple(line for line in lines if self._has_hub_rule or line.key != "reorganise")

    def edge_budget(self, n: int) -> int:
        """Return the edge budget; a preset's budget is capped at the number of pairs."""
        preset = _preset(self.preset, n).max_edges
        if self.max_edges is None and preset is not None:
            return min(preset, n * (n - 1) // 2)
        return super().edge_budget(n)

    def plan(self, n: int) -> StreamPlan:
        """Return the plan for n variables, with automatic options resolved."""
        screening = self.screening_of(n)
        is_screened = screening != NONE
        preset = _preset(self.preset, n, screening=is_screened)
        possible = n * (n - 1) // 2
        capacity = min(self.reservoir or n, possible)
        uncapped = is_screened or preset.fills
        by_preset = preset.full_queue and not is_screened
        return StreamPlan(
            capacity=capacity,
            first_limit=self.first_tests or (possible if uncapped else 2 * capacity),
            limit=self.t_max or preset.t_max,
            alpha=self.alpha,
            hubs=self._has_hub_rule,
            hub_centrality=self.hub_threshold,
            hubs_once=preset.hubs_once,
            hubs_after=preset.hubs_after,
            order=BY_OFFSET,
            full_queue=by_preset if self.full_queue is None else self.full_queue,
            screening=screening,
            tests_after_filling=preset.tests_after_filling,
        )

    def automatic(self, counts: PairCounts, *, has_rows: bool = True) -> dict[str, Any]:
        """Return the values that rules and the preset give to options, by name."""
        plan = self.plan(counts.n_variables)
        return {
            **super().automatic(counts, has_rows=has_rows),
            "reservoir": plan.capacity,
            "t_max": plan.limit,
            "first_tests": plan.first_limit,
            "full_queue": plan.full_queue,
            "hubs": plan.hubs,
        }

    def screening_of(self, n: int) -> str:
        """Return the screening of n variables; a full queue needs none."""
        return NONE if self.full_queue else super().screening_of(n)

    def cost(self, size: TableSize, cache_bytes: int, notes: list[str]) -> list[CostPart]:
        """Return the parts of the memory and time of a run."""
        budget = self.edge_budget(size.n)
        edges, chosen = assumed_edges(size, budget, notes), methods_for(self, size, notes)
        plan = self.plan(size.n)
        per_step = 14 if plan.screening == NONE else 30
        others = per_step * max(size.n / 200, 1.0) ** 0.8  # that a step activates with α = 0
        steps = math.ceil(edges / (1 + others * (1 - plan.alpha)))
        tests = min(plan.first_limit, plan.capacity * 1.5) + steps * plan.limit
        counted = min(size.possible, tests)
        possible, screening = candidates_of(size, plan.screening)
        if screening:
            counted, tests = possible, _CANDIDATE_ROUNDS * possible
        elif budget >= size.possible or plan.full_queue:
            # Near the end all pairs are tested repeatedly for a violating one.
            rounds = _LAST_ROUNDS if chosen.refit else 1
            counted, tests = size.possible, max(tests, rounds * size.possible)
        elif counted < size.possible:
            notes.append("If few pairs violate, more pairs are tested, up to all of them.")
        held = steps * plan.capacity
        hubs = _HUBS * counted / 2 * steps if plan.hubs else 0.0
        per_test = TEST + all_scores()[chosen.score].seconds(size, edges)
        return [
            *screening,
            pair_counts(size, counted, SLOT, cache_bytes),
            CostPart("record of the steps", 16 * held + LOGGED_TEST * tests, 0.0),
            CostPart("search", 0.0, tests * per_test + hubs + held * _RESERVOIR_EDGE),
            *fits(size, chosen, edges, steps),
        ]

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; `seed` sets the order of edges with equal priority."""
        return stream_steps(self, table, seed, BestChoice.plan)
