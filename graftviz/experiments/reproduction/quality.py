"""Judgement of the papers' claims about the quality of learned models.

See :mod:`graftviz.experiments.reproduction.verdicts` for the form of judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import spearmanr

from graftviz.experiments.reproduction.experiment import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.runs import (
    ALPHAS,
    EDGE_GRAFTING,
    FIRST_HIT,
    WITHOUT_HUBS,
    Curve,
    Panel,
    by_alpha,
    curve_of,
    curves,
)
from graftviz.experiments.reproduction.verdicts import Judge, listed, shown_panels, verdict

_NAMES = {"objective": "objective", "nlpl": "held-out NLPL", "recall": "recall"}
_SLACK = {"objective": 0.002, "nlpl": 0.005, "recall": 0.01}  # differences that are ignored
_STRONG = 0.9  # rank correlation
_OVERFITTED = 0.01
_HUB_GAIN = 0.01


def better_with_alpha(quantity: str) -> Judge:
    """Judge that a larger α gives a better final `quantity` and takes longer."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            found = by_alpha(results, panel)
            values = [float(curve.end[quantity]) for curve in found]
            seconds = [float(curve.end["seconds"]) for curve in found]
            better = _rises(values, quantity)
            longer = seconds[-1] > seconds[0]
            met += [better, longer]
            phrases.append(
                f"{panel.title}: {_NAMES[quantity]} {listed(values)} for α = "
                f"{listed([curve.alpha or 0.0 for curve in found])}, "
                f"{'' if better else 'not '}better with every α, and the largest α takes "
                f"{seconds[-1] / seconds[0]:.1f} times as long as the smallest"
            )
            numbers[panel.title] = {
                quantity: values,
                "seconds_to_those_of_the_smallest_alpha": [s / seconds[0] for s in seconds],
                "tests": [curve.end["tests"] for curve in found],
            }
        return verdict(met, "; ".join(phrases) + ".", panels=numbers)

    return judge


def quick_but_poor(quantity: str) -> Judge:
    """Judge that first hit finishes first, with the worst value of `quantity`."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            first, whole = (
                curve_of(results, panel, FIRST_HIT),
                curve_of(results, panel, EDGE_GRAFTING),
            )
            others = [whole, *by_alpha(results, panel)]
            sign = -1.0 if quantity == "recall" else 1.0
            value = float(first.end[quantity])
            rank = sum(sign * float(other.end[quantity]) > sign * value for other in others)
            quick = sum(other.end["seconds"] < first.end["seconds"] for other in others)
            met += [rank == 0, quick == 0]
            poorer = "the worst" if rank == 0 else f"better than {rank} of {len(others)} others"
            phrases.append(
                f"{panel.title}: its {_NAMES[quantity]} of {value:.4g} is {poorer}; "
                f"{quick} of {len(others)} others reach the limit sooner"
            )
            numbers[panel.title] = {
                quantity: value,
                "others": {other.part.method.name: other.end[quantity] for other in others},
                "seconds_to_edge_grafting": first.end["seconds"] / whole.end["seconds"],
                "tests": first.end["tests"],
            }
        sentence = "First hit with " + "; ".join(phrases) + "."
        return verdict(
            met, f"{sentence} It fits the weights after every single edge.", panels=numbers
        )

    return judge


def small_loss_by_alpha() -> Judge:
    """Judge that α has less effect on the objective than on recall."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            whole, found = curve_of(results, panel, EDGE_GRAFTING), by_alpha(results, panel)
            descent = float(whole.points["objective"][0] - whole.end["objective"])
            ends = [float(curve.end["objective"]) for curve in found]
            loss = (max(ends) - min(ends)) / descent
            recalls = [float(curve.end["recall"]) for curve in found]
            missed = (max(recalls) - min(recalls)) / max(*recalls, 1e-12)
            met.append(loss < missed)
            phrases.append(
                f"{panel.title}: between the best and the worst α lie {loss:.0%} of the descent of "
                f"the objective, and {missed:.0%} of the recall"
            )
            numbers[panel.title] = {"share_of_descent": loss, "share_of_recall": missed}
        return verdict(met, "; ".join(phrases) + ".", panels=numbers)

    return judge


def alpha_matters(least: float = 0.05) -> Judge:
    """Judge that a small α loses a visible part of the descent of the objective."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            found = by_alpha(results, panel)
            ends = [float(curve.end["objective"]) for curve in found]
            share = (ends[0] - ends[-1]) / float(found[-1].points["objective"][0] - ends[-1])
            met.append(share >= least)
            phrases.append(f"{panel.title}: α = 0 ends {share:.1%} of the descent above α = 1")
            numbers[panel.title] = {"share_of_descent": share}
        return verdict(met, "; ".join(phrases) + ".", panels=numbers)

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
        weak = [f"{value:.2f} for {title}" for title, value in found.items() if value < _STRONG]
        least = f"{found[lowest]:.3f} or more ({lowest})"
        return verdict(
            [value >= _STRONG for value in found.values()],
            f"The rank correlation along a run is {'; '.join(weak) if weak else least}.",
            rank_correlations=found,
        )

    return judge


def no_overfitting() -> Judge:
    """Judge that the held-out NLPL ends at its minimum, also with small α."""

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


def hubs_help() -> Judge:
    """Judge that the hub rule raises recall at the same number of edges for every α."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for panel in shown_panels(results):
            gains = {}
            for alpha in ALPHAS:
                rule = _area_under_recall(results, panel, f"α = {alpha:g}")
                without = _area_under_recall(results, panel, f"α = {alpha:g}{WITHOUT_HUBS}")
                if rule is not None and without is not None:
                    gains[alpha] = (without, rule)
            met += [rule - without > _HUB_GAIN for without, rule in gains.values()]
            phrases.append(
                f"{panel.title}: "
                + ", ".join(
                    f"{rule - without:+.3f} at α = {alpha:g} ({without:.3f} to {rule:.3f})"
                    for alpha, (without, rule) in gains.items()
                )
            )
            idle = [f"{alpha:g}" for alpha, (a, b) in gains.items() if b - a <= _HUB_GAIN]
            if idle:
                phrases[-1] += f"; no gain at α = {', '.join(idle)}"
            numbers[panel.title] = {
                f"{alpha:g}": {"without": without, "with": rule}
                for alpha, (without, rule) in gains.items()
            }
        sentence = "Mean recall over all numbers of edges changes by the hub rule: "
        return verdict(met, sentence + "; ".join(phrases) + ".", panels=numbers)

    return judge


def _with_nlpl(results: Results) -> list[Curve]:
    """Return the runs of more than one step with held-out NLPL.

    Raises
    ------
    NotMeasured
        If there is none.
    """
    found = [
        curve
        for curve in curves(results)
        if None not in curve.points["nlpl"] and len(curve.points["nlpl"]) > 2
    ]
    if not found:
        raise NotMeasured("No run was measured on held-out rows.")
    return found


def _area_under_recall(results: Results, panel: Panel, name: str) -> float | None:
    """Return the mean over seeds of the mean recall, up to the edges that all runs reach."""
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
    """Return whether values improve along a sequence, up to ignored differences."""
    sign = 1.0 if quantity == "recall" else -1.0
    slack = _SLACK[quantity] * (1.0 if quantity == "recall" else abs(values[0]))
    steps = [sign * (after - before) for before, after in pairwise(values)]
    return sum(steps) > 0.0 and all(step >= -slack for step in steps)
