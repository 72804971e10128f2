"""Sentences and numbers on the difference between a run and that of preset best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.learning.run import LearningResult
from graftviz.learning.settings import Settings
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import counted

_QUANTITIES = (
    ("edges", "n_edges", ",d"),
    ("precision", "precision", ".2f"),
    ("recall", "recall", ".2f"),
    ("nlpl", "nlpl_test", ".3f"),
)


def quantity_rows(runs: Sequence[LearningResult]) -> list[tuple[str, ...]]:
    """Return the rows of a table: quantity and its values; rows without values are omitted."""
    rows, texts = [], catalogue("grow")["comparison"]
    for key, name, form in _QUANTITIES:
        numbers = [getattr(run, name) for run in runs]
        if any(number is not None for number in numbers):
            cells = ("–" if number is None else format(number, form) for number in numbers)
            rows.append((texts[key], *cells))
    return rows


def false_edges(result: LearningResult, truth: np.ndarray) -> tuple[int, int]:
    """Return the number of false edges, and of those between neighbours of a common variable."""
    neighbours: list[set[int]] = [set() for _ in range(result.n_variables)]
    for i, j in truth.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    wrong = [(i, j) for i, j in result.model.edges.tolist() if j not in neighbours[i]]
    return len(wrong), sum(bool(neighbours[i] & neighbours[j]) for i, j in wrong)


def reasons_for_difference(
    name: str,
    other: LearningResult,
    best: LearningResult,
    truth: np.ndarray | None,
    settings: Settings | None,
) -> list[tuple[str, str]]:
    """Return titles and explanations of the differences between a run and that of preset best.

    Parameters
    ----------
    name : str
        Name of the method of the first run.
    other, best : LearningResult
    truth : int array, shape (k, 2), or None
    settings : Settings or None
        Settings of preset best.
    """
    texts = catalogue("grow")["comparison"]
    owner, rule = f"{name[:1].upper()}{name[1:]}", texts["rule"]
    wrong, indirect = (0, 0) if truth is None else false_edges(other, truth)
    text = texts["raw"].format(name=owner, rule=rule)
    if truth is not None and indirect:
        numbers = {"indirect": f"{indirect:,}", "wrong": f"{wrong:,}"}
        shared = false_edges(best, truth)[1]
        text = counted(texts["indirect"], shared, name=owner, rule=rule, **numbers)
    lines = [(texts["explains"], text)]
    if settings is not None and settings.significance > 0:
        text = texts["noise_rule"].format(kappa=f"{settings.significance:g}")
        lines.append((texts["noise"], text))
    outcome = best.trace.outcome
    if removed := 0 if outcome is None else sum(map(len, outcome.history.removals)):
        lines.append((texts["pruning"], counted(texts["pruned"], removed)))
    elif settings is not None and settings.refit:
        lines.append((texts["pruning"], texts["none_pruned"]))
    return lines
