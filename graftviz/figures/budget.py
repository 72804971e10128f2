"""Quality against the cost of inference, and how far TRBP's log Z is off: one point a model."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from graftviz.figures.style import BLUE, GREEN, VERMILION, finish
from graftviz.narrative.budget import seconds_text, setting_words
from graftviz.tradeoff import TradeOff

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
_STRETCH = 2.2  # of the range of bounded models, that the picture shows
_FEW = 2
_DECADES = 300.0
_LOOKS = {
    "bounded": ("Bounded inference, by τ", BLUE, "solid", "circle"),
    "l1": ("Nodewise ℓ₁, by λ", VERMILION, "dash", "diamond"),
    "truth": ("The true network", GREEN, "dot", "star"),
}


def quality_figure(
    points: Sequence[TradeOff],
    quality: str,
    cost: str,
    measure: str,
    chosen: float | None = None,
) -> go.Figure:
    """Draw what models are worth over what inference on them costs; further down is better.

    Parameters
    ----------
    points : sequence of TradeOff
    quality : {"nll", "ncmll", "nlpl"}
    cost : {"seconds", "operations"}
    measure : str
        What τ bounds.
    chosen : float, optional
        The τ to mark.
    """
    figure = go.Figure()
    for family, mine in _families(points).items():
        mine.sort(key=lambda point: getattr(point, cost))
        _draw(figure, family, mine, cost, quality, measure, chosen, "bottom center")
    figure.update_xaxes(
        title=COST_AXES[cost], type="log", tickformat="~s", dtick=_dtick(points, cost)
    )
    figure.update_yaxes(title=QUALITY_AXES[quality])
    if reach := _reach(points, quality):
        figure.update_yaxes(range=reach)
        _tell_of_the_rest(figure, points, quality, reach[1], "above")
    return _finished(figure, "Quality against the cost of inference")


def partition_figure(
    points: Sequence[TradeOff], measure: str, chosen: float | None = None
) -> go.Figure:
    """Draw by how many per cent TRBP misses log Z, over the held-out NLL of the same models."""
    figure = go.Figure()
    for family, mine in _families(points).items():
        mine.sort(key=lambda point: point.setting, reverse=family == "l1")
        _draw(figure, family, mine, "nll", "log_partition_error", measure, chosen, "middle right")
    figure.update_xaxes(title=QUALITY_AXES["nll"])
    if reach := _reach(points, "nll"):
        figure.update_xaxes(range=reach)
        _tell_of_the_rest(figure, points, "nll", reach[1], "to the right of")
    figure.update_yaxes(title="Error of TRBP's log Z (%)", rangemode="tozero")
    return _finished(figure, "Can approximate inference follow?")


def _families(points: Sequence[TradeOff]) -> dict[str, list[TradeOff]]:
    found = {family: [p for p in points if p.family == family] for family in reversed(_LOOKS)}
    return {family: mine for family, mine in found.items() if mine}


def _reach(points: Sequence[TradeOff], quality: str) -> tuple[float, float] | None:
    """Return the range of a quality that is worth a look: the poorest ℓ₁ models may lie beyond.

    A graph of a few edges is so much worse that all others would become one line.
    """
    bounded = [getattr(point, quality) for point in points if point.family == "bounded"]
    values = [getattr(point, quality) for point in points]
    if len(bounded) < _FEW or max(values) - min(values) <= _STRETCH * (max(bounded) - min(values)):
        return None
    span = _STRETCH * (max(bounded) - min(values))
    return min(values) - 0.12 * span, min(values) + span


def _tell_of_the_rest(
    figure: go.Figure, points: Sequence[TradeOff], quality: str, limit: float, where: str
) -> None:
    beyond = sum(getattr(point, quality) > limit for point in points)
    models = "model lies" if beyond == 1 else "models lie"
    figure.add_annotation(
        text=f"{beyond} poorer {models} {where} the picture",
        xref="paper",
        yref="paper",
        x=1.0,
        y=1.0,
        xanchor="right",
        yanchor="top",
        showarrow=False,
        font={"size": 13},
    )


def _dtick(points: Sequence[TradeOff], cost: str) -> str | int:
    """Return where a logarithmic axis is marked: 1, 2, 5 within few decades, else powers of ten."""
    values = [getattr(point, cost) for point in points]
    return "D2" if not values or max(values) < _DECADES * min(values) else 1


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
    name, colour, dash, symbol = _LOOKS[family]
    is_bounded = family == "bounded"
    marked = [is_bounded and point.setting == chosen for point in points]
    figure.add_trace(
        go.Scatter(
            x=[_UNITS.get(x, 1.0) * getattr(point, x) for point in points],
            y=[getattr(point, y) for point in points],
            name=name,
            mode="lines+markers+text" if is_bounded else "lines+markers",
            text=[setting_words(point, measure).replace(" = ", " ") for point in points],
            textposition=labels,
            textfont={"size": 14},
            cliponaxis=False,
            line={"color": colour, "dash": dash, "width": 2.2},
            marker={
                "symbol": symbol,
                "size": [17 if mark or family == "truth" else 11 for mark in marked],
                "color": colour,
                "opacity": 1.0,
                "line": {"width": [3 if mark else 0 for mark in marked], "color": "#F0A800"},
            },
            customdata=[_hover(point, measure) for point in points],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )


def _hover(point: TradeOff, measure: str) -> str:
    return (
        f"<b>{setting_words(point, measure)}</b> · {point.edges} edges, width {point.width}"
        f"<br>NLL {point.nll:.4f} · NCMLL {point.ncmll:.4f} · NLPL {point.nlpl:.4f}"
        f"<br>{seconds_text(point.seconds)} · {point.operations:,} operations"
        f"<br>TRBP's log Z off by {point.log_partition_error:.3g} %"
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
