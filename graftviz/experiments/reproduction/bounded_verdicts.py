"""Judgement of the claims on bounded inference about likelihood at equal cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from graftviz.experiments.reproduction.bounded_runs import BoundedPart, PathPart, RandomNetwork
from graftviz.experiments.reproduction.experiment import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.verdicts import verdict

Points = list[dict[str, Any]]
BOUNDED, PENALISED, PATH, REFITTED = "bounded", "penalised", "path", "refitted"
_WORDS = {PATH: "ℓ₁", REFITTED: "ℓ₁ fitted by likelihood"}
_LEAST_COST = 1e-9  # smaller errors are rounding
_RISES = 0.5  # rank correlation


class CostComparison(NamedTuple):
    """Models of bounded inference against another learner at the same cost.

    Attributes
    ----------
    gains : float64 array
        For each model: the other learner's value at its cost minus its own; positive if better.
    beyond : int
        Number of models cheaper than all of the other learner, which are not compared.
    """

    gains: np.ndarray
    beyond: int


def networks(results: Results) -> list[RandomNetwork]:
    """Return the measured networks in order."""
    parts = (part for part in results if isinstance(part, BoundedPart | PathPart))
    return list(dict.fromkeys(part.network for part in parts))


def points(results: Results, network: RandomNetwork, which: str) -> Points:
    """Return the measured models of one network.

    Parameters
    ----------
    which : {"bounded", "penalised", "path", "refitted"}
    """
    found: Points = []
    for part, result in results.items():
        if isinstance(part, BoundedPart) and part.network == network:
            found += result["points"] if which == _kind(part) else []
        if isinstance(part, PathPart) and part.network == network:
            found += {PATH: result["points"], REFITTED: result["refitted"]}.get(which, [])
    return found


def _kind(part: BoundedPart) -> str:
    return PENALISED if part.is_penalised else BOUNDED


def compare_at_cost(
    ours: Points, others: Points, cost: str, value: str, *, scale: str
) -> CostComparison:
    """Compare every model of `ours` with the best value of `others` at most at its cost.

    Values of `others` are interpolated linearly between models, in the logarithm of the cost if
    `scale` is "log". Lower is better for both.
    """
    axis: Callable[[Any], np.ndarray] = (
        (lambda costs: np.log(np.maximum(costs, _LEAST_COST))) if scale == "log" else np.asarray
    )
    frontier = sorted((point[cost], point[value]) for point in others)
    if not frontier:
        return CostComparison(np.zeros(0), len(ours))
    costs = np.array([c for c, _ in frontier])
    best = np.minimum.accumulate([v for _, v in frontier])
    reached = [point for point in ours if point[cost] >= costs[0]]
    at = axis(np.array([point[cost] for point in reached]))
    theirs = np.interp(at, axis(costs), best)
    return CostComparison(
        theirs - np.array([point[value] for point in reached]), len(ours) - len(reached)
    )


def better_at_equal_cost(
    which: str, value: str, seconds: str, operations: str, *, ours: str = BOUNDED
) -> Callable[[Results], Verdict]:
    """Judge that bounded inference is more likely than `which` at the same inference cost.

    Parameters
    ----------
    which : {"path", "refitted"}
    value : str
        "nll" or "ncmll".
    seconds, operations : str
        Keys of the measured cost and of the counted cost, which has no noise.
    ours : {"bounded", "penalised"}
    """

    def judge(results: Results) -> Verdict:
        met: list[bool] = []
        phrases, numbers = [], {}
        for network in networks(results):
            own, others = (points(results, network, name) for name in (ours, which))
            found = {
                "operations": compare_at_cost(own, others, operations, value, scale="log"),
                "seconds": compare_at_cost(own, others, seconds, value, scale="log"),
            }
            words = []
            for name, comparison in found.items():
                gains = comparison.gains
                met += (gains > 0.0).tolist()
                if len(gains):
                    words.append(
                        f"with {int((gains > 0.0).sum())} of {len(gains)} models at the same "
                        f"{name}, by {gains.mean():.3f} nats per row on average (from "
                        f"{gains.min():.3f} to {gains.max():.3f})"
                    )
            if words:
                phrases.append(f"on {network.title} {' and '.join(words)}")
            numbers[network.title] = {name: one.gains.tolist() for name, one in found.items()}
        return verdict(
            met,
            f"Better than {_WORDS[which]} {'; '.join(phrases)}.",
            networks=numbers,
        )

    return judge


def less_error_at_equal_likelihood(which: str) -> Callable[[Results], Verdict]:
    """Judge that the error of log Z is smaller with bounded inference at the same likelihood."""

    def judge(results: Results) -> Verdict:
        met: list[bool] = []
        phrases, numbers = [], {}
        for network in networks(results):
            ours, others = (points(results, network, name) for name in (BOUNDED, which))
            found = compare_at_cost(ours, others, "nll", "log_partition_error", scale="linear")
            unreached = (
                f", and {found.beyond} are more likely than any of the others"
                if found.beyond
                else ""
            )
            met += (found.gains > 0.0).tolist()
            if len(found.gains):
                phrases.append(
                    f"{network.title}: less with {int((found.gains > 0.0).sum())} of "
                    f"{len(found.gains)} models, by {found.gains.mean():.3f} percentage points on "
                    f"average{unreached}"
                )
            numbers[network.title] = {
                "gains": found.gains.tolist(),
                "more_likely_than_any_other": found.beyond,
            }
        return verdict(
            met,
            f"Error against {_WORDS[which]} with the same NLL, {'; '.join(phrases)}.",
            networks=numbers,
        )

    return judge


def likelihood_rises_with(cost: str, value: str, word: str) -> Callable[[Results], Verdict]:
    """Judge that with both learners models of higher cost or error are more likely."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for network in networks(results):
            for which, name in ((BOUNDED, "bounded"), (PATH, "ℓ₁")):
                found = points(results, network, which)
                if len(found) < 3:
                    continue
                rank = _rank_correlation(
                    [point[cost] for point in found], [-point[value] for point in found]
                )
                met.append(rank >= _RISES)
                phrases.append(f"{rank:.2f} ({name}, {network.title})")
                numbers[f"{name}, {network.title}"] = rank
        if not met:
            raise NotMeasured("At least three models are needed to relate likelihood and cost.")
        return verdict(
            met,
            f"Rank correlation of {word} and likelihood: {', '.join(phrases)}; {_RISES:g} or more "
            "counts.",
            rank_correlation=numbers,
        )

    return judge


def _rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation, or 0 if one side is constant."""
    if np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return 0.0
    return float(spearmanr(first, second).statistic)
