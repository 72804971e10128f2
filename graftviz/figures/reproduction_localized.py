"""Reproduced figures of localized inference: a heat map of c, and line charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.figures.reproduction import Look
from graftviz.figures.style import BLACK, finish

_HEIGHT = 560
_LEAST_SHOWN = 1e-6  # smaller values are omitted on logarithmic axes


class Plane(NamedTuple):
    """Values over two strengths: ``values[r][c]`` at ``y[r]`` and ``x[c]``."""

    x: Sequence[float]
    y: Sequence[float]
    values: Sequence[Sequence[float | None]]


def plane_figure(
    title: str, plane: Plane, *, x_title: str, y_title: str, name: str, border: float
) -> go.Figure:
    """Draw a heat map with the contour at `border`."""
    values = [list(row) for row in plane.values]
    places = {"x": list(plane.x), "y": list(plane.y), "z": values}
    figure = go.Figure(
        go.Heatmap(
            **places,
            colorscale="viridis",
            colorbar={"title": {"text": name}},
            hovertemplate=f"{x_title} = %{{x}}<br>{y_title} = %{{y}}<br>{name} = %{{z:.3f}}"
            "<extra></extra>",
        )
    )
    found = [value for row in values for value in row if value is not None]
    if found and min(found) < border < max(found):
        figure.add_trace(
            go.Contour(
                **places,
                autocontour=False,
                contours={
                    **{"type": "constraint", "operation": "=", "value": border},
                    "showlabels": True,
                    "labelfont": {"size": 16, "color": "white"},
                },
                line={"color": "white", "width": 3},
                name=f"{name} = {border:g}",
                hoverinfo="skip",
                showlegend=False,
            )
        )
    figure.update_xaxes(title_text=x_title)
    figure.update_yaxes(title_text=y_title)
    return finish(figure, title, _HEIGHT)


class Series(NamedTuple):
    """Name, values and look of a line."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    look: Look


class Chart(NamedTuple):
    """Panel with its titles and lines."""

    title: str
    x_title: str
    y_title: str
    series: Sequence[Series]


def series_figure(title: str, charts: Sequence[Chart], *, logarithmic: bool = False) -> go.Figure:
    """Draw panels side by side, with one legend entry per name.

    Parameters
    ----------
    logarithmic : bool
        Whether values have a logarithmic axis, which omits values below 1e-6.
    """
    figure = make_subplots(
        rows=1,
        cols=max(len(charts), 1),
        subplot_titles=[chart.title for chart in charts] or None,
        horizontal_spacing=0.08,
        shared_yaxes=True,
    )
    named: set[str] = set()
    for column, chart in enumerate(charts, start=1):
        for line in chart.series:
            figure.add_trace(
                _trace(line, logarithmic=logarithmic, shown=line.name not in named),
                row=1,
                col=column,
            )
            named.add(line.name)
        figure.update_xaxes(title_text=chart.x_title, row=1, col=column)
    if charts:
        figure.update_yaxes(title_text=charts[0].y_title, row=1, col=1)
    if logarithmic:
        figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    finished = finish(figure, title, _HEIGHT + 100)
    # The legend is below the panels, as titles are above.
    return finished.update_layout(
        legend={"x": 0.0, "xanchor": "left", "yref": "container", "y": 0.0, "yanchor": "bottom"},
        margin={"b": 190, "t": 110},
    )


def _trace(line: Series, *, logarithmic: bool, shown: bool) -> go.Scatter:
    values = list(line.y)
    if logarithmic:
        values = [
            value if value is not None and value >= _LEAST_SHOWN else None for value in values
        ]
    return go.Scatter(
        x=list(line.x),
        y=values,
        name=line.name,
        legendgroup=line.name,
        showlegend=shown,
        mode="lines+markers",
        line={"color": line.look.color, "dash": line.look.dash, "width": 2},
        marker={"symbol": line.look.symbol, "size": 9, "color": line.look.color},
        hovertemplate=f"{line.name}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    )


EXTRA = Look(BLACK, "dot", "x-thin-open")
