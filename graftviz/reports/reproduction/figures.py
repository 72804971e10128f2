"""Reproduced figures of the papers: learning curves, ranks, counted work, and grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.reports.figures.style import (
    BLACK,
    BLUE,
    LEGEND_BELOW,
    ORANGE,
    VERMILION,
    Look,
    curve,
    finish,
)

_ROW_HEIGHT = 400
# Horizontal axes in order of preference.
AXES = {
    "ratio": "time (edge grafting = 1)",
    "seconds": "processor seconds",
    "tests": "edge tests",
    "tables": "pair tables counted",
    "edges": "active edges",
}
# Viridis without its bright end, dark for small values; each colour has its own dash.
_SCALE = ("#440154", "#3B528B", "#21918C", "#35B779", "#7AB52B")
_DASHES = ("solid", "dash", "longdashdot", "dashdot", "longdash")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")


BASELINE_LOOKS = (
    Look(BLACK, "solid", "x"),
    Look(VERMILION, "dot", "star"),
    Look(BLACK, "dash", "cross"),
)


class Line(NamedTuple):
    """Values and style of one curve.

    Attributes
    ----------
    name : str
    x : dict
        Values by key of :data:`AXES`; axes without values cannot be chosen.
    y : list of float or None
    look : Look
    """

    name: str
    x: Mapping[str, Sequence[float]]
    y: Sequence[float | None]
    look: Look


class CurvePanel(NamedTuple):
    """Title of a panel, and its lines by title of the quantity."""

    title: str
    lines: Mapping[str, Sequence[Line]]


def scale_look(k: int, *, faint: bool = False) -> Look:
    """Return the look of value number `k` of an ordered series; `faint` for a variant of it."""
    look = Look(_SCALE[k % len(_SCALE)], _DASHES[k % len(_DASHES)], _SYMBOLS[k % len(_SYMBOLS)])
    return look._replace(symbol=f"{look.symbol}-open", dash="dot") if faint else look


def learning_curves(title: str, panels: Sequence[CurvePanel], *, axis: str = "ratio") -> go.Figure:
    """Draw a row of panels for every quantity, with a menu of horizontal axes.

    Parameters
    ----------
    axis : str
        Initial key of :data:`AXES`, if all lines have it.
    """
    quantities = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    figure = make_subplots(
        rows=max(len(quantities), 1),
        cols=max(len(panels), 1),
        subplot_titles=[panel.title for panel in panels] if panels else None,
        horizontal_spacing=0.07,
        vertical_spacing=0.1,
    )
    drawn: list[Line] = []
    for row, quantity in enumerate(quantities, start=1):
        figure.update_yaxes(title_text=quantity, row=row, col=1)
        for column, panel in enumerate(panels, start=1):
            for line in panel.lines.get(quantity, ()):
                named_before = any(line.name == other.name for other in drawn)
                figure.add_trace(_trace(line, shown=not named_before), row=row, col=column)
                drawn.append(line)
    axes = [key for key in AXES if all(key in line.x for line in drawn)]
    if drawn and axes:
        first = axis if axis in axes else axes[0]
        order = [first, *(key for key in axes if key != first)]
        for trace, line in zip(figure.data, drawn, strict=True):
            trace.x = list(line.x[first])
        figure.update_xaxes(title_text=AXES[first], row=len(quantities))
        if len(order) > 1:
            _add_axis_menu(figure, order, drawn, len(quantities), len(panels))
    finished = finish(figure, title, 160 + _ROW_HEIGHT * max(len(quantities), 1))
    # The legend is below the panels; titles and menu are above.
    return finished.update_layout(legend=LEGEND_BELOW, margin={"b": 130, "t": 130})


def _trace(line: Line, *, shown: bool) -> go.Scatter:
    count = len(line.y)
    # A few symbols distinguish lines without colour.
    marks = [9 if k % max(count // 8, 1) == 0 else 0 for k in range(count)]
    return curve(
        line.name,
        None,
        list(line.y),
        line.look,
        hover=f"{line.name}<br>%{{x:.4g}}, %{{y:.5g}}",
        sizes=marks,
        width=2,
        legendgroup=line.name,
        showlegend=shown,
    )


def _add_axis_menu(
    figure: go.Figure, order: Sequence[str], drawn: Sequence[Line], rows: int, columns: int
) -> None:
    """Add a menu that changes the horizontal axis."""
    last_row = range((rows - 1) * columns + 1, rows * columns + 1)
    buttons = []
    for key in order:
        titles = {f"xaxis{'' if k == 1 else k}.title.text": AXES[key] for k in last_row}
        buttons.append(
            {
                "label": AXES[key],
                "method": "update",
                "args": [{"x": [list(line.x[key]) for line in drawn]}, titles],
            }
        )
    figure.update_layout(
        updatemenus=[
            {
                "buttons": buttons,
                "x": 1.0,
                "xanchor": "right",
                "y": 1.0,
                "yanchor": "bottom",
                "pad": {"b": 35},
                "font": {"size": 14},
            }
        ]
    )


class Ranks(NamedTuple):
    """Simulated ranks of the best edge of a reservoir, by its size; arrays of equal length."""

    sizes: np.ndarray
    mean: np.ndarray
    expected: np.ndarray
    least: np.ndarray
    largest: np.ndarray


def rank_figure(title: str, ranks: Ranks, possible: int) -> go.Figure:
    """Draw mean, expected and extreme ranks against the size of the reservoir.

    Ranks are in percent of `possible`; the size has a logarithmic axis.
    """
    sizes = ranks.sizes.tolist()
    figure = go.Figure()
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "x": sizes}
    shares = [100.0 * values / possible for values in (ranks.largest, ranks.least)]
    figure.add_trace(go.Scatter(y=shares[0].tolist(), showlegend=False, **band))
    figure.add_trace(
        go.Scatter(
            y=shares[1].tolist(),
            name="range of all trials",
            fill="tonexty",
            fillcolor="rgba(0, 114, 178, 0.2)",
            **band,
        )
    )
    for name, values, color, dash in (
        ("mean of the trials", ranks.mean, BLUE, "solid"),
        ("expected, 1 / (|R| + 1)", ranks.expected, ORANGE, "dash"),
    ):
        figure.add_trace(
            go.Scatter(
                x=sizes,
                y=(100.0 * values / possible).tolist(),
                name=name,
                mode="lines",
                line={"color": color, "dash": dash, "width": 3},
                hovertemplate=f"{name}<br>|R| = %{{x}}: %{{y:.3g}} %<extra></extra>",
            )
        )
    figure.update_xaxes(title_text="size of the reservoir |R|", type="log", dtick=1)
    figure.update_yaxes(title_text="rank of its best edge, % of all pairs", rangemode="tozero")
    return finish(figure, title, 560)


class Grid(NamedTuple):
    """Values of one quantity on a grid of two options."""

    title: str
    rows: Sequence[float]
    columns: Sequence[float]
    values: Sequence[Sequence[float | None]]
    lower_is_better: bool


def grid_figure(title: str, grids: Sequence[Grid], row_name: str, column_name: str) -> go.Figure:
    """Draw grids side by side, with the value in every cell; darker is better."""
    figure = make_subplots(
        rows=1, cols=max(len(grids), 1), subplot_titles=[grid.title for grid in grids] or None
    )
    for column, grid in enumerate(grids, start=1):
        figure.add_trace(
            go.Heatmap(
                x=[f"{value:g}" for value in grid.columns],
                y=[f"{value:g}" for value in grid.rows],
                z=[list(row) for row in grid.values],
                colorscale="viridis" if grid.lower_is_better else "viridis_r",
                showscale=False,
                texttemplate="%{z:.4g}",
                textfont={"size": 14},
                hovertemplate=f"{row_name} = %{{y}}, {column_name} = %{{x}}: %{{z:.6g}}"
                "<extra></extra>",
            ),
            row=1,
            col=column,
        )
    figure.update_xaxes(title_text=column_name, type="category")
    figure.update_yaxes(type="category")
    figure.update_yaxes(title_text=row_name, row=1, col=1)
    return finish(figure, title, 520)
