"""Figures of quality and of the error of TRBP's log Z against the cost of inference."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from graftviz.evaluation.tradeoff import TradeOff
from graftviz.reports.figures.style import BLUE, GREEN, VERMILION, Look, curve, finish
from graftviz.reports.words.learners import seconds_text, setting_words
from graftviz.reports.words.phrases import plural

QUALITY_AXES = {
    "nll": "Held-out NLL (nats per row)",
    "ncmll": "Held-out NCMLL (nats per row)",
    "nlpl": "Held-out NLPL (nats per row)",
}
COST_AXES = {
    "seconds": "Time of all marginals (ms)",
    "operations": "Operations of all marginals",
}
_UNITS = {"seconds": 1000.0}
_HEIGHT = 430
_STRETCH = 2.2  # shown range relative to that of the bounded models
_FEW = 2
_DECADES = 300.0
_LOOKS = {
    "bounded": ("Bounded inference, by τ", Look(BLUE, "solid", "circle")),
    "l1": ("Nodewise ℓ₁, by λ", Look(VERMILION, "dash", "diamond")),
    "truth": ("True network", Look(GREEN, "dot", "star")),
}


def quality_figure(
    points: Sequence[TradeOff],
    quality: str,
    cost: str,
    measure: str,
    chosen: float | None = None,
) -> go.Figure:
    """Draw the quality of models against their inference cost; lower is better.

    Parameters
    ----------
    points : sequence of TradeOff
    quality : {"nll", "ncmll", "nlpl"}
    cost : {"seconds", "operations"}
    measure : str
        Cost measure that τ bounds.
    chosen : float, optional
        Value of τ to mark.

    Examples
    --------
    >>> from graftviz.evaluation.tradeoff import measuring
    >>> *_, point = measuring(model, survey, "bounded", 2)
    >>> figures.quality_figure([point], "nll", "operations", "treewidth").layout.yaxis.title.text
    'Held-out NLL (nats per row)'
    """
    figure = go.Figure()
    for family, mine in _families(points).items():
        mine.sort(key=lambda point: getattr(point, cost))
        _draw(figure, family, mine, cost, quality, measure, chosen, "bottom center")
    costs = [getattr(point, cost) for point in points]
    is_narrow = not costs or max(costs) < _DECADES * min(costs)
    figure.update_xaxes(
        title=COST_AXES[cost], type="log", tickformat="~s", dtick="D2" if is_narrow else 1
    )
    figure.update_yaxes(title=QUALITY_AXES[quality])
    if reach := _reach(points, quality):
        figure.update_yaxes(range=reach)
        _annotate_hidden(figure, points, quality, reach[1], "above")
    return _finished(figure, "Accuracy versus cost of inference")


def partition_figure(
    points: Sequence[TradeOff], measure: str, chosen: float | None = None
) -> go.Figure:
    """Draw the error of TRBP's log Z in percent against the held-out NLL.

    Examples
    --------
    >>> from graftviz.evaluation.tradeoff import measuring
    >>> *_, point = measuring(model, survey, "bounded", 2)
    >>> figures.partition_figure([point], "treewidth").layout.title.text
    'Error of approximate inference'
    """
    figure = go.Figure()
    for family, mine in _families(points).items():
        mine.sort(key=lambda point: point.setting, reverse=family == "l1")
        _draw(figure, family, mine, "nll", "log_partition_error", measure, chosen, "middle right")
    figure.update_xaxes(title=QUALITY_AXES["nll"])
    if reach := _reach(points, "nll"):
        figure.update_xaxes(range=reach)
        _annotate_hidden(figure, points, "nll", reach[1], "right")
    figure.update_yaxes(title="Error of TRBP's log Z (%)", rangemode="tozero")
    return _finished(figure, "Error of approximate inference")


def _families(points: Sequence[TradeOff]) -> dict[str, list[TradeOff]]:
    found = {family: [p for p in points if p.family == family] for family in reversed(_LOOKS)}
    return {family: mine for family, mine in found.items() if mine}


def _reach(points: Sequence[TradeOff], quality: str) -> tuple[float, float] | None:
    """Return a range of a quality that may exclude the worst ℓ₁ models; None to show all.

    Graphs of a few edges are so much worse that the other models would not be distinguishable.
    """
    bounded = [getattr(point, quality) for point in points if point.family == "bounded"]
    values = [getattr(point, quality) for point in points]
    if len(bounded) < _FEW or max(values) - min(values) <= _STRETCH * (max(bounded) - min(values)):
        return None
    span = _STRETCH * (max(bounded) - min(values))
    return min(values) - 0.12 * span, min(values) + span


def _annotate_hidden(
    figure: go.Figure, points: Sequence[TradeOff], quality: str, limit: float, where: str
) -> None:
    beyond = sum(getattr(point, quality) > limit for point in points)
    figure.add_annotation(
        text=f"{plural(beyond, 'model')} off scale ({where})",
        xref="paper",
        yref="paper",
        x=1.0,
        y=1.0,
        xanchor="right",
        yanchor="top",
        showarrow=False,
        font={"size": 13},
    )


def _draw(
    figure: go.Figure,
    family: str,
    points: list[TradeOff],
    x: str,
    y: str,
    measure: str,
    chosen: float | None,
    labels: str,
) -> None:
    name, look = _LOOKS[family]
    is_bounded = family == "bounded"
    marked = [is_bounded and point.setting == chosen for point in points]
    figure.add_trace(
        curve(
            name,
            [_UNITS.get(x, 1.0) * getattr(point, x) for point in points],
            [getattr(point, y) for point in points],
            look,
            hover="%{customdata}",
            sizes=[17 if mark or family == "truth" else 11 for mark in marked],
            mode="lines+markers+text" if is_bounded else "lines+markers",
            text=[setting_words(point, measure).replace(" = ", " ") for point in points],
            textposition=labels,
            textfont={"size": 14},
            cliponaxis=False,
            marker_opacity=1.0,
            marker_line={"width": [3 if mark else 0 for mark in marked], "color": "#F0A800"},
            customdata=[_hover(point, measure) for point in points],
        )
    )


def _hover(point: TradeOff, measure: str) -> str:
    return (
        f"<b>{setting_words(point, measure)}</b> · {point.edges} edges, width {point.width}"
        f"<br>NLL {point.nll:.4f} · NCMLL {point.ncmll:.4f} · NLPL {point.nlpl:.4f}"
        f"<br>{seconds_text(point.seconds)} · {point.operations:,} operations"
        f"<br>Error of TRBP's log Z: {point.log_partition_error:.3g} %"
    )


def _finished(figure: go.Figure, title: str) -> go.Figure:
    finish(figure, title, _HEIGHT)
    figure.update_layout(
        margin={"l": 72, "r": 24, "t": 88, "b": 58},
        legend={"x": 0.0, "xanchor": "left", "y": 0.9},
        hovermode="closest",
        showlegend=True,
    )
    return figure
