"""Sentences of the Dynamics page: rows, the end of a run, and the comparison of methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from graftviz.dynamics.base import DynamicsLearner, NodeStep
from graftviz.dynamics.learners import LEARNERS
from graftviz.dynamics.measuring import Measured
from graftviz.reports.words.phrases import listed, plural, short

_UNCOVERED = {
    "graft": "its parents are chosen greedily by gradient",
    "regress": "it is regressed itself, as seeds are",
    "common": "its parents are itself and the most common parents of seeds",
}


def start_words(learner: DynamicsLearner, parents: int, seeds: int, wiring: str = "") -> str:
    """Describe the start of a run.

    Parameters
    ----------
    learner : DynamicsLearner
    parents, seeds : int
        The largest number of parents of a series, and the number of seeds.
    wiring : str
        Sentence about the source of given parents.
    """
    strongest = "one" if parents == 1 else str(parents)
    opening = learner.opening.format(k=strongest, seeds=plural(seeds, "seed"))
    return " ".join(filter(None, ["No rows of A learned yet.", wiring, opening]))


def row_words(step: NodeStep, names: Sequence[str], voters: int, uncovered: str) -> str:
    """Describe a learned row: its parents, their source, and the residual.

    Parameters
    ----------
    step : NodeStep
    names : sequence of str
        Names of the series.
    voters : int
        The number of seeds that have the series as a parent.
    uncovered : str
        Treatment of series without a seed; an option of scalable structure learning.
    """
    row = f"Row {step.node + 1}, {short(names[step.node])}: {_parents(step, names)}"
    row += f", residual {step.residual:.3g}."
    match step.kind:
        case "seed":
            why = "Seed: regressed on all series, one and two steps ahead."
        case "inferred":
            have = "has" if voters == 1 else "have"
            why = (
                f"Not regressed: {plural(voters, 'seed')} {have} it as a parent, and "
                f"{'its' if voters == 1 else 'their'} two-step ancestors are its candidate parents."
            )
        case "uncovered":
            why = f"Not a parent of any seed: {_UNCOVERED[uncovered]}."
        case "induced":
            passes = "pass" if step.passes == 1 else "passes"
            why = f"ℓ₁ regression, {step.passes:,} {passes}."
        case "given":
            why = "Least squares on its given parents."
        case _:
            why = "Dense learning uses all series."
    late = "" if step.converged else " Not converged within the limit of passes."
    return f"{row} {why}{late}"


def _parents(step: NodeStep, names: Sequence[str]) -> str:
    count = len(step.parents)
    if count == 0:
        return "no parents"
    by_size = sorted(
        zip(abs(step.coefficients).tolist(), step.parents.tolist(), strict=True), reverse=True
    )
    strongest = [short(names[u]) for _, u in by_size[:4]]
    return f"{plural(count, 'parent')} ({listed(strongest, count)})"


def end_words(pred_error: float | None, uncovered: Sequence[str]) -> str:
    """Report the prediction error of a finished run, and series without a seed.

    Its time is in the comparison of methods, which measures all of them alike.
    """
    sentence = "Finished."
    if pred_error is not None:
        sentence += f" PredError on the held-out rows: {pred_error:.3f}."
    if uncovered:
        series = listed([short(name) for name in uncovered])
        verb = "is not a parent" if len(uncovered) == 1 else "are not parents"
        sentence += f" {series} {verb} of any seed (fitted from own data)."
    return sentence


def race_words(race: Sequence[Measured]) -> str:
    """Name the most accurate and the fastest of the methods that find the parents themselves.

    The last sentence is about the parents that sparsity enforcing uses.
    """
    finders = [one for one in race if not one.wiring]
    if len(finders) < len(LEARNERS) - 1:
        return ""
    note = " ".join(_wiring_source(one.wiring) for one in race if one.wiring)
    best = min(finders, key=lambda one: one.pred_error_test)
    fastest = min(finders, key=lambda one: one.seconds)
    sentence = (
        f"Among methods without given parents, {_title(best.learner)} has the lowest held-out "
        f"error ({best.pred_error_test:.3f})"
    )
    time = f"is the fastest ({fastest.seconds:.3f} s)"
    if fastest is best:
        return f"{sentence} and {time}. {note}".strip()
    return f"{sentence}; {_title(fastest.learner)} {time}. {note}".strip()


def curve_words(points: Sequence[Measured], field: Literal["parents", "seeds"]) -> str:
    """Name the best number of parents or of seeds of each learner."""
    symbol = {"parents": "k", "seeds": "|S|"}[field]
    sentences = []
    for learner in dict.fromkeys(point.learner for point in points):
        mine = (point for point in points if point.learner == learner)
        best = min(mine, key=lambda point: point.pred_error_test)
        sentences.append(
            f"{LEARNERS[learner].title}: best at {symbol} = {getattr(best, field)}, PredError "
            f"{best.pred_error_test:.3f}."
        )
    return " ".join(sentences)


def wiring_words(wiring: str) -> str:
    """Describe the source of given parents in a run.

    Parameters
    ----------
    wiring : str
        "truth", "file", or the name of the learner that found the parents; empty for learners that
        find them.
    """
    if wiring in LEARNERS:
        return f"The parents come from {_title(wiring)} learning."
    origins = {"truth": "true system", "file": "file"}
    return f"The parents come from the {origins[wiring]}." if wiring else ""


def _wiring_source(wiring: str) -> str:
    """Describe the given parents of sparsity enforcing, and the time they exclude."""
    if wiring == "truth":
        return "Sparsity enforcing uses the true parents: an upper bound on performance."
    if wiring == "file":
        return "Sparsity enforcing uses the parents from the file."
    return (
        f"Sparsity enforcing uses the parents from {_title(wiring)}; its time excludes finding the "
        "parents."
    )


def _title(learner: str) -> str:
    return LEARNERS[learner].title.lower()
