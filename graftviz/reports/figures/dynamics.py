"""Figures of PredError against k, the number of parents, and |S|, the number of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Literal

import plotly.graph_objects as go

from graftviz.dynamics.learners import LEARNERS
from graftviz.dynamics.measuring import Measured
from graftviz.reports.figures.style import BLUE, GREEN, VERMILION, Look, curve, finish

_HEIGHT = 360
# Of the learners, last first.
_LOOKS = (Look(BLUE, "solid", "circle"), Look(VERMILION, "dash", "diamond"))
_RECALL = Look(GREEN, "dot", "square")


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

    Examples
    --------
    >>> from graftviz.dynamics.measuring import Measured
    >>> points = [Measured("sparsity-inducing", 0.8, 0.8, 8 * k, parents=k) for k in (1, 2, 3)]
    >>> figure = figures.prediction_figure(points, "parents", chosen=2, other=8)
    >>> figure.layout.xaxis.title.text
    'k (parents)'
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
        name, look = _look(learner)
        places = [place(point) for point in mine]
        errors: list[float | None] = [point.pred_error_test for point in mine]
        curves = [("PredError", errors, look)]
        if mine[0].recall is not None:
            recall = _RECALL._replace(color=look.color) if level is None else _RECALL
            curves.append(("StructRec", [point.recall for point in mine], recall))
        for measure, values, own in curves:
            label = f"{name}: {measure}"
            sizes = [13 if at == chosen else 8 for at in places]
            hover = f"{label}<br>%{{x}}: %{{y:.4f}}"
            figure.add_trace(curve(label, places, values, own, hover=hover, sizes=sizes))
    if level is not None:
        name, look = _look(level.learner)
        reach, value = sorted(map(place, points)), level.pred_error_test
        ends, values = ([reach[0], reach[-1]], [value, value]) if reach else ([], [])
        hover = f"{name}: %{{y:.4f}}"
        figure.add_trace(curve(f"{name}: PredError", ends, values, look, hover=hover, mode="lines"))
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


def _look(learner: str) -> tuple[str, Look]:
    """Return the title and the look of a learner."""
    place = [*reversed(LEARNERS)].index(learner)
    return LEARNERS[learner].title, _LOOKS[place % len(_LOOKS)]
