"""Style of all figures, and their data as CSV."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.utils.files import csv_text

# Palette of Okabe and Ito without yellow, which is invisible in thin lines.
BLACK = "#000000"
ORANGE = "#BD7A00"  # darker than the original, which is too pale for lines on white
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#9E4876"
GREY = "#7F7F7F"
LEGEND_BELOW = {"x": 0.0, "xanchor": "left", "yref": "container", "y": 0.0, "yanchor": "bottom"}
_GRID = "rgba(127, 127, 127, 0.25)"  # visible on light and on dark backgrounds


class Look(NamedTuple):
    """Colour, dash and symbol of a curve."""

    color: str
    dash: str
    symbol: str


def curve(
    name: str,
    x: Any,
    y: Any,
    look: Look,
    *,
    hover: str,
    sizes: int | Sequence[int] = 8,
    width: float = 2.2,
    **more: Any,
) -> go.Scatter:
    """Return a line with a marker at every point; `hover` is the text shown for a point."""
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        line={"color": look.color, "dash": look.dash, "width": width},
        marker={"color": look.color, "symbol": look.symbol, "size": sizes},
        hovertemplate=f"{hover}<extra></extra>",
        **{"mode": "lines+markers", **more},
    )


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Set title, fonts, grid and legend of `figure`; the background is transparent."""
    figure.update_layout(
        title={
            "text": escaped(title),
            "font": {"size": 20},
            "x": 0.01,
            "xanchor": "left",
            "y": 0.98,
            "yanchor": "top",
        },
        font={"size": 15},
        height=height,
        margin={"l": 80, "r": 40, "t": 100, "b": 70},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"font": {"size": 14}},
        legend={
            "orientation": "h",
            "x": 1.0,
            "xanchor": "right",
            "yref": "container",
            "y": 0.94,
            "yanchor": "top",
        },
    )
    figure.update_xaxes(gridcolor=_GRID, zeroline=False, linecolor=GREY, ticks="outside")
    figure.update_yaxes(gridcolor=_GRID, zeroline=False, linecolor=GREY, ticks="outside")
    return figure


def figure_html(figure: go.Figure) -> str:
    """Return `figure` as a self-contained HTML page that includes Plotly.

    Examples
    --------
    >>> page = figures.figure_html(result.plot())
    >>> page.startswith("<!doctype html>")
    True
    """
    page: str = figure.to_html(include_plotlyjs=True, config={"displaylogo": False})
    return page


def escaped(text: str) -> str:
    """Return `text` with HTML escaped, because Plotly interprets tags in names."""
    return html.escape(text, quote=False)


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
