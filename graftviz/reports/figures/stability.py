"""Figure of edges by their frequency in subsamples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import plotly.graph_objects as go

from graftviz.evaluation.selection.stability import STABLE, EdgeStability
from graftviz.reports.figures.style import BLUE, GREY, ORANGE, VERMILION, escaped, finish

_HEIGHT = 460


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
    return finish(figure, title, _HEIGHT)


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
