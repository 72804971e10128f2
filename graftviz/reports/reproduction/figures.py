"""Figures of the papers: lines with spread, learning curves, ranks, grids, planes, forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
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
from graftviz.reports.reproduction.claims import Frame, NotMeasured, power
from graftviz.utils.files import json_value

# Horizontal axes of learning curves in order of preference.
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
_BAND = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
_LEAST_SHOWN = 1e-12  # smaller values are omitted on logarithmic axes
_MOST_ACROSS = 3  # panels side by side; more are in rows of two


def scale_look(k: int, *, faint: bool = False) -> Look:
    """Return the look of value number `k` of an ordered series; `faint` for a variant of it."""
    look = Look(_SCALE[k % len(_SCALE)], _DASHES[k % len(_DASHES)], _SYMBOLS[k % len(_SYMBOLS)])
    return look._replace(symbol=f"{look.symbol}-open", dash="dot") if faint else look


# --- lines of means -----------------------------------------------------------------------------


def line_figure(
    title: str,
    rows: Frame,
    *,
    x: str,
    x_title: str,
    y: Mapping[str, str],
    looks: Mapping[str, Look],
    line: str = "method",
    panel: str = "panel",
    share_y: bool = False,
    log_x: bool = False,
    log_y: bool | None = False,
    power_of: str = "",
) -> go.Figure:
    """Draw means and standard deviations of columns against another column.

    Parameters
    ----------
    x, x_title : str
        Column of the horizontal axis, and its title.
    y : dict
        Titles by column; one panel for each that is measured.
    looks : dict
        By name of the line, in the order of the legend.
    line, panel : str
        Columns of the names of lines, and of panels with their own rows, if the rows have it.
    share_y : bool
        Whether all panels have the same vertical axis.
    log_x : bool
    log_y : bool or None
        None: logarithmic if the largest mean is more than twice the smallest.
    power_of : str
        Symbol of x, of which fitted powers are written beside the lines; empty for none.

    Raises
    ------
    NotMeasured
        If no row has one of the columns, or a line has no look.
    """
    names = rows[panel] if panel in rows else pd.Series("", rows.index)
    panels = [
        (name if isinstance(name, str) else f"{panel} {name}", here, column)
        for name, here in rows.groupby(names, sort=False)
        for column in y
        if column in here and here[column].notna().any()
    ]
    if len(rows) and not panels:
        columns, present = ", ".join(y), ", ".join(rows)
        raise NotMeasured(f"There is none of the columns {columns} in a row with {present}.")
    across = max(len(panels), 1) if len(panels) <= _MOST_ACROSS else 2
    n_rows = max(-(-len(panels) // across), 1)
    figure = make_subplots(
        rows=n_rows,
        cols=across,
        subplot_titles=[name for name, _, _ in panels] or None,
        horizontal_spacing=0.08,
        vertical_spacing=0.3 / n_rows,
        shared_yaxes="all" if share_y else False,
    )
    named: set[str] = set()
    for k, (_, here, column) in enumerate(panels):
        at = {"row": k // across + 1, "col": k % across + 1}
        if unknown := [str(key) for key in here[line].unique() if key not in looks]:
            raise NotMeasured(f"There is no look for the {line} {', '.join(unknown)}.")
        lines = {name: _mean_line(here[here[line] == name], x, column) for name in looks}
        lines = {name: drawn for name, drawn in lines.items() if len(drawn)}
        means = pd.concat([drawn["mean"] for drawn in lines.values()])
        is_log = means.max() > 2.0 * means.min() if log_y is None else log_y
        for name, drawn in lines.items():
            shown = drawn["mean"].mask(is_log & (drawn["mean"] < _LEAST_SHOWN))
            bars = {"type": "data", "array": drawn["spread"].tolist(), "thickness": 1.2, "width": 3}
            trace = curve(
                name,
                drawn.index.tolist(),
                json_value(shown.tolist()),
                looks[name],
                hover=f"{name}<br>%{{x:.4g}}: %{{y:.4g}}",
                sizes=9,
                width=2,
                error_y=bars if (drawn["count"] > 1).any() else None,
                legendgroup=name,
                showlegend=name not in named,
            )
            named.add(name)
            figure.add_trace(trace, **at)
            last_x, last = drawn.index[-1], drawn["mean"].iloc[-1]
            if power_of and len(drawn) > 1 and not math.isnan(last):
                figure.add_annotation(
                    x=math.log10(last_x) if log_x else last_x,
                    y=math.log10(max(last, 1.0)) if is_log else last,
                    text=f"∝ {power_of}^{power(drawn['mean']):.2f}",
                    showarrow=False,
                    xanchor="right",
                    yanchor="bottom",
                    font={"color": looks[name].color, "size": 15},
                    **at,
                )
        figure.update_xaxes(title_text=x_title, **at)
        figure.update_yaxes(title_text=y[column], **at)
        if log_x:
            ticks = sorted({value for drawn in lines.values() for value in drawn.index})
            words = [f"{value:,g}" for value in ticks]
            figure.update_xaxes(type="log", tickvals=ticks, ticktext=words, **at)
        if is_log:
            figure.update_yaxes(type="log", exponentformat="power", **at)
    finish(figure, title, 600 + (n_rows - 1) * 330)
    return figure.update_layout(legend=LEGEND_BELOW, margin={"b": 160, "t": 110})


def _mean_line(rows: Frame, x: str, column: str) -> Frame:
    """Return mean, spread and number of the runs by x; no mean where a run has no value."""
    runs = rows[column].astype(float).groupby(rows[x].astype(float))
    means = runs.mean().where(runs.count() == runs.size())
    found = pd.DataFrame({"mean": means, "spread": runs.std(ddof=0), "count": runs.size()})
    found.index = rows.groupby(x)[column].size().index  # whole numbers stay whole
    return found.assign(spread=found["spread"].where(means.notna(), 0.0))


# --- learning curves ----------------------------------------------------------------------------


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


def learning_curves(
    title: str, panels: Mapping[str, Mapping[str, Sequence[Line]]], *, axis: str = "ratio"
) -> go.Figure:
    """Draw a row of panels for every quantity, with a menu of horizontal axes.

    Parameters
    ----------
    panels : dict
        Lines by title of the panel and of the quantity.
    axis : str
        Initial key of :data:`AXES`, if all lines have it.
    """
    quantities = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    n_rows, n_columns = max(len(quantities), 1), max(len(panels), 1)
    figure = make_subplots(
        rows=n_rows,
        cols=n_columns,
        subplot_titles=list(panels) or None,
        horizontal_spacing=0.07,
        vertical_spacing=0.1,
    )
    drawn: list[Line] = []
    for row, quantity in enumerate(quantities, start=1):
        figure.update_yaxes(title_text=quantity, row=row, col=1)
        for column, lines in enumerate(panels.values(), start=1):
            for line in lines.get(quantity, ()):
                # A few symbols distinguish lines without colour.
                every = max(len(line.y) // 8, 1)
                trace = curve(
                    line.name,
                    None,
                    list(line.y),
                    line.look,
                    hover=f"{line.name}<br>%{{x:.4g}}, %{{y:.5g}}",
                    sizes=[9 if k % every == 0 else 0 for k in range(len(line.y))],
                    width=2,
                    legendgroup=line.name,
                    showlegend=all(line.name != other.name for other in drawn),
                )
                figure.add_trace(trace, row=row, col=column)
                drawn.append(line)
    order = [key for key in AXES if all(key in line.x for line in drawn)]
    if drawn and order:
        order.sort(key=lambda key: key != axis)
        for trace, line in zip(figure.data, drawn, strict=True):
            trace.x = list(line.x[order[0]])
        figure.update_xaxes(title_text=AXES[order[0]], row=n_rows)
        last_row = range((n_rows - 1) * n_columns + 1, n_rows * n_columns + 1)
        menu = {"x": 1.0, "xanchor": "right", "y": 1.0, "yanchor": "bottom", "pad": {"b": 35}}
        menu["buttons"] = [_axis_button(key, drawn, last_row) for key in order]
        if len(order) > 1:
            figure.update_layout(updatemenus=[{**menu, "font": {"size": 14}}])
    # The legend is below the panels; titles and menu are above.
    finish(figure, title, 160 + 400 * n_rows)
    return figure.update_layout(legend=LEGEND_BELOW, margin={"b": 130, "t": 130})


def _axis_button(key: str, drawn: Sequence[Line], axes: Sequence[int]) -> dict[str, Any]:
    """Return the button of a horizontal axis, which moves all lines."""
    titles = {f"xaxis{'' if k == 1 else k}.title.text": AXES[key] for k in axes}
    places = {"x": [list(line.x[key]) for line in drawn]}
    return {"label": AXES[key], "method": "update", "args": [places, titles]}


# --- ranks, grids, planes -----------------------------------------------------------------------


def rank_figure(title: str, ranks: Frame, possible: int) -> go.Figure:
    """Draw mean, expected and extreme ranks against the size of the reservoir.

    Ranks are in percent of `possible`; the size has a logarithmic axis.
    """
    shares = 100.0 * ranks / possible
    sizes = ranks["reservoir"].tolist()
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(x=sizes, y=shares["largest_rank"].tolist(), showlegend=False, **_BAND)
    )
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=shares["least_rank"].tolist(),
            name="range of all trials",
            fill="tonexty",
            fillcolor="rgba(0, 114, 178, 0.2)",
            **_BAND,
        )
    )
    for name, column, color, dash in (
        ("mean of the trials", "mean_rank", BLUE, "solid"),
        ("expected, 1 / (|R| + 1)", "expected_rank", ORANGE, "dash"),
    ):
        figure.add_trace(
            go.Scatter(
                x=sizes,
                y=shares[column].tolist(),
                name=name,
                mode="lines",
                line={"color": color, "dash": dash, "width": 3},
                hovertemplate=f"{name}<br>|R| = %{{x}}: %{{y:.3g}} %<extra></extra>",
            )
        )
    figure.update_xaxes(title_text="size of the reservoir |R|", type="log", dtick=1)
    figure.update_yaxes(title_text="rank of its best edge, % of all pairs", rangemode="tozero")
    return finish(figure, title, 560)


def grid_figure(
    title: str, grids: Mapping[str, tuple[Frame, bool]], row_name: str, column_name: str
) -> go.Figure:
    """Draw grids of two options side by side, with the value in every cell; darker is better.

    Parameters
    ----------
    grids : dict
        Values with the options as index and columns, and whether lower is better, by title.
    """
    figure = make_subplots(rows=1, cols=max(len(grids), 1), subplot_titles=list(grids) or None)
    for column, (grid, lower_is_better) in enumerate(grids.values(), start=1):
        figure.add_trace(
            go.Heatmap(
                x=[f"{value:g}" for value in grid.columns],
                y=[f"{value:g}" for value in grid.index],
                z=json_value(grid.to_numpy()),
                colorscale="viridis" if lower_is_better else "viridis_r",
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


def plane_figure(
    title: str, plane: Frame, *, x_title: str, y_title: str, name: str, border: float
) -> go.Figure:
    """Draw a heat map of values over two strengths, with the contour at `border`."""
    values = json_value(plane.to_numpy())
    places = {"x": plane.columns.tolist(), "y": plane.index.tolist(), "z": values}
    hover = f"{x_title} = %{{x}}<br>{y_title} = %{{y}}<br>{name} = %{{z:.3f}}<extra></extra>"
    colorbar = {"title": {"text": name}}
    figure = go.Figure(
        go.Heatmap(**places, colorscale="viridis", colorbar=colorbar, hovertemplate=hover)
    )
    if np.nanmin(plane) < border < np.nanmax(plane):
        label = {"showlabels": True, "labelfont": {"size": 16, "color": "white"}}
        figure.add_trace(
            go.Contour(
                **places,
                autocontour=False,
                contours={"type": "constraint", "operation": "=", "value": border, **label},
                line={"color": "white", "width": 3},
                name=f"{name} = {border:g}",
                hoverinfo="skip",
                showlegend=False,
            )
        )
    figure.update_xaxes(title_text=x_title)
    figure.update_yaxes(title_text=y_title)
    return finish(figure, title, 560)


# --- forecasts ----------------------------------------------------------------------------------


def forecast_figure(
    title: str, panels: Sequence[Mapping[str, Any]], *, name: str, baseline: str, x_title: str
) -> go.Figure:
    """Draw two panels per row: observation, forecast with its band, and baseline forecast.

    Parameters
    ----------
    panels : sequence of dict
        The "title" of each series, "actual" and "predicted" values, the "deviation" of the latter
        in training, and the forecasts of the "baseline".
    name, baseline : str
        Names of the two methods.
    """
    rows = max((len(panels) + 1) // 2, 1)
    figure = make_subplots(
        rows=rows,
        cols=2,
        subplot_titles=[panel["title"] for panel in panels] or None,
        horizontal_spacing=0.07,
        vertical_spacing=0.13,
    )
    for k, panel in enumerate(panels):
        x = list(range(len(panel["actual"])))
        at = {"row": k // 2 + 1, "col": k % 2 + 1}
        predicted = np.array(panel["predicted"], float)
        upper, lower = (json_value(predicted + s * 2.0 * panel["deviation"]) for s in (1, -1))
        figure.add_trace(go.Scatter(x=x, y=upper, showlegend=False, **_BAND), **at)
        figure.add_trace(
            go.Scatter(
                x=x,
                y=lower,
                name="± 2 deviations in training",
                legendgroup="band",
                showlegend=k == 0,
                fill="tonexty",
                fillcolor="rgba(0, 114, 178, 0.18)",
                **_BAND,
            ),
            **at,
        )
        for words, values, color, dash in (
            (baseline, panel["baseline"], VERMILION, "dot"),
            (name, panel["predicted"], BLUE, "solid"),
            ("observed", panel["actual"], BLACK, "dash"),
        ):
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=list(values),
                    name=words,
                    legendgroup=words,
                    showlegend=k == 0,
                    mode="lines",
                    line={"color": color, "dash": dash, "width": 1.8},
                    hovertemplate=f"{words}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
                ),
                **at,
            )
    figure.update_xaxes(dtick=24)
    figure.update_xaxes(title_text=x_title, row=rows)
    finish(figure, title, 190 + 330 * rows)
    return figure.update_layout(legend=LEGEND_BELOW, margin={"b": 120, "t": 110})
