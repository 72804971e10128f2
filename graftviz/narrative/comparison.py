"""Sentences and numbers on the difference between a run and that of preset best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.learners.settings import Settings
from graftviz.narrative.phrases import plural
from graftviz.runs import Result

_QUANTITIES = (
    ("Edges", "edges", ",d"),
    ("Precision", "precision", ".2f"),
    ("Recall", "recall", ".2f"),
    ("Held-out NLPL", "nlpl_test", ".3f"),
)


def quantity_rows(runs: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return the rows of a table: quantity and its values; rows without values are omitted."""
    rows = []
    for label, name, form in _QUANTITIES:
        numbers = [getattr(run, name) for run in runs]
        if any(number is not None for number in numbers):
            cells = ("–" if number is None else format(number, form) for number in numbers)
            rows.append((label, *cells))
    return rows


def false_edges(result: Result, truth: np.ndarray) -> tuple[int, int]:
    """Return the number of false edges, and of those between neighbours of a common variable."""
    neighbours: list[set[int]] = [set() for _ in range(result.variables)]
    for i, j in truth.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    wrong = [(i, j) for i, j in result.model.edges.tolist() if j not in neighbours[i]]
    return len(wrong), sum(bool(neighbours[i] & neighbours[j]) for i, j in wrong)


def reasons_for_difference(
    name: str, other: Result, best: Result, truth: np.ndarray | None, settings: Settings | None
) -> list[tuple[str, str]]:
    """Return titles and explanations of the differences between a run and that of preset best.

    Parameters
    ----------
    name : str
        Name of the method of the first run.
    other, best : Result
    truth : int array, shape (k, 2), or None
    settings : Settings or None
        Settings of preset best.
    """
    owner = f"{name[:1].upper()}{name[1:]} scores raw correlation"
    rule = "Best scores the improvement by a pair given the active edges"
    wrong, indirect = (0, 0) if truth is None else false_edges(other, truth)
    text = f"{owner}, so indirectly connected pairs also pass. {rule}."
    if truth is not None and indirect:
        text = (
            f"{owner}: {indirect:,} of its {wrong:,} false edges join variables that only share a "
            f"neighbour. {rule}: {plural(false_edges(best, truth)[1], 'such edge')}."
        )
    lines = [("Explains away", text)]
    if settings is not None and settings.significance > 0:
        text = (
            f"A score must exceed κ = {settings.significance:g} times its sampling noise, so λ "
            "needs no tuning."
        )
        lines.append(("Noise-based threshold", text))
    outcome = best.trace.outcome
    if removed := 0 if outcome is None else sum(map(len, outcome.history.removals)):
        text = f"Removed {plural(removed, 'edge')} that later edges made redundant."
        lines.append(("Pruning", text))
    elif settings is not None and settings.refit:
        lines.append(("Pruning", "At the end, tries removing each edge; none could go."))
    return lines
