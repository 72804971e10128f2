"""Figures of a path over λ, of the stability of edges, and of their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.evaluation.selection.intervals import EdgeIntervals
from graftviz.evaluation.selection.path import LamPath, PathPoint
from graftviz.evaluation.selection.stability import STABLE, EdgeStability
from graftviz.reports.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    Look,
    curve,
    escaped,
    finish,
)
from graftviz.reports.words.outcomes import best_points

# --- path over λ ----------------------------------------------------------------------------------

_PATH_HEIGHT = 720
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
    return finish(figure, f"{path.learner.title}: choice of λ", _PATH_HEIGHT)


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


# --- frequency of edges in subsamples -------------------------------------------------------------

_STABILITY_HEIGHT = 460


def stability_figure(
    stability: EdgeStability,
    names: tuple[str, ...],
    *,
    edges: Iterable[Iterable[int]] | np.ndarray | None = None,
    truth: Iterable[Iterable[int]] | np.ndarray | None = None,
    threshold: float = STABLE,
) -> go.Figure:
    """Draw the frequency of every edge found at least once, most frequent first.

    A steep drop means that the data determine the edges; a long slope means that they do not.

    Parameters
    ----------
    stability : EdgeStability
    names : tuple of str
        Names of the variables.
    edges : int array-like, shape (m, 2), optional
        Edges of a model, drawn differently from edges found in subsamples only.
    truth : int array-like, shape (k, 2), optional
        True edges, if known; the groups are then true and false edges.
    threshold : float
        Least frequency of a stable edge, drawn as a line.

    Examples
    --------
    >>> stability = gv.edge_stability(survey, gv.ChowLiu(), subsamples=10)
    >>> figure = figures.stability_figure(stability, survey.names)
    >>> figure.layout.xaxis.title.text
    'edges, most frequent first'
    """
    frequencies = stability.frequencies
    figure = go.Figure()
    for name, chosen, color, symbol in _groups(stability, edges, truth):
        ranks = np.flatnonzero(chosen)
        if not len(ranks):
            continue
        pairs = [f"{names[i]} – {names[j]}" for i, j in stability.edges[ranks].tolist()]
        figure.add_trace(
            go.Scatter(
                x=(ranks + 1).tolist(),
                y=frequencies[ranks].tolist(),
                mode="markers",
                name=f"{name} ({len(ranks):,})",
                text=[escaped(pair) for pair in pairs],
                marker={"color": color, "symbol": symbol, "size": 9},
                customdata=stability.edges[ranks].tolist(),
                hovertemplate="%{text}<br>found in %{y:.0%} of subsamples<extra></extra>",
            )
        )
    figure.add_hline(
        y=threshold,
        line={"color": GREY, "dash": "dash"},
        annotation={"text": f"stable: at least {threshold:.0%}", "font": {"size": 14}},
    )
    figure.update_xaxes(title_text="edges, most frequent first")
    figure.update_yaxes(title_text="share of subsamples", tickformat=".0%", range=[0, 1.05])
    kinds = {"complementary-pairs": "complementary halves", "bootstrap": "bootstrap samples"}
    kind = kinds.get(stability.method, "subsamples")
    title = f"{stability.done} {kind} of {stability.n_subsample_rows:,} rows"
    return finish(figure, title, _STABILITY_HEIGHT)


def _groups(
    stability: EdgeStability,
    edges: Iterable[Iterable[int]] | np.ndarray | None,
    truth: Iterable[Iterable[int]] | np.ndarray | None,
) -> list[tuple[str, np.ndarray, str, str]]:
    """Return name, mask over the found edges, colour and symbol of each group."""
    if truth is not None:
        true = _among(stability, truth)
        return [("true", true, BLUE, "circle"), ("false", ~true, VERMILION, "x")]
    if edges is not None:
        inside = _among(stability, edges)
        return [
            ("in the model", inside, BLUE, "circle"),
            ("in subsamples only", ~inside, ORANGE, "diamond-open"),
        ]
    return [("found", np.ones(len(stability.edges), dtype=np.bool_), GREY, "circle")]


def _among(stability: EdgeStability, edges: Iterable[Iterable[int]] | np.ndarray) -> np.ndarray:
    pairs = {(min(pair), max(pair)) for pair in ((int(i), int(j)) for i, j in edges)}
    return np.array(
        [pair in pairs for pair in map(tuple, stability.edges.tolist())], dtype=np.bool_
    )


# --- intervals of edges over resamples ------------------------------------------------------------

MOST_EDGES = 40
_ROW, _ABOVE, _BELOW = 22, 70, 60  # pixels


def intervals_figure(
    intervals: EdgeIntervals,
    *,
    most: int = MOST_EDGES,
    strength: str = "strength, with the interval of the resamples that found the edge",
    frequency: str = "found in",
    part: str = "{shown} strongest of {edges} edges",
) -> go.Figure:
    """Draw the strengths of the strongest edges with their intervals, strongest first.

    The darker a point, the larger the share of resamples that found the edge.

    Parameters
    ----------
    intervals : EdgeIntervals
    most : int
        Largest number of edges.
    strength, frequency : str
        Titles of the axis and of the colours.
    part : str
        Template of the end of the axis title, if not all edges are drawn.

    Examples
    --------
    >>> stability = gv.edge_stability(survey, gv.ChowLiu(), subsamples=20)
    >>> figure = figures.intervals_figure(stability.intervals(gv.learn(survey, "chow-liu").model))
    >>> figure.data[0].y[0]
    'home – commute'
    """
    model = intervals.model
    strengths = model.edge_norms()
    shown = np.argsort(-strengths, kind="stable")[:most]
    low, high = intervals.strength_intervals[shown].T
    frequencies = intervals.frequencies[shown]
    names = [f"{model.names[i]} – {model.names[j]}" for i, j in model.edges[shown].tolist()]
    spans = [
        f"{a:.3g} … {b:.3g}" if np.isfinite(a) else "–" for a, b in zip(low, high, strict=True)
    ]
    figure = go.Figure(
        go.Scatter(
            x=strengths[shown].tolist(),
            y=[escaped(name) for name in names],
            mode="markers",
            error_x={
                "type": "data",
                "symmetric": False,
                "array": np.nan_to_num(high - strengths[shown]).tolist(),
                "arrayminus": np.nan_to_num(strengths[shown] - low).tolist(),
                "color": GREY,
                "thickness": 1.8,
                "width": 4,
            },
            marker={
                "size": 11,
                "color": frequencies.tolist(),
                "cmin": 0.0,
                "cmax": 1.0,
                "colorscale": [[0.0, "#D7E6F2"], [1.0, "#0072B2"]],
                "line": {"color": "#0072B2", "width": 1},
                "colorbar": {
                    "title": {"text": frequency, "font": {"size": 14}, "side": "top"},
                    "tickformat": ".0%",
                    "tickvals": [0.0, 0.5, 1.0],
                    "tickfont": {"size": 12},
                    "orientation": "h",
                    "thickness": 10,
                    "len": 160,
                    "lenmode": "pixels",
                    "x": 1.0,
                    "xanchor": "right",
                    "y": 1.0,
                    "yanchor": "bottom",
                },
            },
            customdata=np.stack([spans, frequencies.astype(object)], axis=1).tolist(),
            hovertemplate="%{y}<br>%{x:.3g} (%{customdata[0]})<br>%{customdata[1]:.0%}"
            "<extra></extra>",
        )
    )
    count = len(shown)
    if count < model.n_edges:
        strength = f"{strength} · {part.format(shown=f'{count:,}', edges=f'{model.n_edges:,}')}"
    figure.update_xaxes(title_text=strength, rangemode="tozero")
    figure.update_yaxes(range=[count - 0.5, -0.5], automargin=True, type="category")
    finish(figure, "", _ABOVE + _ROW * count + _BELOW)
    return figure.update_layout(margin={"t": _ABOVE, "b": _BELOW})
