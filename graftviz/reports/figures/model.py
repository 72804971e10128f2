"""Figures of a model: graph, nodes, edges, degrees, and differences between two models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.inference.inspection import (
    COMMON,
    GAINED,
    LOST,
    Change,
    Communities,
    ModelDifference,
    degree_counts,
    degree_ranks,
    deviation_from_independence,
)
from graftviz.learning.run import Edges, checked_edges
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of, zero_sum
from graftviz.reports.figures.style import BLUE, GREEN, GREY, PURPLE, VERMILION, escaped, finish
from graftviz.reports.layout import static_layout
from graftviz.reports.picture import GraphPicture
from graftviz.reports.words.phrases import plural

# --- graph ----------------------------------------------------------------------------------------

_WIDTHS = (0.8, 2.0, 3.5, 5.0)  # of lines, by the strength of their edges
_MOST_NAMES = 80  # nodes up to which names are written beside them
_HEIGHT = 620


def graph_figure(model: HasModel, truth: Edges | None = None, title: str = "") -> go.Figure:
    """Return the graph of a model: lines as wide as edges are strong, nodes with their degrees.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    truth : array of pairs, optional
        True edges, by index or name. True edges are green, others dashed, missing ones dotted, and
        the nodes have the positions of the true graph.
    title : str
        Default: the numbers of variables and edges.

    Examples
    --------
    >>> figures.graph_figure(model, truth=data.truth, title="Survey").layout.title.text
    'Survey'
    """
    own: PairwiseModel = model_of(model)
    true_pairs = None if truth is None else checked_edges(truth, own.names)
    places = static_layout(own.n_variables, own.edges if true_pairs is None else true_pairs)
    figure = go.Figure()
    norms = own.edge_norms()
    largest = float(norms[np.isfinite(norms)].max(initial=0.0)) or 1.0
    strengths = np.minimum(norms / largest, 1.0)
    groups = np.minimum((strengths * len(_WIDTHS)).astype(int), len(_WIDTHS) - 1)
    true_edges = set() if true_pairs is None else {(i, j) for i, j in true_pairs.tolist()}
    is_true = np.array([(i, j) in true_edges for i, j in own.edges.tolist()], dtype=bool)
    kinds = [("edges", BLUE, "solid", np.ones(own.n_edges, dtype=bool))]
    if true_pairs is not None:
        kinds = [("true", GREEN, "solid", is_true), ("false", VERMILION, "dash", ~is_true)]
    for name, color, dash, chosen in kinds:
        for group, width in enumerate(_WIDTHS):
            edges = own.edges[chosen & (groups == group)]
            first = group == int(groups[chosen].max(initial=0))
            figure.add_trace(_lines(places, edges, name, color, dash, width, shown=first))
    if true_pairs is not None:
        found = {(i, j) for i, j in own.edges.tolist()}
        is_found = np.array([tuple(pair) in found for pair in true_pairs.tolist()], dtype=bool)
        missing = true_pairs[~is_found]
        figure.add_trace(_lines(places, missing, "missing", GREY, "dot", 1.2, shown=True))
    degrees = own.degrees()
    writes_names = own.n_variables <= _MOST_NAMES
    figure.add_trace(
        go.Scatter(
            x=places[:, 0],
            y=-places[:, 1],
            mode="markers+text" if writes_names else "markers",
            text=[escaped(name) for name in own.names],
            textposition="top center",
            customdata=degrees,
            marker={"size": 8 + 3 * np.sqrt(degrees), "color": GREY},
            hovertemplate="%{text}: degree %{customdata}<extra></extra>",
            showlegend=False,
        )
    )
    finish(figure, title or f"{own.n_variables:,} variables, {own.n_edges:,} edges", _HEIGHT)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x")
    return figure


def _lines(
    places: np.ndarray,
    edges: np.ndarray,
    name: str,
    color: str,
    dash: str,
    width: float,
    *,
    shown: bool,
) -> go.Scatter:
    """Return one trace with a segment for every edge."""
    ends = np.full((len(edges), 3, 2), np.nan)
    ends[:, 0], ends[:, 1] = places[edges[:, 0]], places[edges[:, 1]]
    return go.Scatter(
        x=ends[:, :, 0].reshape(-1),
        y=-ends[:, :, 1].reshape(-1),
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=shown,
        hoverinfo="skip",
        line={"color": color, "dash": dash, "width": width},
    )


# --- nodes, edges, degrees, differences -----------------------------------------------------------

_LONGEST_LABEL = 16
_ROW = 26  # pixels of a state
_MOST_HIGH = 520
_GAP = 36  # pixels between two heat maps, with room for the title of the lower
_MOST_WRITTEN = 8  # states up to which numbers are written into figures
# From purple to blue as in the player (core.js), with a middle that is light in all themes.
_SIGNED = [[0.0, PURPLE], [0.5, "#f2f2f2"], [1.0, BLUE]]
_MOST_CELLS = 200  # rows of a matrix; of a larger one a cell holds several variables
_MOST_OUTLINED = 60  # communities
_MARK = {"size": 14, "symbol": "circle-open", "color": VERMILION, "line": {"width": 3}}


def node_figure(
    model: HasModel, i: int, before: np.ndarray | None, after: np.ndarray | None = None
) -> go.Figure:
    """Draw the log potentials w_i and the marginal of a node, one bar per state.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    i : int
    before, after : array, shape (s_i,), optional
        Marginals without and with evidence.

    Examples
    --------
    >>> figure = figures.node_figure(model, 0, gv.infer(model, "exact").node[0])
    >>> [len(bars.x) for bars in figure.data]
    [3, 3]
    """
    own: PairwiseModel = model_of(model)
    labels = _labels(own, i)
    at = np.arange(len(labels))
    figure = make_subplots(
        rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.06, column_widths=[0.38, 0.62]
    )
    weights = own.node_weights(i)
    texts = [_number(weight) for weight in weights.tolist()]
    figure.add_bar(
        x=np.where(np.isfinite(weights), weights, 0.0),
        y=at,
        orientation="h",
        marker={"color": GREY},
        customdata=texts,
        hovertemplate="%{y}: w = %{customdata}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    shown = [
        (
            "no evidence",
            before,
            GREY if after is not None else BLUE,
            "/" if after is not None else "",
        ),
        ("given the evidence", after, BLUE, ""),
    ]
    for name, marginal, color, pattern in shown:
        if marginal is not None:
            figure.add_bar(
                x=marginal,
                y=at,
                orientation="h",
                name=name,
                marker={"color": color, "pattern": {"shape": pattern}},
                text=[f"{p:.2f}" for p in marginal] if len(labels) <= _MOST_WRITTEN else None,
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{y}: p = %{x:.4f}<extra>" + name + "</extra>",
                showlegend=after is not None,
                row=1,
                col=2,
            )
    figure.update_yaxes(**_ticks(labels), autorange="reversed")
    figure.update_xaxes(title_text="log potential wᵢ", nticks=4, row=1, col=1)
    figure.update_xaxes(title_text="probability", range=[0, 1.12], nticks=6, row=1, col=2)
    bars = len(labels) * (2 if after is not None else 1)
    figure = _compact(figure, min(_MOST_HIGH, 110 + _ROW * max(2, bars)))
    figure.update_layout(
        margin={"t": 34 if after is not None else 8},
        legend={"x": 1.0, "y": 1.0, "yanchor": "bottom", "yref": "paper", "traceorder": "normal"},
        bargap=0.25,
    )
    return figure


def edge_figure(model: HasModel, e: int, pair: np.ndarray | None) -> go.Figure:
    """Draw zero-sum weights, pair marginal and deviation from independence of an edge.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    e : int
    pair : array, shape (s_i, s_j), optional
        Marginal p(x_i, x_j).

    Examples
    --------
    >>> pair = gv.infer(model, "exact").edge[0]
    >>> [heat.type for heat in figures.edge_figure(model, 0, pair).data]
    ['heatmap', 'heatmap', 'heatmap']
    """
    own: PairwiseModel = model_of(model)
    i, j = own.edges[e].tolist()
    maps: list[tuple[str, np.ndarray, Any, str]] = [
        ("log potentials w<sub>ij</sub>, zero-sum", zero_sum(own.edge_weights(e)), _SIGNED, "w")
    ]
    if pair is not None:
        maps += [
            ("probability p(x<sub>i</sub>, x<sub>j</sub>)", pair, "Viridis", "p"),
            (
                "p(x<sub>i</sub>, x<sub>j</sub>) − p(x<sub>i</sub>) p(x<sub>j</sub>)",
                deviation_from_independence(pair),
                _SIGNED,
                "difference",
            ),
        ]
    rows, columns = _labels(own, i), _labels(own, j)
    map_height = max(2, min(len(rows), 14)) * 30
    figure = make_subplots(
        rows=len(maps),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=_GAP / (len(maps) * map_height + (len(maps) - 1) * _GAP),
        subplot_titles=[title for title, *_ in maps],
    )
    is_small = max(len(rows), len(columns)) <= _MOST_WRITTEN
    for k, (_, table, scale, quantity) in enumerate(maps, start=1):
        finite = np.where(np.isfinite(table), table, np.nan)
        largest = float(np.nanmax(np.abs(finite), initial=1e-12))
        is_signed = scale is _SIGNED
        decimals = 2 if largest >= 0.2 else 3 if largest >= 0.02 else 4
        texts = [[_number(value, decimals) for value in row] for row in table.tolist()]
        figure.add_heatmap(
            z=finite,
            x=np.arange(len(columns)),
            y=np.arange(len(rows)),
            colorscale=scale,
            zmin=-largest if is_signed else 0.0,
            zmax=largest,
            text=texts,
            texttemplate="%{text}" if is_small else None,
            textfont={"size": 13},
            customdata=[[(a, b) for b in columns] for a in rows],
            hovertemplate=f"%{{customdata[0]}}, %{{customdata[1]}}: {quantity} = %{{text}}"
            "<extra></extra>",
            showscale=False,
            xgap=2 if is_small else 0,
            ygap=2 if is_small else 0,
            row=k,
            col=1,
        )
        figure.update_yaxes(
            **_ticks(rows),
            autorange="reversed",
            title_text=escaped(_short(own.names[i])) if k == (len(maps) + 1) // 2 else None,
            row=k,
            col=1,
        )
    figure.update_xaxes(**_ticks(columns), showticklabels=False)
    figure.update_xaxes(
        showticklabels=True,
        title_text=escaped(_short(own.names[j])),
        row=len(maps),
        col=1,
    )
    figure = _compact(figure, 34 + 56 + len(maps) * map_height + (len(maps) - 1) * _GAP)
    figure.update_layout(margin={"t": 34, "b": 56})
    figure.update_annotations(font={"size": 14}, x=0.0, xanchor="left", yshift=2)
    figure.update_xaxes(showgrid=False, ticks="", showline=False)
    figure.update_yaxes(showgrid=False, ticks="", showline=False)
    return figure


def matrix_figure(
    picture: GraphPicture, communities: Communities, names: Sequence[str]
) -> go.Figure:
    """Draw the adjacency matrix with the variables in the order of their communities.

    A cell is as dark as its strongest edge. The largest communities are outlined.

    Parameters
    ----------
    picture : GraphPicture
        Its edges are drawn.
    communities : Communities
        Of all variables.
    names : sequence of str
        Names of all variables.

    Examples
    --------
    >>> from graftviz.inference.inspection import find_communities
    >>> from graftviz.reports.picture import graph_picture
    >>> communities = find_communities(model.n_variables, model.edges)
    >>> (heat,) = figures.matrix_figure(graph_picture(model), communities, model.names).data
    >>> heat.z.shape
    (11, 11)
    """
    n = len(communities.order)
    cells = min(n, _MOST_CELLS)
    place = np.empty(n, dtype=np.int64)
    place[communities.order] = np.arange(n)
    values = np.zeros((cells, cells))
    ends = place[picture.edges] * cells // max(1, n)
    for rows, columns in (ends.T, ends[:, ::-1].T):
        np.maximum.at(values, (rows, columns), picture.strengths)
    firsts = -(-np.arange(cells) * n // cells)  # of the variables of each row of cells
    titles = [escaped(_short(names[i])) for i in communities.order[firsts].tolist()]
    if cells < n:
        titles = [f"{title} …" for title in titles]
    figure = go.Figure()
    figure.add_heatmap(
        z=np.where(values > 0.0, values, np.nan),
        zmin=0.0,
        zmax=1.0,
        colorscale=[[0.0, "#6baed6"], [1.0, BLUE]],
        customdata=np.stack(np.broadcast_arrays(*np.ix_(titles, titles)), axis=-1),
        hovertemplate="%{customdata[0]} – %{customdata[1]}: strength %{z:.2f}<extra></extra>",
        colorbar={"title": "strength", "thickness": 12},
    )
    bounds = communities.starts * cells / max(1, n) - 0.5
    for low, high in list(pairwise(bounds.tolist()))[:_MOST_OUTLINED]:
        if high - low >= 2.0:
            figure.add_shape(
                type="rect", x0=low, x1=high, y0=low, y1=high, line={"color": GREY, "width": 1}
            )
    axis = {"showticklabels": False, "showgrid": False, "zeroline": False, "constrain": "domain"}
    finish(figure, "Adjacency matrix by community", 640)
    figure.update_xaxes(**axis, ticks="", mirror=True, range=[-0.5, cells - 0.5])
    figure.update_yaxes(**axis, ticks="", mirror=True, range=[cells - 0.5, -0.5], scaleanchor="x")
    return figure.update_layout(margin={"l": 10, "r": 10, "t": 50, "b": 10})


def degree_figure(model: HasModel, i: int | None = None) -> go.Figure:
    """Draw the degree distribution on logarithmic axes, with node i marked.

    The number of isolated nodes is given in the title of the axis.

    Examples
    --------
    >>> figures.degree_figure(model).layout.xaxis.type
    'log'
    """
    own: PairwiseModel = model_of(model)
    degrees, counts = degree_counts(own)
    isolated = int(counts[degrees == 0].sum())
    connected = degrees > 0
    figure = go.Figure()
    figure.add_scatter(
        x=degrees[connected],
        y=counts[connected],
        mode="markers",
        marker={"color": BLUE, "size": 9},
        hovertemplate="%{y} with degree %{x}<extra></extra>",
        showlegend=False,
    )
    if i is not None and own.degrees()[i] > 0:
        degree = int(own.degrees()[i])
        rank = int(degree_ranks(own)[i])
        figure.add_scatter(
            x=[degree],
            y=counts[degrees == degree],
            mode="markers+text",
            marker=_MARK,
            text=[escaped(_short(own.names[i]))],
            textposition="top center" if degree < degrees[-1] else "top left",
            textfont={"color": VERMILION, "size": 14},
            cliponaxis=False,
            hovertemplate=f"degree {degree}, rank {rank}<extra></extra>",
            showlegend=False,
        )
    note = f" ({plural(isolated, 'isolated node')})" if isolated else ""
    ticks = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
    most = float(degrees.max(initial=1)), float(counts[connected].max(initial=1))
    figure.update_xaxes(
        type="log",
        title_text=f"degree{note}",
        tickvals=ticks,
        range=[-0.12, np.log10(max(2.0, most[0])) + 0.15],
    )
    figure.update_yaxes(
        type="log",
        title_text="nodes",
        tickvals=ticks,
        range=[-0.15, np.log10(max(2.0, most[1])) + 0.25],
    )
    return _compact(figure, 260)


def norms_figure(
    difference: ModelDifference, names: Sequence[str], first: str, second: str
) -> go.Figure:
    """Draw the weight norms of two models against each other, one point per edge.

    Parameters
    ----------
    difference : ModelDifference
    names : sequence of str
        Names of the variables of the first model.
    first, second : str
        Names of the models.

    Examples
    --------
    >>> from graftviz.inference.inspection import compare_models
    >>> tree = gv.learn(survey, gv.ChowLiu()).model
    >>> figure = figures.norms_figure(compare_models(model, tree), model.names, "grafted", "tree")
    >>> figure.layout.xaxis.title.text
    '‖wᵢⱼ‖ in grafted'
    """
    finite = np.isfinite(difference.first) & np.isfinite(difference.second)
    looks = (
        (COMMON, "in both", GREY, "circle"),
        (LOST, "only in the first", VERMILION, "x"),
        (GAINED, "only in the second", BLUE, "diamond"),
    )
    figure = go.Figure()
    largest = 1.05 * max(
        float(difference.first[finite].max(initial=0.0)),
        float(difference.second[finite].max(initial=0.0)),
        1e-6,
    )
    figure.add_scatter(
        x=[0, largest],
        y=[0, largest],
        mode="lines",
        line={"color": GREY, "dash": "dot", "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    statuses = np.array(difference.status, dtype=object)
    for status, label, color, symbol in looks:
        at = np.flatnonzero((statuses == status) & finite)
        figure.add_scatter(
            x=difference.first[at],
            y=difference.second[at],
            mode="markers",
            name=f"{label} ({difference.count(status):,})",
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.8},
            text=[escaped(f"{names[i]} – {names[j]}") for i, j in difference.edges[at].tolist()],
            hovertemplate="%{text}<br>%{x:.3g} and %{y:.3g}<extra></extra>",
            cliponaxis=False,
        )
    figure.update_xaxes(
        title_text=f"‖wᵢⱼ‖ in {escaped(_short(first, 40))}", range=[-0.02 * largest, largest]
    )
    figure.update_yaxes(
        title_text=f"‖wᵢⱼ‖ in {escaped(_short(second, 40))}", range=[-0.02 * largest, largest]
    )
    figure = _compact(figure, 420)
    figure.update_layout(
        margin={"t": 64, "l": 70},
        legend={"x": 0.0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "yref": "paper"},
    )
    return figure


def change_figure(model: PairwiseModel, changes: Sequence[Change]) -> go.Figure:
    """Draw probabilities of one state per node before and after evidence as connected dots.

    Examples
    --------
    >>> from graftviz.inference.inspection import changes_by_size
    >>> before = gv.infer(model, "exact").node
    >>> after = gv.infer(model, "exact", evidence={"home": "city"}).node
    >>> changes = changes_by_size(before, after)
    >>> figure = figures.change_figure(model, changes[:3])
    >>> [model.names[change.node] for change in changes[:3]]
    ['home', 'commute', 'garden']
    """
    at = np.arange(len(changes))
    figure = go.Figure()
    for k, change in enumerate(changes):
        figure.add_scatter(
            x=[change.before, change.after],
            y=[k, k],
            mode="lines",
            line={"color": GREY, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    before, after = ([getattr(change, name) for change in changes] for name in ("before", "after"))
    looks = (("no evidence", before, GREY, "circle-open"), ("given it", after, BLUE, "circle"))
    for name, values, color, symbol in looks:
        figure.add_scatter(
            x=values,
            y=at,
            mode="markers",
            name=name,
            marker={"color": color, "symbol": symbol, "size": 12, "line": {"width": 2}},
            hovertemplate="p = %{x:.3f}<extra>" + name + "</extra>",
        )
    ticks = [
        escaped(f"{_short(model.names[i])} = {_short(model.labels[i][s], 10)}")
        for i, s, *_ in changes
    ]
    figure.update_yaxes(
        tickmode="array", tickvals=at, ticktext=ticks, range=[len(changes) - 0.5, -0.5]
    )
    figure.update_xaxes(title_text="probability", range=[-0.02, 1.02])
    figure = _compact(figure, 100 + 28 * max(2, len(changes)))
    figure.update_layout(margin={"t": 34})
    return figure


def _labels(model: PairwiseModel, i: int) -> list[str]:
    return [escaped(_short(label, _LONGEST_LABEL)) or "(empty)" for label in model.labels[i]]


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _ticks(labels: Sequence[str]) -> dict[str, Any]:
    """Return the ticks of an axis of states, at most twenty of them."""
    shown = range(0, len(labels), max(1, -(-len(labels) // 20)))
    return {
        "tickmode": "array",
        "tickvals": list(shown),
        "ticktext": [labels[k] for k in shown],
    }


def _number(value: float, decimals: int = 2) -> str:
    # Adding zero makes a rounded −0 a 0.
    return (
        "−∞"
        if np.isneginf(value)
        else f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")
    )


def _compact(figure: go.Figure, height: int) -> go.Figure:
    """Apply the style of figures without title, for panels that have a heading."""
    figure = finish(figure, "", height)
    figure.update_layout(title=None, margin={"l": 10, "r": 20, "t": 10, "b": 50}, font={"size": 14})
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    return figure
