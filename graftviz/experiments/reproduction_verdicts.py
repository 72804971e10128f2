"""What the papers say about learning curves, judged by what was measured.

Each function returns a judge for a :class:`graftviz.experiments.reproduction.Claim`. A statement
held when it was met in every case, and held in part when it was met in some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from graftviz.experiments.reproduction import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction_runs import (
    ALPHAS,
    EDGE_GRAFTING,
    FIRST_HIT,
    WITHOUT_HUBS,
    Curve,
    Panel,
    by_alpha,
    curves,
    named,
    panels,
)

Judge = Callable[[Results], Verdict]
_NAMES = {"objective": "objective", "nlpl": "held-out NLPL", "recall": "recall"}
_SLACK = {"objective": 0.002, "nlpl": 0.005, "recall": 0.01}  # differences that are none
_SAME_OBJECTIVE = 1e-3
_STRONG = 0.9  # rank correlation
_OVERFITTED = 0.01
_HUB_GAIN = 0.01


def verdict(met: Iterable[bool], sentence: str, **numbers: Any) -> Verdict:
    """Return a verdict from whether the statement was met in each case.

    Raises
    ------
    NotMeasured
        When there is no case.
    """
    cases = list(met)
    if not cases:
        raise NotMeasured("Nothing that this is about was measured.")
    return Verdict(all(cases) or ("partly" if any(cases) else False), sentence, numbers)


def faster_than_edge_grafting() -> Judge:
    """Judge that best-choice is done sooner than edge grafting, at every α."""

    def judge(results: Results) -> Verdict:
        times = {panel: _speedups(results, panel, "seconds") for panel in _panels(results)}
        told = []
        for panel, ratios in times.items():
            slow = [f"{alpha:g}" for alpha, ratio in ratios.items() if ratio <= 1.0]
            excepted = f", best-choice not being faster at α = {', '.join(slow)}" if slow else ""
            took = f"edge grafting takes {_span(ratios.values())} times as long"
            told.append(f"{panel.title}: {took}{excepted}")
        return verdict(
            [ratio > 1.0 for ratios in times.values() for ratio in ratios.values()],
            "; ".join(told) + ".",
            time_ratios=_by_panel(times),
        )

    return judge


def fewer_operations() -> Judge:
    """Judge that best-choice tests fewer edges and counts fewer pair tables, at every α."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            tests, tables = (
                _speedups(results, panel, quantity) for quantity in ("tests", "tables")
            )
            met += [ratio > 1.0 for ratio in (*tests.values(), *tables.values())]
            told.append(
                f"{panel.title}: edge grafting scores {_span(tests.values())} times as many edges "
                f"and counts {_span(tables.values())} times as many tables"
            )
            numbers[panel.title] = {"tests": _keyed(tests), "tables": _keyed(tables)}
        return verdict(met, "; ".join(told) + ".", panels=numbers)

    return judge


def gap_grows() -> Judge:
    """Judge that the advantage over edge grafting grows from panel to panel."""

    def judge(results: Results) -> Verdict:
        shown = _panels(results)
        if len(shown) < 2:
            raise NotMeasured("One size alone cannot show how the advantage grows.")
        found = {
            quantity: [_mean_ratio(_speedups(results, panel, quantity)) for panel in shown]
            for quantity in ("seconds", "tests")
        }
        grows = [after > before for before, after in pairwise(found["seconds"])]
        told = ", ".join(
            f"{time:.2f} ({tests:.1f}) at {panel.title}"
            for panel, time, tests in zip(shown, *found.values(), strict=True)
        )
        return verdict(
            grows,
            f"Mean ratio of edge grafting's time (and tests) to best-choice's: {told}.",
            mean_time_ratio=found["seconds"],
            mean_test_ratio=found["tests"],
        )

    return judge


def many_times_as_long(times: float, nodes: int) -> Judge:
    """Judge that edge grafting takes about so many times as long with so many variables."""

    def judge(results: Results) -> Verdict:
        panel = next((panel for panel in _panels(results) if panel.size.nodes == nodes), None)
        if panel is None:
            raise NotMeasured(f"{nodes} variables were not measured; --scale paper has them.")
        ratios = _speedups(results, panel, "seconds")
        middle = float(np.median(list(ratios.values())))
        return verdict(
            [middle > 1.5, middle >= 0.8 * times],
            f"At {panel.title} edge grafting takes {middle:.1f} times as long in the median over "
            f"α (from {_span(ratios.values())}).",
            time_ratios=_keyed(ratios),
        )

    return judge


def better_with_alpha(quantity: str) -> Judge:
    """Judge that a larger α ends with a better value of `quantity`, and takes longer."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            found = by_alpha(results, panel)
            values = [float(curve.end[quantity]) for curve in found]
            seconds = [float(curve.end["seconds"]) for curve in found]
            better = _rises(values, quantity)
            longer = seconds[-1] > seconds[0]
            met += [better, longer]
            told.append(
                f"{panel.title}: {_NAMES[quantity]} {_listed(values)} for α = "
                f"{_listed([curve.alpha or 0.0 for curve in found])}, "
                f"{'' if better else 'not '}better with every α, and the largest α takes "
                f"{seconds[-1] / seconds[0]:.1f} times as long as the smallest"
            )
            numbers[panel.title] = {
                quantity: values,
                "seconds_to_those_of_the_smallest_alpha": [s / seconds[0] for s in seconds],
                "tests": [curve.end["tests"] for curve in found],
            }
        return verdict(met, "; ".join(told) + ".", panels=numbers)

    return judge


def quick_but_poor(quantity: str) -> Judge:
    """Judge that first hit reaches its edges soonest, with the poorest value of `quantity`."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            first, whole = named(results, panel, FIRST_HIT), named(results, panel, EDGE_GRAFTING)
            others = [whole, *by_alpha(results, panel)]
            sign = -1.0 if quantity == "recall" else 1.0
            value = float(first.end[quantity])
            rank = sum(sign * float(other.end[quantity]) > sign * value for other in others)
            quick = sum(other.end["seconds"] < first.end["seconds"] for other in others)
            met += [rank == 0, quick == 0]
            poorer = "the poorest" if rank == 0 else f"better than {rank} of {len(others)} others"
            told.append(
                f"{panel.title}: its {_NAMES[quantity]} of {value:.4g} is {poorer}; "
                f"{quick} of {len(others)} others are sooner there"
            )
            numbers[panel.title] = {
                quantity: value,
                "others": {other.part.method.name: other.end[quantity] for other in others},
                "seconds_to_edge_grafting": first.end["seconds"] / whole.end["seconds"],
                "tests": first.end["tests"],
            }
        sentence = "First hit with " + "; ".join(told) + "."
        return verdict(
            met, f"{sentence} It fits the weights after every single edge.", panels=numbers
        )

    return judge


def small_loss_by_alpha() -> Judge:
    """Judge that α matters less for the objective than for recall."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            whole, found = named(results, panel, EDGE_GRAFTING), by_alpha(results, panel)
            descent = float(whole.points["objective"][0] - whole.end["objective"])
            ends = [float(curve.end["objective"]) for curve in found]
            loss = (max(ends) - min(ends)) / descent
            recalls = [float(curve.end["recall"]) for curve in found]
            missed = (max(recalls) - min(recalls)) / max(*recalls, 1e-12)
            met.append(loss < missed)
            told.append(
                f"{panel.title}: between the best and the worst α lie {loss:.0%} of the descent of "
                f"the objective, and {missed:.0%} of the recall"
            )
            numbers[panel.title] = {"share_of_descent": loss, "share_of_recall": missed}
        return verdict(met, "; ".join(told) + ".", panels=numbers)

    return judge


def alpha_matters(least: float = 0.05) -> Judge:
    """Judge that with these data a small α costs a visible part of the descent of the objective."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            found = by_alpha(results, panel)
            ends = [float(curve.end["objective"]) for curve in found]
            share = (ends[0] - ends[-1]) / float(found[-1].points["objective"][0] - ends[-1])
            met.append(share >= least)
            told.append(f"{panel.title}: α = 0 ends {share:.1%} of the descent above α = 1")
            numbers[panel.title] = {"share_of_descent": share}
        return verdict(met, "; ".join(told) + ".", panels=numbers)

    return judge


def objective_and_nlpl_fall_together() -> Judge:
    """Judge that objective and held-out NLPL fall together along every run."""

    def judge(results: Results) -> Verdict:
        found = {
            curve.part.title: float(
                spearmanr(curve.points["objective"], curve.points["nlpl"]).statistic
            )
            for curve in _with_nlpl(results)
        }
        lowest = min(found, key=lambda title: found[title])
        return verdict(
            [value >= _STRONG for value in found.values()],
            f"The rank correlation along a run is at least {found[lowest]:.3f} ({lowest}).",
            rank_correlations=found,
        )

    return judge


def nobody_overfits() -> Judge:
    """Judge that the held-out NLPL ends where it is lowest, also with small α."""

    def judge(results: Results) -> Verdict:
        rises = {
            curve.part.title: curve.points["nlpl"][-1] / min(curve.points["nlpl"]) - 1.0
            for curve in _with_nlpl(results)
        }
        worst = max(rises, key=lambda title: rises[title])
        return verdict(
            [rise <= _OVERFITTED for rise in rises.values()],
            f"The held-out NLPL ends at most {rises[worst]:.2%} above its lowest value on the way "
            f"({worst}).",
            rises=rises,
        )

    return judge


def same_objective() -> Judge:
    """Judge that at full convergence all methods reach the same objective."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
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
            told.append(
                f"{panel.title}: the objectives differ by {gap:.2g} of their value"
                + (f"; not proved to have converged: {', '.join(open_ends)}" if open_ends else "")
            )
            numbers[panel.title] = {"objectives": ends, "relative_gap": gap}
        return verdict(met, "; ".join(told) + ".", panels=numbers)

    return judge


def first_hit_converges_last() -> Judge:
    """Judge that to full convergence first hit takes longer than edge grafting and best-choice."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            first = named(results, panel, FIRST_HIT)
            others = [named(results, panel, EDGE_GRAFTING), *by_alpha(results, panel)]
            ratios = {
                other.part.method.name: first.end["seconds"] / other.end["seconds"]
                for other in others
            }
            met += [ratio > 1.0 for ratio in ratios.values()]
            told.append(
                f"{panel.title}: first hit takes {_span(ratios.values())} times as long as others"
            )
            numbers[panel.title] = ratios
        return verdict(met, "; ".join(told) + ".", time_ratios=numbers)

    return judge


def edge_grafting_starts_late(share: float = 0.9) -> Judge:
    """Judge that best-choice has nearly converged before edge grafting has its first edge."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            points = named(results, panel, EDGE_GRAFTING).points
            start = next(
                seconds
                for seconds, edges in zip(points["seconds"], points["edges"], strict=True)
                if edges > 0
            )
            done = {
                curve.alpha or 0.0: _descended(curve, start) for curve in by_alpha(results, panel)
            }
            met.append(max(done.values()) >= share)
            counted = named(results, panel, EDGE_GRAFTING).end["tables_possible"]
            told.append(
                f"{panel.title}: when edge grafting has counted its {counted:,} tables and takes "
                f"its first edge, best-choice has done {_span(done.values(), '.0%')} of its descent"
            )
            numbers[panel.title] = _keyed(done)
        sentence = "; ".join(told) + "."
        if not all(met):
            sentence += " Counting is no longer what makes edge grafting slow."
        return verdict(met, sentence, share_of_descent=numbers)

    return judge


def hubs_help() -> Judge:
    """Judge that with the hub rule recall is higher at the same number of edges, at every α."""

    def judge(results: Results) -> Verdict:
        met, told, numbers = [], [], {}
        for panel in _panels(results):
            gains = {}
            for alpha in ALPHAS:
                rule = _area_under_recall(results, panel, f"α = {alpha:g}")
                without = _area_under_recall(results, panel, f"α = {alpha:g}{WITHOUT_HUBS}")
                if rule is not None and without is not None:
                    gains[alpha] = (without, rule)
            met += [rule - without > _HUB_GAIN for without, rule in gains.values()]
            told.append(
                f"{panel.title}: "
                + ", ".join(
                    f"{rule - without:+.3f} at α = {alpha:g} ({without:.3f} to {rule:.3f})"
                    for alpha, (without, rule) in gains.items()
                )
            )
            idle = [f"{alpha:g}" for alpha, (a, b) in gains.items() if b - a <= _HUB_GAIN]
            if idle:
                told[-1] += f"; no gain at α = {', '.join(idle)}"
            numbers[panel.title] = {
                f"{alpha:g}": {"without": without, "with": rule}
                for alpha, (without, rule) in gains.items()
            }
        sentence = "Mean recall over all numbers of edges changes by the hub rule: "
        return verdict(met, sentence + "; ".join(told) + ".", panels=numbers)

    return judge


def _panels(results: Results) -> list[Panel]:
    """Return the panels that were measured.

    Raises
    ------
    NotMeasured
        When there is none.
    """
    found = panels(results)
    if not found:
        raise NotMeasured("Nothing was measured.")
    return found


def _with_nlpl(results: Results) -> list[Curve]:
    """Return the runs of more than one step that were measured on held-out rows.

    Raises
    ------
    NotMeasured
        When there is none.
    """
    found = [
        curve
        for curve in curves(results)
        if curve.points["nlpl"][-1] is not None and len(curve.points["nlpl"]) > 2
    ]
    if not found:
        raise NotMeasured("No run was measured on held-out rows.")
    return found


def _speedups(results: Results, panel: Panel, quantity: str) -> dict[float, float]:
    """Return edge grafting's seconds (or counts) as a multiple of best-choice's, by α."""
    whole = float(named(results, panel, EDGE_GRAFTING).end[quantity])
    return {
        curve.alpha or 0.0: whole / max(float(curve.end[quantity]), 1e-9)
        for curve in by_alpha(results, panel)
    }


def _descended(curve: Curve, seconds: float) -> float:
    """Return what share of its descent a run has done after so many seconds."""
    objective = curve.points["objective"]
    reached = [
        value for at, value in zip(curve.points["seconds"], objective, strict=True) if at <= seconds
    ]
    whole = objective[0] - objective[-1]
    return float((objective[0] - reached[-1]) / whole) if whole > 0 else 1.0


def _area_under_recall(results: Results, panel: Panel, name: str) -> float | None:
    """Return the mean over seeds of the mean recall over 0 … the most edges all runs reached."""
    found = [curve for curve in curves(results) if curve.part.panel == panel]
    here = [curve for curve in found if curve.part.method.name == name]
    if not here:
        return None
    most = min(curve.points["edges"][-1] for curve in found)
    grid = np.linspace(0, most, 200)
    means = [
        float(np.interp(grid, curve.points["edges"], curve.points["recall"]).mean())
        for curve in here
    ]
    return float(np.mean(means))


def _rises(values: Sequence[float], quantity: str) -> bool:
    """Return whether values get better along a sequence, but for differences that are none."""
    sign = 1.0 if quantity == "recall" else -1.0
    slack = _SLACK[quantity] * (1.0 if quantity == "recall" else abs(values[0]))
    steps = [sign * (after - before) for before, after in pairwise(values)]
    return sum(steps) > 0.0 and all(step >= -slack for step in steps)


def _mean_ratio(ratios: dict[float, float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))


def _span(values: Iterable[float], form: str = "") -> str:
    """Return the least and the largest value, large ones without digits behind the point."""
    found = list(values)
    ends = (f"{end:{form or (',.0f' if end >= 10 else '.2g')}}" for end in (min(found), max(found)))
    return " to ".join(ends)


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _keyed(values: dict[float, float]) -> dict[str, float]:
    return {f"{alpha:g}": value for alpha, value in values.items()}


def _by_panel(values: dict[Panel, dict[float, float]]) -> dict[str, dict[str, float]]:
    return {panel.title: _keyed(ratios) for panel, ratios in values.items()}
