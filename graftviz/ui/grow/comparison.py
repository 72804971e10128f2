"""Comparison of two runs in numbers and sentences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learners.settings import Settings
from graftviz.narrative.phrases import plural
from graftviz.runs import Result


class Side(NamedTuple):
    """One of two runs on the same data.

    Attributes
    ----------
    name : str
    edges, removed : int
        Edges of the final model, and how many were taken out on the way or at the end.
    false_edges, indirect : int or None
        Edges that are not true, and how many of them join variables with a true common neighbour;
        None where the truth is not known.
    precision, recall, nlpl : float or None
    """

    name: str
    edges: int
    removed: int
    false_edges: int | None
    indirect: int | None
    precision: float | None
    recall: float | None
    nlpl: float | None


def side_of(name: str, result: Result, truth: np.ndarray | None) -> Side:
    """Return the facts about one run."""
    outcome = result.trace.outcome
    removed = 0 if outcome is None else sum(map(len, outcome.history.removals))
    false_edges = indirect = None
    if truth is not None:
        neighbours: list[set[int]] = [set() for _ in range(result.variables)]
        for i, j in truth.tolist():
            neighbours[i].add(j)
            neighbours[j].add(i)
        wrong = [(i, j) for i, j in result.model.edges.tolist() if j not in neighbours[i]]
        false_edges = len(wrong)
        indirect = sum(bool(neighbours[i] & neighbours[j]) for i, j in wrong)
    return Side(
        name,
        result.edges,
        removed,
        false_edges,
        indirect,
        result.precision,
        result.recall,
        result.nlpl_test,
    )


def rows(sides: tuple[Side, Side]) -> list[tuple[str, str, str]]:
    """Return the rows of a table: quantity and both values; rows without values are omitted."""
    lines: list[tuple[str, list[int | float | None], str]] = [
        ("Edges", [side.edges for side in sides], ",d"),
        ("Precision", [side.precision for side in sides], ".2f"),
        ("Recall", [side.recall for side in sides], ".2f"),
        ("Held-out NLPL", [side.nlpl for side in sides], ".3f"),
    ]
    rows = []
    for what, numbers, form in lines:
        first, second = ("–" if number is None else format(number, form) for number in numbers)
        if any(number is not None for number in numbers):
            rows.append((what, first, second))
    return rows


def reasons(other: Side, best: Side, settings: Settings | None) -> list[tuple[str, str]]:
    """Return titles and explanations of the differences between the runs."""
    lines = [("Explains away", _explaining(other, best))]
    if settings is not None and settings.significance > 0:
        lines.append(
            (
                "Noise-based threshold",
                f"A score must exceed κ = {settings.significance:g} times its sampling noise, so λ "
                "needs no tuning.",
            )
        )
    if best.removed:
        lines.append(
            (
                "Pruning",
                f"Removed {plural(best.removed, 'edge')} that later edges made redundant.",
            )
        )
    elif settings is not None and settings.refit:
        lines.append(("Pruning", "At the end, tries removing each edge; none could go."))
    return lines


def _explaining(other: Side, best: Side) -> str:
    rule = "Best scores what a pair adds to the active edges"
    owner = f"{other.name[:1].upper()}{other.name[1:]}"
    if not other.indirect or best.indirect is None:
        return f"{owner} scores raw correlation, so indirectly connected pairs also pass. {rule}."
    return (
        f"{owner} scores raw correlation: {other.indirect:,} of its {other.false_edges:,} false "
        f"edges join variables that only share a neighbour. {rule}: "
        f"{plural(best.indirect, 'such edge')}."
    )
