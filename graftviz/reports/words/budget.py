"""Sentences of the Budget page: steps, stopping, and comparison at equal cost."""

from __future__ import annotations

from collections.abc import Sequence

from graftviz.evaluation.tradeoff import Comparison, TradeOff
from graftviz.learning.bounded.bounded_inference import MEASURES
from graftviz.learning.trace import Complexity
from graftviz.reports.words.phrases import pair, plural

QUALITY_NAMES = {
    "nll": "negative log-likelihood",
    "ncmll": "NCMLL (half of the variables hidden)",
    "nlpl": "negative log pseudo-likelihood",
}
COST_NAMES = {"seconds": "inference time", "operations": "operations of inference"}
_EVEN = 0.0005  # nats per row, up to which two models count as equal
_COSTS = {
    "treewidth": "the widest **clique** of the junction tree",
    "circuit-size": "the operations on the **junction tree**",
    "bp-sweeps": "the number of **sweeps** of belief propagation",
    "trbp-sweeps": "the number of **sweeps** of tree-reweighted belief propagation",
    "seconds": "its running **time**",
}


def cost_sentence(measure: str) -> str:
    """Return the introduction of the page for a measure of complexity, as Markdown."""
    return (
        f"Inference has a cost, here {_COSTS[measure]}. Edges are added as long as it is at most "
        "**τ**."
    )


def amount(value: float, measure: str) -> str:
    """Write a complexity or a bound in the unit of its measure."""
    return seconds_text(value) if measure == "seconds" else f"{value:,.4g}"


def seconds_text(seconds: float) -> str:
    """Write a time in milliseconds or seconds."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


def bounded_start_words(variables: int, measure: str, bound: float) -> str:
    """Describe the start of a run."""
    pairs = variables * (variables - 1) // 2
    return (
        f"No edges yet. Any of the {pairs:,} pairs can be added as long as {MEASURES[measure]} is "
        f"at most {amount(bound, measure)}."
    )


def bounded_step_words(
    edge: tuple[int, int], complexity: Complexity, before: float | None, names: Sequence[str]
) -> str:
    """Describe an added edge, its gradient, and its effect on the complexity.

    Parameters
    ----------
    edge : pair of int
    complexity : Complexity
        After the step.
    before : float or None
        Its value before the step, if known.
    names : sequence of str
        Names of the variables.
    """
    measure = complexity.measure
    value, bound = amount(complexity.value, measure), amount(complexity.bound, measure)
    name = MEASURES[measure]
    first = (
        f"Added {pair(names, *edge)}: largest gradient of all pairs that keep the bound "
        f"({complexity.gradient_norm:.3g})."
    )
    if before is None:
        second = f"{name[:1].upper()}{name[1:]} is {value} (limit {bound})."
    elif complexity.value > before:
        second = f"Cost rises: {name} is {value} (limit {bound})."
    elif complexity.value < before:
        second = f"Cost falls: {name} is {value} (limit {bound})."
    else:
        second = f"No added cost: {name} stays {value} (limit {bound})."
    if complexity.newly_infeasible:
        count = complexity.newly_infeasible
        second += f" {count:,} more {'pair' if count == 1 else 'pairs'} can no longer be added."
    return f"{first} {second}"


def nothing_fits_words(measure: str, bound: float) -> str:
    """Explain that no edge meets the bound."""
    return (
        f"No edge meets the bound: each one would exceed {amount(bound, measure)} "
        f"({MEASURES[measure]}). Increase τ."
    )


def setting_words(point: TradeOff, measure: str) -> str:
    """Name a model by its bound or its λ."""
    if point.family == "truth":
        return "the true network"
    if point.family == "bounded":
        return f"τ = {amount(point.setting, measure)}"
    return f"λ = {point.setting:.3g}"


def comparison_words(
    comparisons: Sequence[Comparison],
    quality: str,
    cost: str,
    measure: str,
    *,
    is_complete: bool = True,
) -> str:
    """Compare both families at equal cost; empty without bounded models.

    Parameters
    ----------
    comparisons : sequence of Comparison
    quality, cost, measure : str
    is_complete : bool
        Whether all models of the ℓ₁ path have been measured.
    """
    pairs = [found for found in comparisons if found.other is not None]
    if not pairs and not is_complete:
        return "ℓ₁ path still being computed…" if comparisons else ""
    if not pairs:
        return "No ℓ₁ model costs as little as a bounded one." if comparisons else ""
    sentence = f"At equal {COST_NAMES[cost]}, by {QUALITY_NAMES[quality]}: "
    wins = sum(found.gain > _EVEN for found in pairs)
    losses = sum(found.gain < -_EVEN for found in pairs)
    bounds = plural(len(pairs), "bound")
    if losses == 0 and wins == 0:
        sentence += "no difference."
    elif losses == 0 or wins == 0:
        winner = "bounded inference" if wins else "nodewise ℓ₁"
        sentence += f"{winner} is better at {max(wins, losses)} of {bounds}."
    else:
        sentence += (
            f"bounded inference is better at {wins} and nodewise ℓ₁ at {losses} of {bounds}."
        )
    widest = max(pairs, key=lambda found: abs(found.gain))
    assert widest.other is not None
    word = "below" if widest.gain > 0 else "above"
    return (
        f"{sentence} The difference is largest at {setting_words(widest.bounded, measure)}: "
        f"{abs(widest.gain):.3f} nats per row {word} the best ℓ₁ model that costs no more "
        f"({setting_words(widest.other, measure)})."
    )


def error_words(points: Sequence[TradeOff], measure: str) -> str:
    """Report the error of TRBP's log Z for the best and the worst model."""
    learned = [point for point in points if point.family != "truth"]
    if not learned:
        return ""
    best = min(learned, key=lambda point: point.nll)
    worst = max(learned, key=lambda point: point.log_partition_error)
    first = (
        f"For the learned model with the best likelihood ({setting_words(best, measure)}), TRBP's "
        f"log Z has an error of {best.log_partition_error:.2g} %"
    )
    if worst is best:
        return f"{first}, the largest of all."
    return (
        f"{first}; the largest error is {worst.log_partition_error:.2g} % at "
        f"{setting_words(worst, measure)}."
    )


def previous_run_words(bound: float, measure: str, edges: int, nll: float | None) -> str:
    """Describe the run that was shown before: bound, edges, and quality if it is available."""
    quality = "" if nll is None else f", held-out NLL {nll:.3f}"
    text = f"Previous run, τ = {amount(bound, measure)} ({MEASURES[measure]})"
    return f"{text}: {plural(edges, 'edge')}{quality}."
