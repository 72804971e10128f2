"""Counted work for growing n, compared with the stated complexities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.experiments.reproduction.curves import WHY_LAM, look_of
from graftviz.experiments.reproduction.experiment import (
    Cells,
    Claim,
    NotMeasured,
    Results,
    Study,
    Verdict,
)
from graftviz.experiments.reproduction.runs import (
    EDGE_GRAFTING,
    LAM,
    LAM2,
    Curve,
    LearnerPart,
    Method,
    Panel,
    curves,
    parts_of,
    summaries,
)
from graftviz.experiments.reproduction.verdicts import verdict
from graftviz.figures.reproduction import Growth, growth_figure

TABLES_AT_START, TABLES_AT_END = "pair tables before the first edge", "pair tables at the last edge"
SCORES = "edges scored in one step"
_KINDS = (TABLES_AT_START, TABLES_AT_END, SCORES)
_POWER = 0.25  # tolerance on powers of n


class Counted(NamedTuple):
    """Counted work of one run.

    Attributes
    ----------
    n, steps : int
    limit : int or None
        t_max.
    counts : dict
        By kind: pair tables at the first and at the last edge, mean tests of later steps.
    longest : int
        Largest number of tests of a later step.
    """

    n: int
    steps: int
    limit: int | None
    counts: dict[str, float]
    longest: int


@dataclass(frozen=True)
class Counts(Study):
    """Methods that add one edge per step, on data of growing n with a fixed number of edges.

    Attributes
    ----------
    shown : dict
        Panels by scale.
    methods : tuple of Method
    """

    shown: Mapping[str, tuple[Panel, ...]]
    methods: tuple[Method, ...]

    def parts(self, scale: str, seed: int) -> Sequence[LearnerPart]:
        """Return one part for every panel and method."""
        return list(parts_of(self.shown[scale], self.methods, seed, repeats=1, held_out=False))

    def needs(self) -> tuple[str, ...]:
        """Return nothing: all data are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return λ, λ₂ and the counted quantities."""
        return {
            "lam": LAM,
            "lam2": LAM2,
            "why": WHY_LAM,
            "t_max": "n / 4",
            "counted": "pair tables (each costs O(N s²)) and edges scored (each costs O(s²))",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw every kind of work against n."""
        return growth_figure(title, {kind: _growths(results, kind) for kind in _KINDS})

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every run."""
        yield ("method", "n", "steps", "t_max", *_KINDS, "most edges scored in one step")
        for method, found in _by_method(results).items():
            for run in found:
                counts = (run.counts[kind] for kind in _KINDS)
                yield (method.name, run.n, run.steps, run.limit, *counts, run.longest)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the ends of all runs, and the powers of n."""
        powers = [
            {"method": growth.name, "counted": kind, "power_of_n": growth.power}
            for kind in _KINDS
            for growth in _growths(results, kind)
        ]
        return [*powers, *summaries(results)]


def _counted(curve: Curve) -> Counted:
    """Return the counted work of a run, of which every step was recorded."""
    points, n = curve.points, curve.part.panel.size.nodes
    active = [k for k, edges in enumerate(points["edges"]) if edges > 0]
    tests = np.diff([points["tests"][k] for k in active])
    counts = {
        TABLES_AT_START: float(points["tables"][active[0]]),
        TABLES_AT_END: float(points["tables"][active[-1]]),
        SCORES: float(tests.mean()) if len(tests) else float(points["tests"][active[0]]),
    }
    limit = None if curve.alpha is None else math.ceil(n / 4)
    longest = int(tests.max()) if len(tests) else int(counts[SCORES])
    return Counted(n, int(curve.end["steps"]), limit, counts, longest)


def _by_method(results: Results) -> dict[Method, list[Counted]]:
    found: dict[Method, list[Counted]] = {}
    for curve in curves(results):
        if curve.end["edges"]:
            found.setdefault(curve.part.method, []).append(_counted(curve))
    return {method: sorted(runs, key=lambda run: run.n) for method, runs in found.items()}


def _growths(results: Results, kind: str) -> list[Growth]:
    growths = []
    for method, runs in _by_method(results).items():
        sizes, counts = [run.n for run in runs], [run.counts[kind] for run in runs]
        growths.append(Growth(method.name, sizes, counts, _power(sizes, counts), look_of(method)))
    return growths


def _power(sizes: Sequence[int], counts: Sequence[float]) -> float | None:
    """Return the best-fitting power of n, or None for a single size."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])


def _two(results: Results, kind: str) -> tuple[float, float]:
    """Return the powers of n of edge grafting and of best-choice."""
    powers = {growth.name: growth.power for growth in _growths(results, kind)}
    whole = powers.pop(EDGE_GRAFTING, None)
    ours = next(iter(powers.values()), None)
    if whole is None or ours is None:
        raise NotMeasured("A power of n needs both methods at two sizes.")
    return whole, ours


def _tables_before_learning(results: Results) -> Verdict:
    whole, ours = _two(results, TABLES_AT_START)
    return verdict(
        [abs(whole - 2.0) <= _POWER, ours <= 1.0 + _POWER],
        f"Before the first edge edge grafting counts tables as n^{whole:.2f}, best-choice as "
        f"n^{ours:.2f} (its first filling tests at most 2 |R| = 2n edges).",
        edge_grafting=whole,
        best_choice=ours,
    )


def _tables_later(results: Results) -> Verdict:
    met, most = [], 0.0
    for method, runs in _by_method(results).items():
        if method.alpha is None:
            continue
        for run in runs:
            bound = run.counts[TABLES_AT_START] + (run.steps - 1) * (run.limit or 0)
            most = max(most, run.counts[TABLES_AT_END] / bound)
            met.append(run.counts[TABLES_AT_END] <= bound)
    return verdict(
        met,
        f"At the last edge best-choice has counted at most {most:.0%} of the stated r + j t_max "
        "tables, where r are those of the first filling.",
        largest_share_of_bound=most,
    )


def _scores_of_a_step(results: Results) -> Verdict:
    whole, ours = _two(results, SCORES)
    longest = [
        run.longest / run.limit
        for runs in _by_method(results).values()
        for run in runs
        if run.limit is not None
    ]
    return verdict(
        [abs(whole - 2.0) <= _POWER, ours <= 1.0 + _POWER, max(longest) <= 1.0],
        f"In one step edge grafting compares n^{whole:.2f} scores, best-choice makes n^{ours:.2f} "
        f"tests (t_max = n / 4), {'never' if max(longest) <= 1 else 'at times'} more than t_max.",
        edge_grafting=whole,
        best_choice=ours,
        longest_step_to_t_max=max(longest),
    )


CLAIMS = (
    Claim(
        "Edge grafting has to count the tables of all pairs, O(n² N s²), before its first edge; "
        "best-choice only those of its first filling, O(n N s²).",
        _tables_before_learning,
    ),
    Claim(
        "By the j-th edge best-choice has counted at most (r + j t_max) tables, r being those that "
        "fill the reservoir.",
        _tables_later,
    ),
    Claim(
        "Deciding which edge comes next costs edge grafting O(n² s²), best-choice O(t_max s²).",
        _scores_of_a_step,
    ),
)
