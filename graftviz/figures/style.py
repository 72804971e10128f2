"""What all figures share: colours everybody can tell apart, letters to read from a back row."""

from __future__ import annotations

import html

import plotly.graph_objects as go

# Okabe and Ito, without their yellow: it is lost in thin lines.
BLACK = "#000000"
ORANGE = "#BD7A00"  # darker than theirs, which is too pale for lines on white
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREY = "#7F7F7F"
_GRID = "rgba(127, 127, 127, 0.25)"  # to be seen on light and on dark ground


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Give `figure` its title, fonts, grid and legend; the ground stays that of the page."""
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
    """Return `figure` as one page of HTML that needs no network: it brings its own Plotly."""
    page: str = figure.to_html(include_plotlyjs=True, config={"displaylogo": False})
    return page


def escaped(text: str) -> str:
    """Return `text` so that Plotly shows it as it is: it takes tags in names for markup."""
    return html.escape(text, quote=False)
