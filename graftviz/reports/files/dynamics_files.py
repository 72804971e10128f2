"""Files of a linear dynamical system: result.json, matrix.csv, and tables of edges and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.learners import has_seeds
from graftviz.dynamics.learning import DynamicsResult
from graftviz.dynamics.system import LinearSystem
from graftviz.reports.files.run_folder import peak_memory_mb
from graftviz.utils.files import csv_text, json_text
from graftviz.utils.options import attributes, option_values
from graftviz.utils.version import __version__

MEASURES = (
    *("learner", "wiring", "parents", "seeds", "pred_error_test", "standard_error"),
    *("pred_error_train", "entries", "seconds", "recall", "precision", "coefficient_error"),
)


def dynamics_json(result: DynamicsResult, *, rows: int, rows_test: int | None) -> str:
    """Return `result` as JSON text.

    ``rows`` and ``rows_test`` are the numbers of training and of held-out rows. ``seeds`` and
    ``uncovered`` (series that are not covered by a seed; also under the older key ``unspoken``)
    hold names of series; they are None for learners without seeds.
    """
    learner, names = result.learner, result.system.names
    seeded = has_seeds(learner)
    uncovered = [names[i] for i in result.uncovered] if seeded else None
    record = {
        "learner": learner.name,
        "options": option_values(learner),
        "seed": result.seed,
        "series": len(names),
        "rows": rows,
        "rows_test": rows_test,
        **attributes(result, "pred_error_train", "pred_error_test"),
        "spectral_radius": result.system.spectral_radius,
        "seconds": result.seconds,
        "seeds": [names[i] for i in result.seeds] if seeded else None,
        "unspoken": uncovered,
        "uncovered": uncovered,
        "entries": int(result.system.coefficients.nnz),
        "intercept": result.system.intercept if learner.centre else None,
        "work": result.work._asdict(),
        "notes": list(result.notes),
        "complete": result.complete,
        "peak_memory_mb": peak_memory_mb(),
        "version": __version__,
    }
    return json_text(record)


def coefficient_frame(system: LinearSystem, deviations: np.ndarray) -> pd.DataFrame:
    """Return one row per coefficient: the series that drives, the driven one, value and error.

    Parameters
    ----------
    system : LinearSystem
    deviations : float array
        See :func:`graftviz.dynamics.coefficient_deviations`.
    """
    matrix, names = system.coefficients, np.array(system.names, dtype=object)
    targets = np.repeat(np.arange(system.n_series), np.diff(matrix.indptr))
    return pd.DataFrame(
        {
            "source": names[matrix.indices],
            "target": names[targets],
            "coefficient": matrix.data,
            "standard_error": deviations,
        }
    )


def measured_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return measures of methods as CSV; what was not measured is empty."""
    lines = [["" if row.get(name) is None else row[name] for name in MEASURES] for row in rows]
    return csv_text([MEASURES, *lines])


def parents_csv(frame: pd.DataFrame) -> str:
    """Return coefficients as CSV; a file of parents has the same first two columns."""
    return csv_text([tuple(frame.columns), *frame.itertuples(index=False)])


def series_csv(series: TimeSeries) -> str:
    """Return series as CSV: one row per time, with the times if there are any."""
    names = ("time", *series.names) if series.times else series.names
    times = [[time] for time in series.times] or [[] for _ in range(series.n_rows)]
    rows = zip(times, series.values.tolist(), strict=True)
    return csv_text([names, *([*time, *map(repr, row)] for time, row in rows)])


def matrix_csv(system: LinearSystem) -> str:
    """Return A as CSV: one row per target series, with its name and exact floats."""
    rows = zip(system.names, system.matrix.tolist(), strict=True)
    texts = ([name, *("0" if value == 0.0 else repr(value) for value in row)] for name, row in rows)
    return csv_text([("target", *system.names), *texts])
