"""Figures of the reservoir: simulated ranks, ranks in a run, and the choice by α."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import numpy as np
import plotly.graph_objects as go

from graftviz.evaluation.reservoir import RankedStep, RankSimulation
from graftviz.learning.grafting.reservoir import Activation
from graftviz.learning.trace import ReservoirView
from graftviz.reports.figures.style import (
    BLUE,
    GREEN,
    GREY,
    LEGEND_BELOW,
    ORANGE,
    VERMILION,
    escaped,
    finish,
)

_HEIGHT = 296  # all three fit into the window of a laptop
_FEW = 12  # edges that each get a tick
_SHADE = "rgba(0, 114, 178, 0.22)"
_BAND = "rgba(0, 158, 115, 0.18)"


def rank_figure(
    simulation: RankSimulation, *, size: int = 1, logarithmic: bool = False
) -> go.Figure:
    """Draw mean and range of the best rank in a reservoir of |R| random draws (BC fig. 1).

    The left end is a single draw; the right end is edge grafting, which scores all pairs. First hit
    is not in it: it takes the first draw above λ, see :func:`run_rank_figure`.

    Parameters
    ----------
    simulation : RankSimulation
    size : int
        Value of |R| to mark.
    logarithmic : bool
        Whether the axis of ranks is logarithmic; that of |R| always is.

    Examples
    --------
    >>> from graftviz.evaluation.reservoir import simulated_ranks
    >>> *_, simulation = simulated_ranks(11, largest=5, trials=20)
    >>> [line.name for line in figures.rank_figure(simulation).data]
    [None, 'range of 20 trials', 'mean', 'expected, 1/(|R|+1)', None, None]
    """
    sizes, pairs = simulation.sizes, simulation.pairs
    figure = go.Figure()
    edge = {"width": 0, "color": BLUE}
    figure.add_scatter(
        x=sizes, y=simulation.highest, mode="lines", line=edge, showlegend=False, hoverinfo="skip"
    )
    figure.add_scatter(
        x=sizes,
        y=simulation.lowest,
        mode="lines",
        line=edge,
        fill="tonexty",
        fillcolor=_SHADE,
        name=f"range of {len(simulation.ranks):,} trials",
        customdata=simulation.highest,
        hovertemplate="|R| = %{x:,}: %{y:.2%} to %{customdata:.2%}<extra></extra>",
    )
    figure.add_scatter(
        x=sizes,
        y=simulation.mean,
        mode="lines",
        name="mean",
        line={"color": BLUE, "width": 3},
        hovertemplate="|R| = %{x:,}: mean %{y:.2%}<extra></extra>",
    )
    beyond = np.unique(np.geomspace(1, pairs, 200).round())
    figure.add_scatter(
        x=beyond,
        y=1.0 / (beyond + 1.0),
        mode="lines",
        name="expected, 1/(|R|+1)",
        line={"color": VERMILION, "width": 2, "dash": "dash"},
        hovertemplate="|R| = %{x:,}: expected %{y:.2%}<extra></extra>",
    )
    marked = min(size, len(sizes)) - 1
    _mark(figure, 1.0, simulation.mean[0], "one draw", "square", "middle right")
    if marked > 0 and sizes[marked] < pairs:
        text = f"|R| = {sizes[marked]:,}"
        _mark(figure, sizes[marked], simulation.mean[marked], text, "circle", "top right")
    if pairs > 1:
        where = "middle left" if logarithmic else "top left"
        _mark(figure, float(pairs), 1.0 / pairs, "edge grafting", "diamond", where)
    figure.update_xaxes(type="log", title_text="|R|, draws in the reservoir", dtick=1)
    figure.update_yaxes(title_text="best rank, share", tickformat=".3~%")
    if logarithmic:
        figure.update_yaxes(type="log", dtick=1, range=[log10(0.4 / pairs), 0.15])
    else:
        figure.update_yaxes(range=[-0.03, 1.03])
    return _finish(figure, f"Random draws from {pairs:,} pairs")


def run_rank_figure(
    first_hit: Sequence[RankedStep], best_choice: Sequence[RankedStep], data: str
) -> go.Figure:
    """Draw the rank among all inactive pairs of the best reservoir edge at each step of two runs.

    Parameters
    ----------
    first_hit, best_choice : sequences of RankedStep
        Steps of two runs on the same data.
    data : str
        Name of the data.

    Examples
    --------
    >>> from graftviz.evaluation.reservoir import ranked_steps
    >>> karate = gv.load_dataset("karate").table
    >>> *_, steps = ranked_steps(karate)
    >>> *_, single = ranked_steps(karate, reservoir=1)
    >>> figures.run_rank_figure(single, steps, "karate").layout.title.text
    'Ranks in a run on karate'
    """
    figure = go.Figure()
    figure.add_scatter(
        x=_edges_before(best_choice),
        y=[step.violating for step in best_choice],
        mode="lines",
        name="all that violate",
        line={"color": GREY, "width": 2, "dash": "dot"},
        hovertemplate="%{y:,} pairs violate<extra></extra>",
    )
    for name, steps, color, symbol in (
        ("first hit", first_hit, VERMILION, "x"),
        ("best-choice", best_choice, BLUE, "circle"),
    ):
        figure.add_scatter(
            x=_edges_before(steps),
            y=[step.rank for step in steps],
            mode="markers",
            name=name,
            marker={"color": color, "symbol": symbol, "size": 8},
            customdata=[(step.index, step.inactive, len(step.reservoir.scores)) for step in steps],
            hovertemplate=f"{name}, step %{{customdata[0]:,}}<br>rank %{{y:,}} of "
            "%{customdata[1]:,}, from %{customdata[2]:,} in R<extra></extra>",
        )
    highest = max((step.violating for step in (*best_choice, *first_hit)), default=1)
    figure.update_xaxes(title_text="active edges before the step")
    figure.update_yaxes(
        type="log",
        title_text="rank of the best in R",
        tickvals=[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
        range=[-0.12, log10(max(highest, 2)) + 0.15],
    )
    return _finish(figure, f"Ranks in a run on {escaped(data)}")


def _edges_before(steps: Sequence[RankedStep]) -> list[int]:
    return [steps[0].inactive - step.inactive for step in steps]


def activation_figure(view: ReservoirView, picked: Activation, names: Sequence[str]) -> go.Figure:
    """Draw the scores of a reservoir, the interval I_α, and the edges chosen from it.

    Parameters
    ----------
    view : ReservoirView
    picked : Activation
        Choice of edges for some α.
    names : sequence of str
        Names of the variables.

    Examples
    --------
    >>> from graftviz.learning.grafting.reservoir import activation
    >>> view = next(gv.BestChoice(preset="paper").steps(survey, seed=0)).reservoir
    >>> picked = activation(view.edges, view.scores, 0.5)
    >>> figures.activation_figure(view, picked, survey.names).data[0].name
    'activated (1)'
    """
    figure = go.Figure()
    eligible = {*picked.chosen, *picked.skipped}
    below = [k for k in range(len(view.scores)) if k not in eligible]
    for name, places, color, symbol, size in (
        ("activated", picked.chosen, BLUE, "circle", 14),
        ("above τ<sub>α</sub>, but touches a stronger one", picked.skipped, ORANGE, "diamond", 13),
        ("below τ<sub>α</sub>", below, GREY, "circle-open", 10),
    ):
        at = list(places)
        pairs = [f"{names[i]} – {names[j]}" for i, j in view.edges[at].tolist()]
        figure.add_scatter(
            x=[k + 1 for k in at],
            y=view.scores[at],
            mode="markers",
            name=f"{name} ({len(at):,})",
            marker={"color": color, "symbol": symbol, "size": size, "line": {"width": 2}},
            text=[escaped(pair) for pair in pairs],
            hovertemplate="%{text}<br>score %{y:.4g}<extra></extra>",
        )
    figure.add_hrect(y0=picked.tau, y1=picked.maximum, fillcolor=_BAND, line_width=0, layer="below")
    lines = [
        ("max", picked.maximum, GREEN, "solid", "bottom"),
        ("τ<sub>α</sub>", picked.tau, GREEN, "dash", "middle"),
        ("μ, the mean", picked.mean, GREY, "dot", "top"),
    ]
    if picked.maximum - picked.mean <= 1e-9 * picked.maximum:
        lines = [("max = τ<sub>α</sub> = μ", picked.maximum, GREEN, "solid", "bottom")]
    for text, height, color, dash, anchor in lines:
        figure.add_hline(y=height, line={"color": color, "dash": dash, "width": 2})
        figure.add_annotation(
            text=text,
            x=1.0,
            xref="x domain",
            xanchor="left" if anchor == "middle" else "right",
            y=height,
            yanchor=anchor,
            showarrow=False,
            font={"size": 14},
        )
    figure.update_xaxes(
        title_text="edges in the reservoir, best first",
        tickformat=",d",
        range=[0.3, len(view.scores) + 0.7],
        dtick=1 if len(view.scores) <= _FEW else None,
    )
    figure.update_yaxes(title_text="activation score", tickformat=".3~g", rangemode="tozero")
    return _finish(figure, "Edges in I<sub>α</sub> = [τ<sub>α</sub>, max]")


def _mark(figure: go.Figure, x: float, y: float, text: str, symbol: str, text_place: str) -> None:
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[text],
        textposition=text_place,
        textfont={"size": 14, "color": VERMILION},
        cliponaxis=False,
        marker={"symbol": symbol, "size": 13, "color": VERMILION},
        showlegend=False,
        hovertemplate=f"{text}: %{{y:.3%}}<extra></extra>",
    )


def _finish(figure: go.Figure, title: str) -> go.Figure:
    """Apply the style of half-page figures, with the legend below."""
    figure = finish(figure, title, _HEIGHT)
    figure.update_layout(
        title={"text": title}, margin={"l": 70, "r": 32, "t": 44, "b": 110}, legend=LEGEND_BELOW
    )
    return figure
