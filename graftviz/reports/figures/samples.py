"""Figures of samples: rows of the data beside them, and the pair marginals of both."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.data.table import DiscreteTable
from graftviz.inference.inspection import SampleComparison
from graftviz.reports.figures.style import BLUE, GREY, VERMILION, escaped, finish
from graftviz.reports.words.outcomes import pair_name

_ACROSS, _DOWN = 6, 4  # images
_ROWS = 32  # of a table that is not shown as images
_MOST_POINTS = 2000
_SAMPLES_HEIGHT, _PAIRS_HEIGHT = 420, 480
_TITLES = ("Rows of the data", "Samples of the model")


def samples_figure(found: SampleComparison, positions: np.ndarray | None) -> go.Figure:
    """Draw rows of the data beside samples.

    Parameters
    ----------
    found : SampleComparison
    positions : array, shape (n, 2), or None
        If they are the points of a full grid, rows are drawn as images.

    Examples
    --------
    >>> from graftviz.inference.inspection import compare_samples
    >>> figure = figures.samples_figure(compare_samples(model, survey, seed=0), None)
    >>> [heat.type for heat in figure.data]
    ['heatmap', 'heatmap']
    """
    figure = make_subplots(cols=2, subplot_titles=_TITLES, horizontal_spacing=0.04)
    shape = None if positions is None else grid_shape(positions)
    for column, table in enumerate((found.data, found.drawn), start=1):
        if positions is None or shape is None:
            picture = _rows(table)
        else:
            picture = _mosaic(table, positions, shape)
        hover = "%{y}, %{x}: %{text}<extra></extra>" if shape is None else None
        shown = go.Heatmap(
            z=picture,
            text=_labels(table) if shape is None else None,
            x=[escaped(name) for name in table.names] if shape is None else None,
            hovertemplate=hover,
            hoverinfo=None if shape is None else "skip",
            zmin=0.0,
            zmax=1.0,
            colorscale="Viridis" if shape is None else [[0, "#f4f4f4"], [1, "#101010"]],
            showscale=False,
        )
        figure.add_trace(shown, row=1, col=column)
    figure.update_yaxes(autorange="reversed")
    finish(figure, "", _SAMPLES_HEIGHT)
    if shape is not None:
        for axis in (1, 2):
            figure.update_yaxes(scaleanchor=f"x{axis if axis > 1 else ''}", row=1, col=axis)
    bare = {"showticklabels": False, "ticks": "", "showgrid": False, "showline": False}
    figure.update_xaxes(linecolor="rgba(0,0,0,0)", **bare)
    figure.update_yaxes(linecolor="rgba(0,0,0,0)", **bare)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 50, "b": 10})
    return figure


def pairs_figure(found: SampleComparison) -> go.Figure:
    """Draw the frequency of every pair of states in the samples against that in the data.

    Examples
    --------
    >>> from graftviz.inference.inspection import compare_samples
    >>> figure = figures.pairs_figure(compare_samples(model, survey, seed=0))
    >>> figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
    ('in the data', 'in the samples')
    """
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[0, 1],
            y=[0, 1],
            mode="lines",
            line={"color": GREY, "dash": "dot"},
            name="equal",
            hoverinfo="skip",
        )
    )
    shown = _chosen(found)
    for name, color, symbol, mask in (
        ("pairs without an edge", BLUE, "circle-open", ~found.is_edge),
        ("edges", VERMILION, "x", found.is_edge),
    ):
        some = shown[mask[shown]]
        figure.add_trace(
            go.Scatter(
                x=found.in_data[some],
                y=found.in_model[some],
                mode="markers",
                name=name,
                marker={"color": color, "symbol": symbol, "size": 6},
                text=[escaped(pair_name(found, k)) for k in some.tolist()],
                hovertemplate="%{text}<br>data %{x:.4f}, model %{y:.4f}<extra></extra>",
            )
        )
    figure.update_xaxes(title_text="in the data")
    figure.update_yaxes(title_text="in the samples")
    return finish(figure, "Probability of two states of a pair", _PAIRS_HEIGHT)


def grid_shape(positions: np.ndarray) -> tuple[int, int] | None:
    """Return the numbers of rows and columns if positions are all points of a grid."""
    across, down = (np.unique(positions[:, axis]) for axis in (0, 1))
    is_full = len(across) * len(down) == len(positions) == len(np.unique(positions, axis=0))
    return (len(down), len(across)) if is_full and min(len(across), len(down)) > 2 else None


def _levels(table: DiscreteTable) -> list[np.ndarray]:
    """Return the brightness of every state, 0 to 1: its place among the labels of all variables."""
    every = max(table.labels, key=len)
    last = max(len(every) - 1, 1)
    return [
        np.array([every.index(x) if x in every else k for k, x in enumerate(labels)]) / last
        for labels in table.labels
    ]


def _rows(table: DiscreteTable) -> np.ndarray:
    codes, levels = table.codes[:, -_ROWS:], _levels(table)
    return np.stack([level[code] for level, code in zip(levels, codes, strict=True)], axis=1)


def _labels(table: DiscreteTable) -> list[list[str]]:
    codes = table.codes[:, -_ROWS:]
    columns = [[escaped(x[k]) for k in code] for x, code in zip(table.labels, codes, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _mosaic(table: DiscreteTable, positions: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return images side by side, with gaps of NaN."""
    down, across = shape
    columns = np.unique(positions[:, 0], return_inverse=True)[1]
    rows = np.unique(positions[:, 1], return_inverse=True)[1]  # row 0 is at the top
    picture = np.full((_DOWN * (down + 1) - 1, _ACROSS * (across + 1) - 1), np.nan)
    levels = _levels(table)
    for k in range(min(_DOWN * _ACROSS, table.n_rows)):
        top, left = k // _ACROSS * (down + 1), k % _ACROSS * (across + 1)
        for i, level in enumerate(levels):
            picture[top + rows[i], left + columns[i]] = level[table.codes[i, -1 - k]]
    return picture


def _chosen(found: SampleComparison) -> np.ndarray:
    """Return the indices of the pairs that are drawn: of many, some at random and the largest."""
    count = len(found.states)
    if count <= _MOST_POINTS:
        return np.arange(count)
    some = np.random.default_rng(0).choice(count, _MOST_POINTS, replace=False)
    return np.unique(np.append(some, found.largest))
