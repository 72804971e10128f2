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
    """Return the lines of a table: what, and both numbers; lines without numbers are left out."""
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
    """Say in a title and a sentence or two each why the runs differ."""
    lines = [("Explains away", _explaining(other, best))]
    if settings is not None and settings.significance > 0:
        lines.append(
            (
                "Measures in noise",
                f"A score must exceed {settings.significance:g} times its own sampling noise (κ), "
                "so no λ has to be tuned.",
            )
        )
    if best.removed:
        lines.append(
            (
                "Prunes",
                f"It took out {plural(best.removed, 'edge')} that later ones made superfluous.",
            )
        )
    elif settings is not None and settings.refit:
        lines.append(("Prunes", "At the end it asks of every edge whether it is needed; all are."))
    return lines


def _explaining(other: Side, best: Side) -> str:
    asks = "Best asks what a pair adds to the edges there are"
    owner = f"{other.name[:1].upper()}{other.name[1:]}"
    if not other.indirect or best.indirect is None:
        return (
            f"{owner} scores raw correlation, so pairs pass that are joined only through others. "
            f"{asks}."
        )
    return (
        f"{owner} scores raw correlation: {other.indirect:,} of its {other.false_edges:,} false "
        f"edges join variables that merely share a neighbour. {asks}: {best.indirect:,} such."
    )
