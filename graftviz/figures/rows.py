"""Figure of a curve over the rows: structure error, held-out NLPL and λ against their number."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.figures.style import BLUE, GREEN, GREY, ORANGE, VERMILION, Look, curve, finish
from graftviz.selection import RowsCurve

_HEIGHT = 660
_LINES = (  # attribute, name, plot, look
    ("n_edges", "edges", 0, Look(GREY, "dot", "circle-open")),
    ("missing", "missing edges", 0, Look(ORANGE, "dash", "square")),
    ("false", "false edges", 0, Look(VERMILION, "dash", "x")),
    ("error", "structure error", 0, Look(VERMILION, "solid", "circle")),
    ("nlpl_test", "NLPL, held-out rows", 1, Look(BLUE, "solid", "circle")),
    ("lam", "λ used", 2, Look(GREEN, "solid", "diamond")),
)
_TITLES = ("edges", "nats per row", "λ")


def rows_figure(found: RowsCurve) -> go.Figure:
    """Draw a complete or incomplete curve: means over the samples of each number of rows.

    Bars span the lowest and the highest value. Plots without values are left out.

    Examples
    --------
    >>> from graftviz.selection import rows_curve_steps
    >>> *_, curve = rows_curve_steps(survey, gv.ChowLiu(), sizes=2, subsets=1, truth=data.truth)
    >>> [line.name for line in figures.rows_figure(curve).data]
    ['edges', 'missing edges', 'false edges', 'structure error']
    """
    has = {name: any(p.values(name) for p in found.points) for name, *_ in _LINES}
    plots = sorted({plot for name, _, plot, _ in _LINES if has[name]}) or [0]
    figure = make_subplots(
        rows=len(plots),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.07,
        row_heights=[2.0 if plot == 0 else 1.0 for plot in plots],
    )
    for name, title, plot, look in _LINES:
        points = [point for point in found.points if point.values(name)]
        if not points:
            continue
        means = [point.mean(name) or 0.0 for point in points]
        spans = [(min(point.values(name)), max(point.values(name))) for point in points]
        bars = {
            "type": "data",
            "symmetric": False,
            "array": [high - mean for (_, high), mean in zip(spans, means, strict=True)],
            "arrayminus": [mean - low for (low, _), mean in zip(spans, means, strict=True)],
            "thickness": 1,
        }
        rows = [point.n_rows for point in points]
        hover = f"{title} %{{y:.5g}}<br>%{{x:,}} rows"
        line = curve(title, rows, means, look, hover=hover, error_y=bars)
        figure.add_trace(line, row=plots.index(plot) + 1, col=1)
    ticks = list(found.planned)
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{rows:,}" for rows in ticks])
    figure.update_xaxes(title_text="training rows (log scale)", row=len(plots), col=1)
    for k, plot in enumerate(plots):
        zero = "tozero" if plot != 1 else "normal"
        figure.update_yaxes(title_text=_TITLES[plot], rangemode=zero, row=k + 1, col=1)
    return finish(figure, f"{found.learner.title}: how much data", _HEIGHT)
