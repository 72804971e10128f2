"""Judgement of the papers' claims about speed and convergence.

Each function returns a judge for a :class:`~graftviz.experiments.reproduction.experiment.Claim`. A
claim held if it was met in all cases, and held in part if it was met in some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graftviz.experiments.reproduction.experiment import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.runs import (
    EDGE_GRAFTING,
    FIRST_HIT,
    Curve,
    Panel,
    by_alpha,
    curve_of,
    curves,
    panels,
)

Judge = Callable[[Results], Verdict]
_SAME_OBJECTIVE = 1e-3


def verdict(met: Iterable[bool], sentence: str, **numbers: Any) -> Verdict:
    """Return the verdict on a claim from its outcome in each case.

    Raises
    ------
    NotMeasured
        If there is no case.
    """
    cases = list(met)
    if not cases:
        raise NotMeasured("No required measurement is available.")
    return Verdict(all(cases) or ("partly" if any(cases) else False), sentence, numbers)


def faster_than_edge_grafting() -> Judge:
    """Judge that best-choice is faster than edge grafting at every α."""

    def judge(results: Results) -> Verdict:
        times = {panel: _speedups(results, panel, "seconds") for panel in shown_panels(results)}
        phrases = []
        for panel, ratios in times.items():
            slow = [f"{alpha:g}" for alpha, ratio in ratios.items() if ratio <= 1.0]
            excepted = f", best-choice not being faster at α = {', '.join(slow)}" if slow else ""
            took = f"edge grafting takes {span(ratios.values())} times as long"
            phrases.append(f"{panel.title}: {took}{excepted}")
        return verdict(
            [ratio > 1.0 for ratios in times.values() for ratio in ratios.values()],
            "; ".join(phrases) + ".",
            time_ratios=_by_panel(times),
        )

    return judge


def fewer_operations() -> Judge:
    """Judge that best-choice tests fewer edges and counts fewer pair tables at every α."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            tests, tables = (
                _speedups(results, panel, quantity) for quantity in ("tests", "tables")
            )
            met += [ratio > 1.0 for ratio in (*tests.values(), *tables.values())]
            phrases.append(
                f"{panel.title}: edge grafting scores {span(tests.values())} times as many edges "
                f"and counts {span(tables.values())} times as many tables"
            )
            numbers[panel.title] = {"tests": keyed(tests), "tables": keyed(tables)}
        return verdict(met, "; ".join(phrases) + ".", panels=numbers)

    return judge


def gap_grows() -> Judge:
    """Judge that the advantage over edge grafting grows from panel to panel."""

    def judge(results: Results) -> Verdict:
        shown = shown_panels(results)
        if len(shown) < 2:
            raise NotMeasured("One size alone cannot show how the advantage grows.")
        found = {
            quantity: [_mean_ratio(_speedups(results, panel, quantity)) for panel in shown]
            for quantity in ("seconds", "tests")
        }
        grows = [after > before for before, after in pairwise(found["seconds"])]
        listing = ", ".join(
            f"{time:.2f} ({tests:,.0f}) at {panel.title}"
            for panel, time, tests in zip(shown, *found.values(), strict=True)
        )
        return verdict(
            grows,
            f"Mean ratio of edge grafting's time (and tests) to best-choice's: {listing}.",
            mean_time_ratio=found["seconds"],
            mean_test_ratio=found["tests"],
        )

    return judge


def many_times_as_long(times: float, nodes: int) -> Judge:
    """Judge that edge grafting takes about `times` as long with `nodes` variables."""

    def judge(results: Results) -> Verdict:
        panel = next((panel for panel in shown_panels(results) if panel.size.nodes == nodes), None)
        if panel is None:
            raise NotMeasured(f"{nodes} variables were not measured; --scale paper has them.")
        ratios = _speedups(results, panel, "seconds")
        middle = float(np.median(list(ratios.values())))
        return verdict(
            [middle > 1.5, middle >= 0.8 * times],
            f"At {panel.title} edge grafting takes {middle:.1f} times as long in the median over "
            f"α (from {span(ratios.values())}).",
            time_ratios=keyed(ratios),
        )

    return judge


def same_objective() -> Judge:
    """Judge that all methods reach the same objective at full convergence."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            ends = {
                curve.part.method.name: float(curve.end["objective"])
                for curve in curves(results)
                if curve.part.panel == panel
            }
            if len(ends) < 2:
                continue
            gap = max(ends.values()) / min(ends.values()) - 1.0
            open_ends = [
                curve.part.method.name
                for curve in curves(results)
                if curve.part.panel == panel and not curve.end["converged"]
            ]
            met.append(gap <= _SAME_OBJECTIVE)
            phrases.append(
                f"{panel.title}: the objectives differ by {gap:.2g} of their value"
                + (f"; not proved to have converged: {', '.join(open_ends)}" if open_ends else "")
            )
            numbers[panel.title] = {"objectives": ends, "relative_gap": gap}
        return verdict(met, "; ".join(phrases) + ".", panels=numbers)

    return judge


def first_hit_converges_last() -> Judge:
    """Judge that first hit takes longest to full convergence."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            first = curve_of(results, panel, FIRST_HIT)
            others = [curve_of(results, panel, EDGE_GRAFTING), *by_alpha(results, panel)]
            ratios = {
                other.part.method.name: first.end["seconds"] / other.end["seconds"]
                for other in others
            }
            met += [ratio > 1.0 for ratio in ratios.values()]
            phrases.append(
                f"{panel.title}: first hit takes {span(ratios.values())} times as long as others"
            )
            numbers[panel.title] = ratios
        return verdict(met, "; ".join(phrases) + ".", time_ratios=numbers)

    return judge


def edge_grafting_starts_late(share: float = 0.9) -> Judge:
    """Judge that best-choice has nearly converged before the first edge of edge grafting."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            points = curve_of(results, panel, EDGE_GRAFTING).points
            start = next(
                seconds
                for seconds, edges in zip(points["seconds"], points["edges"], strict=True)
                if edges > 0
            )
            done = {
                curve.alpha or 0.0: _descended(curve, start) for curve in by_alpha(results, panel)
            }
            met.append(max(done.values()) >= share)
            counted = curve_of(results, panel, EDGE_GRAFTING).end["tables_possible"]
            phrases.append(
                f"{panel.title}: when edge grafting has counted its {counted:,} tables and takes "
                f"its first edge, best-choice has done {span(done.values(), '.0%')} of its descent"
            )
            numbers[panel.title] = keyed(done)
        sentence = "; ".join(phrases) + "."
        if not all(met):
            sentence += " Counting is no longer what makes edge grafting slow."
        return verdict(met, sentence, share_of_descent=numbers)

    return judge


def shown_panels(results: Results) -> list[Panel]:
    """Return the measured panels.

    Raises
    ------
    NotMeasured
        If there is none.
    """
    found = panels(results)
    if not found:
        raise NotMeasured("Nothing was measured.")
    return found


def _speedups(results: Results, panel: Panel, quantity: str) -> dict[float, float]:
    """Return the ratio of edge grafting to best-choice in a quantity, by α."""
    whole = float(curve_of(results, panel, EDGE_GRAFTING).end[quantity])
    return {
        curve.alpha or 0.0: whole / max(float(curve.end[quantity]), 1e-9)
        for curve in by_alpha(results, panel)
    }


def _descended(curve: Curve, seconds: float) -> float:
    """Return the share of its descent that a run has done after some seconds."""
    objective = curve.points["objective"]
    reached = [
        value for at, value in zip(curve.points["seconds"], objective, strict=True) if at <= seconds
    ]
    whole = objective[0] - objective[-1]
    return float((objective[0] - reached[-1]) / whole) if whole > 0 else 1.0


def _mean_ratio(ratios: dict[float, float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))


def span(values: Iterable[float], form: str = "") -> str:
    """Return the range of values as text, with large values rounded to integers."""
    found = list(values)
    ends = (f"{end:{form or (',.0f' if end >= 10 else '.2g')}}" for end in (min(found), max(found)))
    return " to ".join(ends)


def listed(values: Sequence[float]) -> str:
    """Return values as comma-separated text."""
    return ", ".join(f"{value:.4g}" for value in values)


def keyed(values: dict[float, float]) -> dict[str, float]:
    """Return values with α formatted as text, for JSON."""
    return {f"{alpha:g}": value for alpha, value in values.items()}


def _by_panel(values: dict[Panel, dict[float, float]]) -> dict[str, dict[str, float]]:
    return {panel.title: keyed(ratios) for panel, ratios in values.items()}
