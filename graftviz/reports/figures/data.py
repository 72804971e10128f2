"""Data of figures as CSV."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.utils.files import csv_text

_MISSING = ""
_TAG = re.compile(r"<[^>]*>")


def figure_csv(figure: go.Figure) -> str:
    """Return the points of a figure as CSV, one row each, with the titles of the axes as names.

    Parameters
    ----------
    figure : go.Figure
        Figure of curves, bars, histograms or heat maps; other traces are ignored.

    Returns
    -------
    str
        The first column is the name of the curve, the next are its x and y. Where the axes of one
        direction have several titles, the column is called ``x`` or ``y`` and follows a column
        with the title. A figure with heat maps has a last column ``value``.

    Examples
    --------
    >>> print(figures.figure_csv(figures.degree_figure(model)))
    curve,degree,nodes
    scatter 1,1,1
    scatter 1,2,9
    scatter 1,3,1
    """
    curves = [
        (trace.name or f"{trace.type} {place}", trace, points)
        for place, trace in enumerate(figure.data, start=1)
        if (points := list(_points(trace)))
    ]
    titles = {
        axis: [_title(figure, axis, getattr(trace, f"{axis}axis", None)) for _, trace, _ in curves]
        for axis in "xy"
    }
    names = {axis: found[0] if len(set(found)) == 1 else "" for axis, found in titles.items()}
    if names["x"] == names["y"]:
        names = {"x": "", "y": ""}
    is_named = {axis: not names[axis] and any(found) for axis, found in titles.items()}
    has_values = any(trace.z is not None for _, trace, _ in curves if "z" in trace)

    header = ["curve"]
    for axis in "xy":
        header += [f"{axis} axis", axis] if is_named[axis] else [names[axis] or axis]
    rows = [[*header, "value"] if has_values else header]
    for (name, _, points), *own in zip(curves, titles["x"], titles["y"], strict=True):
        for x, y, value in points:
            row = [name]
            for axis, title, place in zip("xy", own, (x, y), strict=True):
                row += [title, place] if is_named[axis] else [place]
            rows.append([*row, value] if has_values else row)
    return csv_text(rows)


def _title(figure: go.Figure, axis: str, name: str | None) -> str:
    """Return the title of an axis, or else the only title in its direction."""
    own = (name or axis).replace(axis, f"{axis}axis", 1)
    texts = {
        key: html.unescape(_TAG.sub("", layout.title.text or ""))
        for key in figure.layout
        if key.startswith(f"{axis}axis") and (layout := figure.layout[key]) is not None
    }
    others = set(filter(None, texts.values()))
    return texts.get(own) or (others.pop() if len(others) == 1 else "")


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
