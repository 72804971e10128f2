"""Figure of a model's graph."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from graftviz.learning.run import Edges, checked_edges
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.reports.figures.style import BLUE, GREEN, GREY, VERMILION, escaped, finish
from graftviz.reports.layout import static_layout

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
