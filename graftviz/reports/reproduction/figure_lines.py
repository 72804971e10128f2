"""Line charts of the papers: means with spread of several runs, and forecasts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.reports.figures.style import BLACK, BLUE, LEGEND_BELOW, VERMILION, Look, curve, finish

_HEIGHT = 600
_PANEL_HEIGHT = 330
_MOST_ACROSS, _ACROSS = 3, 2  # panels side by side; more than three are in rows of two
_BAND = "rgba(0, 114, 178, 0.18)"
_LEAST_SHOWN = 1e-12  # smaller values are omitted on logarithmic axes


class SpreadLine(NamedTuple):
    """Line of means with the standard deviation of the runs at every point.

    Attributes
    ----------
    name : str
    x, y : sequences of float
        Points with `y` None are not drawn.
    spread : sequence of float
        Half the height of the error bars; empty for none.
    look : Look
    note : str
        Text at the last point.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    spread: Sequence[float]
    look: Look
    note: str = ""


class SpreadPanel(NamedTuple):
    """Panel with its titles, lines and logarithmic axes."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[SpreadLine]
    log_x: bool = False
    log_y: bool = False


def lines_figure(title: str, panels: Sequence[SpreadPanel], *, share_y: bool = False) -> go.Figure:
    """Draw panels with error bars, up to three side by side, and one legend entry per name.

    Parameters
    ----------
    share_y : bool
        Whether all panels have the same vertical axis.
    """
    across = max(len(panels), 1) if len(panels) <= _MOST_ACROSS else _ACROSS
    rows = max(-(-len(panels) // across), 1)
    figure = make_subplots(
        rows=rows,
        cols=across,
        subplot_titles=[panel.title for panel in panels] or None,
        horizontal_spacing=0.08,
        vertical_spacing=0.3 / rows,
        shared_yaxes="all" if share_y else False,
    )
    named: set[str] = set()
    for k, panel in enumerate(panels):
        place = {"row": k // across + 1, "col": k % across + 1}
        for line in panel.lines:
            trace = _line(line, logarithmic=panel.log_y, shown=line.name not in named)
            figure.add_trace(trace, **place)
            named.add(line.name)
            if line.note and line.y[-1] is not None:
                figure.add_annotation(
                    x=math.log10(line.x[-1]) if panel.log_x else line.x[-1],
                    y=math.log10(max(line.y[-1], 1.0)) if panel.log_y else line.y[-1],
                    text=line.note,
                    showarrow=False,
                    xanchor="right",
                    yanchor="bottom",
                    font={"color": line.look.color, "size": 15},
                    **place,
                )
        figure.update_xaxes(title_text=panel.x_title, **place)
        figure.update_yaxes(title_text=panel.y_title, **place)
        if panel.log_x:
            places = sorted({x for line in panel.lines for x in line.x})
            words = [f"{x:,g}" for x in places]
            figure.update_xaxes(type="log", tickvals=places, ticktext=words, **place)
        if panel.log_y:
            figure.update_yaxes(type="log", exponentformat="power", **place)
    finish(figure, title, _HEIGHT + (rows - 1) * _PANEL_HEIGHT)
    return figure.update_layout(legend=LEGEND_BELOW, margin={"b": 160, "t": 110})


def _line(line: SpreadLine, *, logarithmic: bool, shown: bool) -> go.Scatter:
    values = [
        None if value is None or (logarithmic and value < _LEAST_SHOWN) else value
        for value in line.y
    ]
    bars = {"type": "data", "array": list(line.spread), "thickness": 1.2, "width": 3}
    return curve(
        line.name,
        list(line.x),
        values,
        line.look,
        hover=f"{line.name}<br>%{{x:.4g}}: %{{y:.4g}}",
        sizes=9,
        width=2,
        error_y=bars if line.spread else None,
        legendgroup=line.name,
        showlegend=shown,
    )


class Forecasts(NamedTuple):
    """Observed values of one series, and its forecasts.

    Attributes
    ----------
    title : str
    actual : sequence of float
    predicted : sequence of float
    deviation : float
        Half of the half-width of the band around `predicted`.
    baseline : sequence of float
        Forecasts of the method for comparison.
    """

    title: str
    actual: Sequence[float]
    predicted: Sequence[float]
    deviation: float
    baseline: Sequence[float]


def week_figure(
    title: str, forecasts: Sequence[Forecasts], *, name: str, baseline: str, x_title: str
) -> go.Figure:
    """Draw two panels per row: observation, forecast with its band, and baseline forecast."""
    rows = max((len(forecasts) + 1) // 2, 1)
    figure = make_subplots(
        rows=rows,
        cols=2,
        subplot_titles=[one.title for one in forecasts] or None,
        horizontal_spacing=0.07,
        vertical_spacing=0.13,
    )
    for k, one in enumerate(forecasts):
        x = list(range(len(one.actual)))
        at = {"row": k // 2 + 1, "col": k % 2 + 1}
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "x": x}
        upper, lower = ([p + s * 2.0 * one.deviation for p in one.predicted] for s in (1, -1))
        figure.add_trace(go.Scatter(y=upper, showlegend=False, **band), **at)
        figure.add_trace(
            go.Scatter(
                y=lower,
                name="± 2 deviations in training",
                legendgroup="band",
                showlegend=k == 0,
                fill="tonexty",
                fillcolor=_BAND,
                **band,
            ),
            **at,
        )
        for words, values, color, dash in (
            (baseline, one.baseline, VERMILION, "dot"),
            (name, one.predicted, BLUE, "solid"),
            ("observed", one.actual, BLACK, "dash"),
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
    finish(figure, title, 190 + _PANEL_HEIGHT * rows)
    return figure.update_layout(legend=LEGEND_BELOW, margin={"b": 120, "t": 110})
