"""Files of the Budget page."""

from __future__ import annotations

from functools import partial

from graftviz.errors import InputError
from graftviz.table.csv_text import csv_text
from graftviz.ui.background import Background
from graftviz.ui.budget.jobs import RunProgress
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.budget.work import source
from graftviz.ui.frame.header import PageFile

PATIENCE = 60.0  # seconds a download waits for the run
# Column of the table: key of the step's record.
_VALUES = {
    "complexity": "value",
    "width": "width",
    "infeasible": "infeasible",
    "gradient": "norm",
    "nll": "nll",
}


def budget_files(state: BudgetState) -> list[PageFile]:
    """Return the files of the run on show; none before there is one."""
    work, shown = state.run, state.shown
    if work is None or shown is None:
        return []
    names = source(shown.data, shown.seed).material.train.names
    build = partial(build_steps, work, names)
    return [PageFile("budget.csv", "Steps, one row per edge (CSV)", "text/csv", build)]


def build_steps(work: Background[RunProgress], names: tuple[str, ...]) -> str:
    """Return budget.csv: the model without edges, then one row per activated edge.

    Raises
    ------
    InputError
        When the run has no step yet.
    """
    work.wait_for_end(PATIENCE)
    if work.latest is None:
        raise InputError(work.failure or "The run has no step yet; try again.")
    rows = []
    for number, step in enumerate(work.latest.steps):
        ends = (None, None) if step["edge"] is None else (names[i] for i in step["edge"])
        rows.append([number, *ends, *(step[name] for name in _VALUES.values())])
    return csv_text([["step", "source", "target", *_VALUES], *rows])
