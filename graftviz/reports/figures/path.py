"""Figure of a path over λ: held-out NLPL, EBIC and number of edges."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.evaluation.selection.path import LamPath, PathPoint
from graftviz.reports.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    Look,
    curve,
    finish,
)
from graftviz.reports.words.phrases import best_points

_HEIGHT = 720
_ROWS_OF_PLOTS = 3
_LABELS = 7  # edge counts that fit into a figure as wide as a phone


# Colour and dash of the two best values of λ, and the plot of their criterion.
_BEST = {"held-out NLPL": (BLUE, "dash", 1), "EBIC": (VERMILION, "dot", 2)}


def path_figure(path: LamPath) -> go.Figure:
    """Draw a finished or unfinished path with λ decreasing to the right.

    ``customdata[0]`` of every point is its λ, which a click selects. The upper plots show the
    criteria in nats per row (EBIC / 2N is the training NLPL plus a penalty on edges), the lower one
    the number of edges and, if the truth is known, F1.

    Examples
    --------
    >>> path = gv.lam_path(survey, gv.BestChoice(), lams=[0.05, 0.02])
    >>> [line.name for line in figures.path_figure(path).data][:4]
    ['NLPL, training rows', 'NLPL, held-out rows', 'EBIC', 'edges']
    """
    points = path.points
    lams = [point.lam for point in points]
    figure = make_subplots(
        rows=_ROWS_OF_PLOTS,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.08,
        row_heights=[0.36, 0.32, 0.32],
        specs=[[{}], [{}], [{"secondary_y": True}]],
    )

    def line(
        name: str, values: Sequence[float | None], row: int, look: Look, width: float, **more: Any
    ) -> None:
        figure.add_trace(
            curve(
                name,
                lams,
                values,
                look,
                hover=f"{name} %{{y:.5g}}<br>λ = %{{customdata[0]:.3g}}, "
                "%{customdata[1]:,} edges",
                width=width,
                customdata=[[point.lam, point.n_edges] for point in points],
            ),
            row=row,
            col=1,
            **more,
        )

    train = [point.nlpl_train for point in points]
    line("NLPL, training rows", train, 1, Look(GREY, "dot", "circle-open"), 2)
    held_out = [point.nlpl_test for point in points]
    line("NLPL, held-out rows", held_out, 1, Look(BLUE, "solid", "circle"), 3)
    ebic = [_ebic_a_row(path, point) for point in points]
    line("EBIC", ebic, 2, Look(VERMILION, "solid", "diamond"), 3)
    _draw_edges(figure, path)
    if any(point.f1 is not None for point in points):
        f1 = [point.f1 for point in points]
        look = Look(GREEN, "solid", "square")
        line("F1 against the truth", f1, 3, look, 2, secondary_y=True)
        figure.update_yaxes(
            title_text="F1",
            range=[0, 1.05],
            tickvals=[0, 0.5, 1],
            showgrid=False,
            row=3,
            col=1,
            secondary_y=True,
        )
    for name, point in best_points(path):
        _mark(figure, path, name, point)
    values, words = _ticks(path)
    left, right = map(log10, _shown(path))
    margin = 0.05 * (left - right) or 0.1
    reach = [left + margin, right - margin]
    figure.update_xaxes(type="log", range=reach, tickvals=values, ticktext=words)
    figure.update_xaxes(title_text="λ (log scale; smaller to the right)", row=3, col=1)
    figure.update_yaxes(title_text="nats per row", row=1, col=1)
    figure.update_yaxes(title_text="EBIC / 2N", row=2, col=1)
    figure.update_yaxes(title_text="edges", rangemode="tozero", row=3, col=1, secondary_y=False)
    return finish(figure, f"{path.learner.title}: choice of λ", _HEIGHT)


def _ebic_a_row(path: LamPath, point: PathPoint) -> float:
    return point.ebic / (2.0 * path.n_rows)


def _draw_edges(figure: go.Figure, path: LamPath) -> None:
    points = path.points
    labelled = _labelled(path)
    figure.add_trace(
        go.Scatter(
            x=[point.lam for point in points],
            y=[point.n_edges for point in points],
            name="edges",
            mode="lines+markers+text",
            text=[f"{point.n_edges:,}" if k in labelled else "" for k, point in enumerate(points)],
            textposition="top left",
            cliponaxis=False,
            fill="tozeroy",
            line={"color": ORANGE, "width": 2},
            marker={"size": 7},
            customdata=[[point.lam, point.n_edges] for point in points],
            hovertemplate="%{customdata[1]:,} edges<br>λ = %{customdata[0]:.3g}<extra></extra>",
        ),
        row=3,
        col=1,
        secondary_y=False,
    )


def _labelled(path: LamPath) -> set[int]:
    """Return the points labelled with their number of edges: the best, and some others."""
    points = path.points
    apart = -(-len(path.planned) // _LABELS)
    best = [point for _, point in reversed(best_points(path))]
    chosen: set[int] = set()
    for k in (*map(points.index, best), len(points) - 1, *range(0, len(points), apart)):
        if all(abs(k - other) >= apart for other in chosen):
            chosen.add(k)
    return chosen


def _mark(figure: go.Figure, path: LamPath, name: str, point: PathPoint) -> None:
    """Label the minimum above its plot, mark it with a star, and draw its λ in all plots."""
    color, dash, plot = _BEST[name]
    place = f"lowest {name}: λ = {point.lam:.3g}"  # short, for narrow screens
    if path.ends_at(point):
        place += " (end of the path)"
    text = f"{place}, {point.n_edges:,} edges"
    for row in range(1, _ROWS_OF_PLOTS + 1):
        figure.add_vline(x=point.lam, line={"color": color, "dash": dash}, row=row, col=1)
    figure.add_trace(
        go.Scatter(
            x=[point.lam],
            y=[point.nlpl_test if plot == 1 else _ebic_a_row(path, point)],
            mode="markers",
            name=text,
            marker={
                "symbol": "star",
                "size": 18,
                "color": color,
                "line": {"color": BLACK, "width": 1},
            },
            customdata=[[point.lam, point.n_edges]],
            hovertemplate=f"{text}<extra></extra>",
            showlegend=False,
        ),
        row=plot,
        col=1,
    )
    figure.add_annotation(
        text=f"★ {place}",
        xref="x domain",
        yref="y domain",
        x=0.0,
        y=1.0,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"color": color, "size": 15},
        row=plot,
        col=1,
    )


def _shown(path: LamPath) -> tuple[float, float]:
    """Return the largest and the smallest λ of the axis; for a finished path, those visited."""
    finished = path.stop_reason and path.points
    return path.planned[0], (path.points[-1].lam if finished else path.planned[-1])


def _ticks(path: LamPath) -> tuple[list[float], list[str]]:
    """Return values and labels of the ticks 1, 2, 5, 10, …; Plotly's own omit the power of ten."""
    largest, smallest = _shown(path)
    powers = range(floor(log10(smallest)) - 1, floor(log10(largest)) + 2)
    values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return values, [f"{value:.1g}" for value in values]
