"""A linear dynamical system being learned, in sentences: a row, its evidence, methods raced."""

from __future__ import annotations

from collections.abc import Sequence

from graftviz.dynamics import DynamicsLearner, NodeStep
from graftviz.narrative.phrases import listed, plural, short

_OPENINGS = {
    "dense": "Least squares of every series on all series, by one singular value decomposition; "
    "then row after row is read off.",
    "enforcing": "The parents of every series are given; each row is least squares on them.",
    "inducing": "Every series is regressed on all series with an ℓ₁ penalty; its {k} strongest "
    "become its parents.",
    "scalable": "First {seeds}, marked by squares: each is regressed one and two steps "
    "ahead. Whom they speak for gets its parents from them, without a regression of its own.",
}
_UNSPOKEN = {
    "graft": "it takes those along which its own error falls fastest",
    "regress": "it is regressed itself, as seeds are",
    "common": "it takes itself and what drives the seeds in general",
}


def start_words(learner: DynamicsLearner, parents: int, seeds: int, told: str = "") -> str:
    """Say what is about to happen.

    Parameters
    ----------
    learner : DynamicsLearner
    parents, seeds : int
        How many parents a series gets at most, and how many seeds there are.
    told : str
        Where given parents come from.
    """
    strongest = "one" if parents == 1 else str(parents)
    opening = _OPENINGS[learner.name].format(k=strongest, seeds=plural(seeds, "seed"))
    return " ".join(filter(None, ["No row of A is known yet.", told, opening]))


def row_words(step: NodeStep, names: Sequence[str], spoken_by: int, unspoken: str) -> str:
    """Say which row was learned, from where its parents come, and what it leaves unexplained.

    Parameters
    ----------
    step : NodeStep
    names : sequence of str
        Of the series.
    spoken_by : int
        How many seeds have the series among their parents.
    unspoken : str
        What is done with series no seed speaks for; an option of scalable structure learning.
    """
    found = f"Row {step.node + 1}, {short(names[step.node])}: {_parents(step, names)}"
    found += f", residual {step.residual:.3g}."
    match step.kind:
        case "seed":
            why = "A seed: regressed on all series, one step ahead and two."
        case "inferred":
            why = (
                f"Not regressed: {plural(spoken_by, 'seed')} with it as a parent "
                f"{'says' if spoken_by == 1 else 'say'} who is two steps away."
            )
        case "unspoken":
            why = f"No seed has it as a parent, so {_UNSPOKEN[unspoken]}."
        case "induced":
            rows = "pass" if step.passes == 1 else "passes"
            why = f"Its own ℓ₁ regression, in {step.passes:,} {rows}."
        case "given":
            why = "Least squares on the parents it was given."
        case _:
            why = "Nothing is left out: dense learning has no zeros."
    late = "" if step.converged else " It had not settled when its passes were used up."
    return f"{found} {why}{late}"


def _parents(step: NodeStep, names: Sequence[str]) -> str:
    count = len(step.parents)
    if count == 0:
        return "no parents"
    by_size = sorted(
        zip(abs(step.coefficients).tolist(), step.parents.tolist(), strict=True), reverse=True
    )
    strongest = [short(names[u]) for _, u in by_size[:4]]
    return f"{plural(count, 'parent')} ({listed(strongest, count)})"


def end_words(pred_error: float | None, seconds: float, unspoken: Sequence[str]) -> str:
    """Say how a finished system predicts, what it took, and whom no seed speaks for."""
    told = f"All rows are learned, in {seconds:.2g} s."
    if pred_error is not None:
        told += f" PredError on the held-out rows: {pred_error:.3f}."
    if unspoken:
        told += f" No seed speaks for {listed([short(name) for name in unspoken])}."
    return told


def race_words(standings: Sequence[tuple[str, float, float]], given: str) -> str:
    """Say who predicts best and who was quickest, of those that are told no parents.

    Parameters
    ----------
    standings : sequence of (title, held-out PredError, seconds)
        Without sparsity enforcing; those that have finished.
    given : str
        What sparsity enforcing was told, as :func:`given_words` puts it.
    """
    if len(standings) < len(_OPENINGS) - 1:
        return ""
    best = min(standings, key=lambda standing: standing[1])
    quickest = min(standings, key=lambda standing: standing[2])
    told = f"Of the methods that are told no parents, {best[0].lower()} predicts the "
    told += f"held-out rows best ({best[1]:.3f})"
    if quickest == best:
        return f"{told} and is the quickest ({quickest[2]:.3f} s). {given}".strip()
    return (
        f"{told} and {quickest[0].lower()} is the quickest ({quickest[2]:.3f} s). {given}".strip()
    )


def given_words(wiring: str, source: str) -> str:
    """Say what sparsity enforcing learning was told, and what its time leaves out.

    Parameters
    ----------
    wiring : str
        "truth", "file", or the name of the learner whose parents they are.
    source : str
        The title of that learner; empty for the others.
    """
    if wiring == "truth":
        return "Sparsity enforcing is told the true parents: it shows what could be had at best."
    if wiring == "file":
        return "Sparsity enforcing is told the parents of the file."
    return (
        f"Sparsity enforcing is told the parents that {source.lower()} has found; its seconds "
        "leave out finding them."
    )
