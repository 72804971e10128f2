"""Data of figures as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.table.csv_text import csv_text

_MISSING = ""


def figure_csv(figure: go.Figure) -> str:
    """Return the points of a figure, one row each, with the name of the curve, x, y and z.

    Parameters
    ----------
    figure : go.Figure
        Figure of curves, bars, histograms or heat maps; other traces are ignored.

    Returns
    -------
    str
        CSV with the columns ``curve``, ``x``, ``y`` and ``z``; z is set for heat maps only.
    """
    rows: list[tuple[Any, ...]] = [("curve", "x", "y", "z")]
    for place, trace in enumerate(figure.data, start=1):
        name = trace.name or f"{trace.type} {place}"
        rows += [(name, *row) for row in _points(trace)]
    return csv_text(rows)


def _points(trace: Any) -> Iterator[tuple[Any, Any, Any]]:
    x, y, z = (_values(getattr(trace, axis, None)) for axis in ("x", "y", "z"))
    if z is not None:
        for r, line in enumerate(z):
            for c, value in enumerate(line):
                yield _at(x, c), _at(y, r), value
        return
    for k in range(max(0 if x is None else len(x), 0 if y is None else len(y))):
        yield _at(x, k), _at(y, k), _MISSING


def _values(data: Any) -> list[Any] | None:
    return None if data is None else np.asarray(data).tolist()


def _at(values: list[Any] | None, k: int) -> Any:
    if values is None:
        return k
    return _MISSING if k >= len(values) or values[k] is None else values[k]
