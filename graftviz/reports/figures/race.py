"""Figure of a race: curves against cost, and a table of the final results."""

from __future__ import annotations

from collections import Counter
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.evaluation.race import AXES, ColumnResult, Race, column_results
from graftviz.reports.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    Look,
    curve,
    escaped,
    finish,
)

# Pixels: title, buttons and legend; a plot; gap between plots; table header; table row.
_TOP, _PLOT, _GAP, _HEAD, _ROW = 190, 270, 90, 34, 28
PURPLE = "#B0588E"  # Okabe and Ito's purple, darkened for thin lines
_LOOKS = (
    Look(BLUE, "solid", "circle"),
    Look(VERMILION, "dash", "square"),
    Look(GREEN, "dot", "triangle-up"),
    Look(PURPLE, "dashdot", "diamond"),
    Look(GREY, "longdashdot", "x"),
    Look(ORANGE, "longdash", "star"),
)
_PLOTS = (
    ("recall", "Recall"),
    ("precision", "Precision"),
    ("nlpl_test", "Held-out NLPL (nats per row)"),
    ("objective", "Objective (nats per row)"),
)
_WIDE = 20.0  # ratio of costs above which the axis is logarithmic


def race_figure(race: Race, title: str, axis: str = "seconds") -> go.Figure:
    """Draw all curves of `race` against `axis`; buttons switch to the other axes.

    Results change at steps only, so curves are step functions. Objectives are drawn only for racers
    that minimise the most common one.

    Raises
    ------
    InputError
        If `axis` is unknown.

    Examples
    --------
    >>> from graftviz.evaluation.race import course_of
    >>> from graftviz.evaluation.race import Race
    >>> runs = [gv.Run(survey, learner(max_edges=5)) for learner in (gv.ChowLiu, gv.FirstHit)]
    >>> while any([run.advance() for run in runs]):
    ...     pass
    >>> race = Race(tuple(course_of(run, run.learner.name) for run in runs))
    >>> figures.race_figure(race, "Two racers", axis="edges").layout.title.text
    'Race on Two racers'
    """
    moments = [moment for course in race.courses for moment in course.moments]
    plots = [
        (name, title)
        for name, title in _PLOTS
        if any(getattr(moment, name) is not None for moment in moments)
    ]
    rows = (len(plots) + 1) // 2
    table = _HEAD + _ROW * (len(race.courses) + 1)
    drawing = rows * (_PLOT + _GAP) + table
    figure = make_subplots(
        rows=rows + 1,
        cols=2,
        specs=[*([[{}, {}]] * rows), [{"type": "table", "colspan": 2}, None]],
        row_heights=[*[_PLOT] * rows, table],
        vertical_spacing=_GAP / drawing,
        subplot_titles=[text for _, text in plots],
    )
    drawn: list[int] = []
    # Only the most common objective is drawn; ties go to the first.
    shared = Counter(course.yardstick for course in race.courses).most_common(1)[0][0]
    for place, (name, _) in enumerate(plots):
        row, column = place // 2 + 1, place % 2 + 1
        for number, course in enumerate(race.courses):
            if name == "objective" and course.yardstick != shared:
                continue
            drawn.append(number)
            values = [getattr(moment, name) for moment in course.moments]
            trace = curve(
                escaped(course.name),
                course.costs(axis),
                values,
                _LOOKS[number % len(_LOOKS)],
                hover=f"{escaped(course.name)}<br>%{{y:.4g}} at %{{x:.4g}}",
                sizes=[0] * (len(values) - 1) + [10],
                legendgroup=str(number),
                showlegend=name == plots[0][0],
                line_shape="hv",
            )
            figure.add_trace(trace, row=row, col=column)
    figure.add_trace(_table(race), row=rows + 1, col=1)
    height = _TOP + drawing + 30
    finish(figure, f"Race on {title}", height)
    above = (_TOP - 45) / drawing  # of the drawing, from its upper edge to below the title
    figure.update_layout(
        margin={"l": 70, "r": 30, "t": _TOP, "b": 30},
        legend={
            "x": 0.0,
            "xanchor": "left",
            "yref": "paper",
            "y": 1.0 + 40 / drawing,
            "yanchor": "bottom",
            "entrywidthmode": "pixels",
            "entrywidth": 260,
            "font": {"size": 13},
        },
        updatemenus=[{**_axis_buttons(race, drawn, len(plots), axis), "y": 1.0 + above}],
    )
    figure.update_xaxes(title_text=AXES[axis], type=_scale(race, axis), title_standoff=4)
    for place, (name, _) in enumerate(plots):
        if name in ("recall", "precision"):
            figure.update_yaxes(range=[0, 1.05], row=place // 2 + 1, col=place % 2 + 1)
    return figure


def _axis_buttons(race: Race, drawn: list[int], plots: int, axis: str) -> dict[str, Any]:
    # The last trace is the table, which has no axis.
    traces = list(range(len(drawn)))
    buttons = []
    for name, words in AXES.items():
        across = [race.courses[number].costs(name) for number in drawn]
        layout: dict[str, Any] = {}
        for k in range(1, plots + 1):
            key = "xaxis" if k == 1 else f"xaxis{k}"
            layout |= {f"{key}.title.text": words, f"{key}.type": _scale(race, name)}
            layout[f"{key}.autorange"] = True
        buttons.append(
            {"label": words, "method": "update", "args": [{"x": across}, layout, traces]}
        )
    return {
        "buttons": buttons,
        "active": list(AXES).index(axis),
        "type": "buttons",
        "direction": "right",
        "x": 1.0,
        "xanchor": "right",
        "yanchor": "top",
        "showactive": True,
    }


def _scale(race: Race, axis: str) -> str:
    """Return "log" if costs differ so much that short runs would vanish on a linear axis."""
    ends = [course.costs(axis)[-1] for course in race.courses]
    smallest = min((end for end in ends if end > 0), default=1.0)
    return "log" if axis != "edges" and max(ends) > _WIDE * smallest else "linear"


def _table(race: Race) -> go.Table:
    results = column_results(race)
    names = [escaped(course.name) for course in race.courses]
    columns = [names, *([_cell(v, racer) for racer in range(len(names))] for v in results)]
    return go.Table(
        columnwidth=[2.6, *[1.0] * len(results)],
        header={
            "values": ["★ best of column", *(v.column.title for v in results)],
            "align": ["left", *["right"] * len(results)],
            "font": {"size": 13, "color": BLACK},
            "fill_color": "rgba(127, 127, 127, 0.2)",
        },
        cells={
            "values": columns,
            "align": ["left", *["right"] * len(results)],
            "font": {"size": 13},
            "height": 26,
            "fill_color": "rgba(127, 127, 127, 0.06)",
        },
    )


def _cell(result: ColumnResult, racer: int) -> str:
    value = result.values[racer]
    if value is None:
        return "–"
    text = f"{value:,.{result.column.decimals}f}"
    return f"★ <b>{text}</b>" if racer in result.winners else text
