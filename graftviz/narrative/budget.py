"""Learning under a bound on inference, in sentences: a step, the end, who wins at equal cost."""

from __future__ import annotations

from collections.abc import Sequence

from graftviz.complexity import Complexity
from graftviz.narrative.phrases import pair, plural
from graftviz.tradeoff import Comparison, TradeOff

MEASURES = {
    "treewidth": "treewidth",
    "bp-sweeps": "BP sweeps",
    "trbp-sweeps": "TRBP sweeps",
    "seconds": "seconds of inference",
    "circuit-size": "circuit size",
    "approximation-error": "error of log Z",
}
QUALITY_NAMES = {
    "nll": "negative log-likelihood",
    "ncmll": "NCMLL, half of the variables hidden",
    "nlpl": "negative log pseudo-likelihood",
}
COST_NAMES = {"seconds": "inference time", "operations": "operations of inference"}
_EVEN = 0.0005  # nats per row below which nobody wins


def amount(value: float, measure: str) -> str:
    """Write a complexity or a bound in the unit of its measure."""
    return seconds_text(value) if measure == "seconds" else f"{value:,.4g}"


def seconds_text(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


def bounded_start_words(variables: int, measure: str, bound: float) -> str:
    """Say what is about to happen."""
    pairs = variables * (variables - 1) // 2
    return (
        f"No edges yet, and all {pairs:,} pairs may become one, as long as the model keeps to its "
        f"budget: {MEASURES[measure]} at most {amount(bound, measure)}."
    )


def bounded_step_words(
    edge: tuple[int, int], complexity: Complexity, before: float | None, names: Sequence[str]
) -> str:
    """Say which edge joined, why it, and what that did to the budget.

    Parameters
    ----------
    edge : pair of int
    complexity : Complexity
        After the step.
    before : float or None
        Its value before, where that is known.
    names : sequence of str
        Of the variables.
    """
    measure = complexity.measure
    value, bound = amount(complexity.value, measure), amount(complexity.bound, measure)
    first = (
        f"{pair(names, *edge)} joins: the largest gradient of all pairs that fit "
        f"({complexity.gradient_norm:.3g})."
    )
    if before is None:
        second = f"Now {MEASURES[measure]}: {value} of {bound}."
    elif complexity.value > before:
        second = f"It costs: {MEASURES[measure]} now {value} of {bound}."
    elif complexity.value < before:
        second = f"It even saves: {MEASURES[measure]} now {value} of {bound}."
    else:
        second = f"It is free: {MEASURES[measure]} still {value} of {bound}."
    if complexity.newly_infeasible:
        second += f" Out of reach since: {plural(complexity.newly_infeasible, 'pair')}."
    return f"{first} {second}"


def nothing_fits_words(measure: str, bound: float) -> str:
    """Say that no edge meets the bound."""
    return (
        f"No edge meets the bound: any one of them would pass {amount(bound, measure)} "
        f"({MEASURES[measure]}). Raise τ to let the model grow."
    )


def setting_words(point: TradeOff, measure: str) -> str:
    """Name a model by its bound or its λ."""
    if point.family == "truth":
        return "the true network"
    if point.family == "bounded":
        return f"τ = {amount(point.setting, measure)}"
    return f"λ = {point.setting:.3g}"


def comparison_words(
    comparisons: Sequence[Comparison], quality: str, cost: str, measure: str
) -> str:
    """Say who wins at equal cost; empty before there is anything to compare."""
    judged = [found for found in comparisons if found.other is not None]
    if not judged:
        is_open = len(comparisons) > 0
        return "No ℓ₁ model measured so far is as cheap as a bounded one." if is_open else ""
    told = f"At equal {COST_NAMES[cost]}, measured by {QUALITY_NAMES[quality]}: "
    wins = sum(found.gain > _EVEN for found in judged)
    losses = sum(found.gain < -_EVEN for found in judged)
    if losses == 0 and wins == 0:
        told += "neither wins."
    elif losses == 0 or wins == 0:
        winner = "bounding inference" if wins else "nodewise ℓ₁"
        told += f"{winner} wins at {max(wins, losses)} of {plural(len(judged), 'bound')}."
    else:
        told += (
            f"bounding inference wins at {wins} and nodewise ℓ₁ at {losses} of "
            f"{plural(len(judged), 'bound')}."
        )
    widest = max(judged, key=lambda found: abs(found.gain))
    assert widest.other is not None
    word = "below" if widest.gain > 0 else "above"
    return (
        f"{told} The difference is largest at {setting_words(widest.bounded, measure)}: "
        f"{abs(widest.gain):.3f} nats per row {word} the best ℓ₁ model that costs no more "
        f"({setting_words(widest.other, measure)})."
    )


def error_words(points: Sequence[TradeOff], measure: str) -> str:
    """Say for which models tree-reweighted propagation gets log Z nearly right."""
    learned = [point for point in points if point.family != "truth"]
    if not learned:
        return ""
    best = min(learned, key=lambda point: point.nll)
    worst = max(learned, key=lambda point: point.log_partition_error)
    first = (
        f"The best likelihood learned is that of {setting_words(best, measure)}, whose log Z TRBP "
        f"misses by {best.log_partition_error:.2g} %"
    )
    if worst is best:
        return f"{first}, more than that of any other."
    return (
        f"{first}; it is furthest off at {setting_words(worst, measure)}, by "
        f"{worst.log_partition_error:.2g} %."
    )
