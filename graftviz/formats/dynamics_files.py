"""Files of a linear dynamical system: result.json, matrix.csv, and tables of edges and series."""

from __future__ import annotations

from graftviz._version import __version__
from graftviz.dynamics import DynamicsResult, LinearSystem, TimeSeries, has_seeds
from graftviz.formats.json_values import json_text
from graftviz.formats.result_json import peak_memory_mb
from graftviz.options import attributes, option_values
from graftviz.table.csv_text import csv_text


def dynamics_json(result: DynamicsResult, *, rows: int, rows_test: int | None) -> str:
    """Return `result` as JSON text.

    ``rows`` and ``rows_test`` are the numbers of training and of held-out rows. ``seeds`` and
    ``unspoken`` (series without a seed) hold names of series; they are None for learners without
    seeds.
    """
    learner, names = result.learner, result.system.names
    seeded = has_seeds(learner)
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
        "unspoken": [names[i] for i in result.unspoken] if seeded else None,
        "entries": int(result.system.coefficients.nnz),
        "intercept": result.system.intercept if learner.centre else None,
        "work": result.work._asdict(),
        "notes": list(result.notes),
        "complete": result.complete,
        "peak_memory_mb": peak_memory_mb(),
        "version": __version__,
    }
    return json_text(record)


def parents_csv(system: LinearSystem) -> str:
    """Return one line per coefficient: the series that drives, the driven one, and its value.

    A file of parents has the same first two columns.
    """
    entries = system.coefficients.tocoo()
    rows = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    names = system.names
    lines = ((names[j], names[i], repr(value)) for i, j, value in sorted(rows))
    return csv_text([("source", "target", "coefficient"), *lines])


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
