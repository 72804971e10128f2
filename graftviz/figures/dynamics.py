"""Figures of PredError against k, the number of parents, and |S|, the number of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from graftviz.figures.style import BLUE, GREEN, VERMILION, finish

_HEIGHT = 360
_LOOKS = {
    "scalable": ("Scalable", BLUE, "solid", "circle"),
    "inducing": ("Inducing", VERMILION, "dash", "diamond"),
}
_RECALL = ("StructRec", GREEN, "dot", "square")


class CurvePoint(NamedTuple):
    """Result of one learned system.

    Attributes
    ----------
    learner : str
    x : int
        k or |S|.
    pred_error : float
        Error on held-out rows, one step ahead.
    recall : float or None
        StructRec; None if the true system is unknown.
    """

    learner: str
    x: int
    pred_error: float
    recall: float | None = None


def prediction_figure(
    points: Sequence[CurvePoint],
    title: str,
    axis: str,
    *,
    chosen: int | None = None,
    levels: Sequence[tuple[str, float]] = (),
) -> go.Figure:
    """Draw held-out PredError, and StructRec if available, against k or |S|.

    Parameters
    ----------
    points : sequence of CurvePoint
    title, axis : str
    chosen : int, optional
        Value of x to mark.
    levels : sequence of (learner, PredError)
        Learners that do not depend on x, drawn as horizontal lines.
    """
    figure = go.Figure()
    for learner, (name, colour, dash, symbol) in _LOOKS.items():
        mine = sorted((p for p in points if p.learner == learner), key=lambda point: point.x)
        if not mine:
            continue
        label = f"{name}: PredError"
        errors = [point.pred_error for point in mine]
        _line(figure, mine, errors, label, (colour, dash, symbol), chosen)
        if mine[0].recall is not None:
            colour = colour if levels == () else _RECALL[1]
            _line(
                figure,
                mine,
                [point.recall for point in mine],
                f"{name}: StructRec",
                (colour, _RECALL[2], _RECALL[3]),
                chosen,
            )
    for learner, value in levels:
        name, colour, dash, _ = _LOOKS[learner]
        reach = sorted(point.x for point in points)
        figure.add_trace(
            go.Scatter(
                x=[reach[0], reach[-1]] if reach else [],
                y=[value, value] if reach else [],
                name=f"{name}: PredError",
                mode="lines",
                line={"color": colour, "dash": dash, "width": 2.2},
                hovertemplate=f"{name}: %{{y:.4f}}<extra></extra>",
            )
        )
    if chosen is not None:
        figure.add_vline(x=chosen, line={"color": "#F0A800", "width": 7}, opacity=0.3)
    figure.update_xaxes(title=axis)
    figure.update_yaxes(title="PredError, StructRec" if _has_recall(points) else "PredError")
    finish(figure, title, _HEIGHT)
    figure.update_layout(
        margin={"l": 66, "r": 20, "t": 104, "b": 54},
        legend={"x": 0.0, "xanchor": "left", "y": 0.89, "font": {"size": 13}, "entrywidth": 150},
        title={"font": {"size": 18}},
        showlegend=True,
        hovermode="closest",
    )
    return figure


def _has_recall(points: Sequence[CurvePoint]) -> bool:
    return any(point.recall is not None for point in points)


def _line(
    figure: go.Figure,
    points: Sequence[CurvePoint],
    values: Sequence[float | None],
    name: str,
    look: tuple[str, str, str],
    chosen: int | None,
) -> None:
    colour, dash, symbol = look
    figure.add_trace(
        go.Scatter(
            x=[point.x for point in points],
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.2},
            marker={
                "symbol": symbol,
                "size": [13 if point.x == chosen else 8 for point in points],
                "color": colour,
            },
            hovertemplate=f"{name}<br>%{{x}}: %{{y:.4f}}<extra></extra>",
        )
    )
