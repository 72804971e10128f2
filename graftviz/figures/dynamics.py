"""Figures of PredError against k, the number of parents, and |S|, the number of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Literal

import plotly.graph_objects as go

from graftviz.dynamics import LEARNERS
from graftviz.dynamics.measuring import Measured
from graftviz.figures.style import BLUE, GREEN, VERMILION, finish

_HEIGHT = 360
_LOOKS = ((BLUE, "solid", "circle"), (VERMILION, "dash", "diamond"))  # of the learners, last first
_RECALL = ("StructRec", GREEN, "dot", "square")


def prediction_figure(
    points: Sequence[Measured],
    field: Literal["parents", "seeds"],
    *,
    chosen: int,
    other: int,
    level: Measured | None = None,
) -> go.Figure:
    """Draw held-out PredError, and StructRec if available, against k or |S|.

    Parameters
    ----------
    points : sequence of Measured
    field : {"parents", "seeds"}
        Which of the two.
    chosen : int
        Value to mark.
    other : int
        Value of the other of the two.
    level : Measured, optional
        Result that does not depend on it, drawn as a horizontal line.
    """
    title, axis = f"Held-out PredError against k, with |S| = {other}", "k (parents)"
    if field == "seeds":
        title, axis = f"Held-out PredError against |S|, with k = {other}", "|S| (seeds)"
    place = attrgetter(field)
    figure = go.Figure()
    for learner in reversed(LEARNERS):
        mine = sorted((p for p in points if p.learner == learner), key=place)
        if not mine:
            continue
        name, colour, dash, symbol = _look(learner)
        label = f"{name}: PredError"
        places = [place(point) for point in mine]
        errors = [point.pred_error_test for point in mine]
        _line(figure, places, errors, label, (colour, dash, symbol), chosen)
        if mine[0].recall is not None:
            colour = colour if level is None else _RECALL[1]
            _line(
                figure,
                places,
                [point.recall for point in mine],
                f"{name}: StructRec",
                (colour, _RECALL[2], _RECALL[3]),
                chosen,
            )
    if level is not None:
        name, colour, dash, _ = _look(level.learner)
        reach, value = sorted(map(place, points)), level.pred_error_test
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
    figure.add_vline(x=chosen, line={"color": "#F0A800", "width": 7}, opacity=0.3)
    figure.update_xaxes(title=axis)
    has_recall = any(point.recall is not None for point in points)
    figure.update_yaxes(title="PredError, StructRec" if has_recall else "PredError")
    finish(figure, title, _HEIGHT)
    figure.update_layout(
        margin={"l": 66, "r": 20, "t": 104, "b": 54},
        legend={"x": 0.0, "xanchor": "left", "y": 0.89, "font": {"size": 13}, "entrywidth": 150},
        title={"font": {"size": 18}},
        showlegend=True,
        hovermode="closest",
    )
    return figure


def _look(learner: str) -> tuple[str, str, str, str]:
    """Return title, colour, dash and symbol of a learner."""
    place = [*reversed(LEARNERS)].index(learner)
    return LEARNERS[learner].title, *_LOOKS[place % len(_LOOKS)]


def _line(
    figure: go.Figure,
    places: Sequence[int],
    values: Sequence[float | None],
    name: str,
    look: tuple[str, str, str],
    chosen: int,
) -> None:
    colour, dash, symbol = look
    figure.add_trace(
        go.Scatter(
            x=list(places),
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.2},
            marker={
                "symbol": symbol,
                "size": [13 if place == chosen else 8 for place in places],
                "color": colour,
            },
            hovertemplate=f"{name}<br>%{{x}}: %{{y:.4f}}<extra></extra>",
        )
    )
