"""Best-choice edge grafting: a stream of edge tests, a reservoir, several edges a step."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.grafting_options import GraftingOptions, Preset
from graftviz.learning.grafting.queue import BY_OFFSET
from graftviz.learning.grafting.screening import NONE
from graftviz.learning.grafting.streaming import StreamPlan, stream_steps
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.options import CodeLine, option


class _Preset(NamedTuple):
    """Values of a preset for options left automatic, computed from n."""

    t_max: int
    max_edges: int | None
    fills: bool = False
    tests_after_filling: bool = False


def _preset(name: str, n: int, *, screening: bool = False) -> _Preset:
    if name == "paper":
        return _Preset(math.ceil(n / 4), 3 * n)
    if name == "literal":
        return _Preset(math.ceil(n / 4), 3 * n, fills=True, tests_after_filling=True)
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
        none_means="2n with screening, else n/2; paper and literal n/4",
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
        none_means="2 |R|; in preset literal until R is full; with screening all pairs, "
        "which costs little before there are edges",
        advanced=True,
    )
    full_queue: bool = option(
        False,
        "start with all pairs stored in the queue (the paper's appendix B), to measure its cost",
        label="Full queue",
        advanced=True,
    )
    preset: Preset = option(
        "best",
        "fills in options left on automatic. best: the pseudo-likelihood and κ, then pruning; "
        "literal: to the letter of the paper, n/4 tests, 3n edges; paper: as literal, but the "
        "first filling stops after 2 |R| tests, the first step makes no further tests, and node "
        "weights are not penalised",
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
        return StreamPlan(
            capacity=capacity,
            first_limit=self.first_tests or (possible if uncapped else 2 * capacity),
            limit=self.t_max or preset.t_max,
            alpha=self.alpha,
            hubs=self._has_hub_rule,
            hub_centrality=self.hub_threshold,
            order=BY_OFFSET,
            full_queue=self.full_queue,
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
            "hubs": plan.hubs,
        }

    def screening_of(self, n: int) -> str:
        """Return the screening of n variables; a full queue needs none."""
        return NONE if self.full_queue else super().screening_of(n)

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; `seed` sets the order of edges with equal priority."""
        return stream_steps(self, table, seed, BestChoice.plan)
