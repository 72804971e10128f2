"""Heat map of a quantity over two strengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from graftviz.reports.figures.style import finish

_HEIGHT = 560


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
                    "type": "constraint",
                    "operation": "=",
                    "value": border,
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
