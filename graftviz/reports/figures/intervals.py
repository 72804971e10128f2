"""Figure of the intervals of edges over resamples."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from graftviz.evaluation.selection.intervals import EdgeIntervals
from graftviz.reports.figures.style import GREY, escaped, finish

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
