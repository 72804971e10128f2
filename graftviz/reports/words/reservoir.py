"""Sentences about the figures of the reservoir."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.evaluation.reservoir import RankedStep, RankSimulation
from graftviz.learning.grafting.reservoir import Activation
from graftviz.reports.words.phrases import plural


def share_words(share: float) -> str:
    """Return a share in percent, with two digits where it is small: "51%", "4.8%"."""
    percent = 100.0 * share
    return f"{percent:.2g}%" if percent < 10 else f"{percent:.0f}%"


def simulation_words(simulation: RankSimulation, size: int) -> str:
    """Compare a reservoir of `size` with a single draw and with all pairs."""
    at = min(size, len(simulation.sizes)) - 1
    size = int(simulation.sizes[at])
    trials = plural(len(simulation.ranks), "trial")
    if size == 1:
        return (
            f"In {trials} a single draw ranks {_top(simulation, 0)} of all pairs on average, as "
            "expected by chance. Increase the reservoir to compare."
        )
    return (
        f"A single draw ranks {_top(simulation, 0)} of all {simulation.pairs:,} pairs on average "
        "(first hit continues drawing until an edge scores above λ, so it ranks higher: see "
        f"the ranks in a run). The best of {size} draws ranks "
        f"{_top(simulation, at)} ({share_words(simulation.lowest[at])} to "
        f"{share_words(simulation.highest[at])} in {trials}); scoring all pairs, as edge "
        f"grafting does, can gain at most the remaining {share_words(simulation.mean[at])}."
    )


def _top(simulation: RankSimulation, at: int) -> str:
    return f"in the top {share_words(float(simulation.mean[at]))}"


def run_words(first_hit: Sequence[RankedStep], best_choice: Sequence[RankedStep]) -> str:
    """Compare the ranks of the edges activated by first hit and by best-choice."""
    if not first_hit or not best_choice:
        return "No pair violates at this λ, so neither run takes a step."
    theirs, ours = (
        float(np.median([step.rank for step in steps])) for steps in (first_hit, best_choice)
    )
    of_theirs, of_ours = (
        f"{median:.3g} in {plural(len(steps), 'step')}"
        for median, steps in ((theirs, first_hit), (ours, best_choice))
    )
    best = sum(step.rank == 1 for step in best_choice)
    tests = round(float(np.median([step.tests for step in best_choice])))
    return (
        f"Median rank of the best candidate: {of_ours} with the reservoir, {of_theirs} with "
        f"first hit. In {best:,} of {len(best_choice):,} steps the reservoir held the best of all "
        f"inactive pairs, with {plural(tests, 'test')} per step instead of the "
        f"{best_choice[0].inactive:,} of edge grafting."
    )


def activation_words(picked: Activation, size: int, alpha: float) -> str:
    """Return which edges of a reservoir a step would activate."""
    eligible = len(picked.chosen) + len(picked.skipped)
    numbers = f"μ = {picked.mean:.3g}, τ(α) = {picked.tau:.3g}, maximum {picked.maximum:.3g}"
    if size == 1:
        return f"With one edge in the reservoir, α has no effect: the edge is taken ({numbers})."
    rule = {0.0: "α = 0 takes all above the mean", 1.0: "α = 1 takes the maximum only"}.get(
        alpha,
        f"α = {alpha:g} puts τ(α) {share_words(alpha)} of the way from the mean to the maximum",
    )
    passed = (
        f"; {plural(len(picked.skipped), 'edge')} above τ(α) skipped because of a variable shared "
        "with a stronger edge"
        if picked.skipped
        else ""
    )
    return (
        f"{rule[:1]}{rule[1:]}: {numbers}. {plural(eligible, 'edge')} of {size} "
        f"{'is' if eligible == 1 else 'are'} eligible, and {len(picked.chosen)} "
        f"{'is' if len(picked.chosen) == 1 else 'are'} activated at once{passed}."
    )
