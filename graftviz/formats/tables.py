"""edges.csv and trace.csv: a run for spreadsheets and data frames.

A cell is empty where a value does not apply. Floats are written so that they read back unchanged.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graftviz.metrics import StepMetrics
from graftviz.runs import Result
from graftviz.trace import Step

EDGE_COLUMNS = ("source", "target", "weight_norm", "step")
TRACE_COLUMNS = (
    *("step", "edges", "activated", "objective", "kkt_residual"),
    *("recall", "precision", "nlpl_test", "tests", "tables_counted"),
    *("reservoir_size", "reservoir_mean", "tau", "reservoir_max"),
    *("queue", "frozen", "unseen", "hubs", "seconds"),
)


def edges_csv(result: Result) -> str:
    """Return one line per edge in order of activation: two names, ‖w_ij‖₂, and its step."""
    names = result.model.names
    return _csv(
        EDGE_COLUMNS,
        (
            (names[i], names[j], norm, step)
            for (i, j), norm, step in zip(
                result.model.edges.tolist(),
                result.model.edge_norms().tolist(),
                activation_steps(result).tolist(),
                strict=True,
            )
        ),
    )


def trace_csv(result: Result) -> str:
    """Return one line per step.

    ``activated`` holds pairs of column numbers, ``i-j;i-j``, best score first; ``tests``,
    ``tables_counted`` and ``seconds`` are totals so far; ``hubs`` is their number.
    """
    rows = zip(result.trace.steps, result.metrics, strict=True)
    return _csv(TRACE_COLUMNS, (_trace_row(step, metrics) for step, metrics in rows))


def activation_steps(result: Result) -> np.ndarray:
    """Return the step in which each edge of the final model was activated, int64, shape (m,)."""
    counts = np.array([step.edges for step in result.trace.steps], dtype=np.int64)
    return np.searchsorted(counts, np.arange(result.model.n_edges), side="right") + 1


def _trace_row(step: Step, metrics: StepMetrics) -> tuple[Any, ...]:
    reservoir = step.reservoir
    view: tuple[Any, ...] = (None, None, None, None)
    if reservoir is not None:
        view = (len(reservoir.scores), reservoir.mean, reservoir.tau, reservoir.maximum)
    return (
        *(step.index, step.edges, ";".join(f"{i}-{j}" for i, j, _ in step.activated)),
        *(step.objective, step.kkt_residual),
        *(metrics.recall, metrics.precision, metrics.nlpl_test),
        *(step.tests_total, step.tables_counted, *view),
        *(step.queue, step.frozen, step.unseen, len(step.hubs), step.seconds.total),
    )


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    # csv writes None as an empty cell and a float as its shortest exact text.
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([value.item() if isinstance(value, np.generic) else value for value in row])
    return text.getvalue()
