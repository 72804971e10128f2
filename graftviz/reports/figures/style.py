"""Style of all figures: colours for colour-blind readers, and large fonts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

# Palette of Okabe and Ito without yellow, which is invisible in thin lines.
BLACK = "#000000"
ORANGE = "#BD7A00"  # darker than the original, which is too pale for lines on white
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#9E4876"
GREY = "#7F7F7F"
LEGEND_BELOW = {"x": 0.0, "xanchor": "left", "yref": "container", "y": 0.0, "yanchor": "bottom"}
_GRID = "rgba(127, 127, 127, 0.25)"  # visible on light and on dark backgrounds


class Look(NamedTuple):
    """Colour, dash and symbol of a curve."""

    color: str
    dash: str
    symbol: str


def curve(
    name: str,
    x: Any,
    y: Any,
    look: Look,
    *,
    hover: str,
    sizes: int | Sequence[int] = 8,
    width: float = 2.2,
    **more: Any,
) -> go.Scatter:
    """Return a line with a marker at every point; `hover` is the text shown for a point."""
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        line={"color": look.color, "dash": look.dash, "width": width},
        marker={"color": look.color, "symbol": look.symbol, "size": sizes},
        hovertemplate=f"{hover}<extra></extra>",
        **{"mode": "lines+markers", **more},
    )


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Set title, fonts, grid and legend of `figure`; the background is transparent."""
    figure.update_layout(
        title={
            "text": escaped(title),
            "font": {"size": 20},
            "x": 0.01,
            "xanchor": "left",
            "y": 0.98,
            "yanchor": "top",
        },
        font={"size": 15},
        height=height,
        margin={"l": 80, "r": 40, "t": 100, "b": 70},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"font": {"size": 14}},
        legend={
            "orientation": "h",
            "x": 1.0,
            "xanchor": "right",
            "yref": "container",
            "y": 0.94,
            "yanchor": "top",
        },
    )
    figure.update_xaxes(gridcolor=_GRID, zeroline=False, linecolor=GREY, ticks="outside")
    figure.update_yaxes(gridcolor=_GRID, zeroline=False, linecolor=GREY, ticks="outside")
    return figure


def figure_html(figure: go.Figure) -> str:
    """Return `figure` as a self-contained HTML page that includes Plotly.

    Examples
    --------
    >>> page = figures.figure_html(result.plot())
    >>> page.startswith("<!doctype html>")
    True
    """
    page: str = figure.to_html(include_plotlyjs=True, config={"displaylogo": False})
    return page


def escaped(text: str) -> str:
    """Return `text` with HTML escaped, because Plotly interprets tags in names."""
    return html.escape(text, quote=False)
