"""Data of a figure as CSV: every point of every curve."""

from __future__ import annotations

import csv
import io

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from graftviz.reports.figures.style import figure_csv


def rows_of(figure: go.Figure) -> list[list[str]]:
    head, *rows = csv.reader(io.StringIO(figure_csv(figure)))
    assert all(len(row) == len(head) for row in rows)
    return [head, *rows]


def test_curves_and_bars_have_one_row_per_point() -> None:
    figure = go.Figure(
        [
            go.Scatter(x=[1, 2, 3], y=[0.5, None, 0.25], name="found, so far"),
            go.Bar(x=["a", "b"], y=[4, 5]),
        ]
    )
    figure.update_layout(xaxis_title_text="edges", yaxis_title_text="‖w<sub>ij</sub>‖ in a &lt; b")
    assert rows_of(figure) == [
        ["curve", "edges", "‖wij‖ in a < b"],
        ["found, so far", "1", "0.5"],
        ["found, so far", "2", ""],
        ["found, so far", "3", "0.25"],
        ["bar 2", "a", "4"],
        ["bar 2", "b", "5"],
    ]


def test_heat_map_has_one_row_per_cell() -> None:
    figure = go.Figure(go.Heatmap(x=["u", "v"], z=[[1, 2], [3, 4]], name="weights"))
    assert rows_of(figure) == [
        ["curve", "x", "y", "value"],
        ["weights", "u", "0", "1"],
        ["weights", "v", "0", "2"],
        ["weights", "u", "1", "3"],
        ["weights", "v", "1", "4"],
    ]


def test_figure_without_points_has_no_rows() -> None:
    assert rows_of(go.Figure(go.Table(header={"values": ["a"]}, cells={"values": [[1]]}))) == [
        ["curve", "x", "y"]
    ]


def test_different_axis_titles_have_a_column() -> None:
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True)
    for row, title in ((1, "recall"), (2, "edges")):
        figure.add_scatter(x=[1], y=[row], name="run", row=row, col=1)
        figure.update_yaxes(title_text=title, row=row, col=1)
    figure.update_xaxes(title_text="step", row=2, col=1)
    assert rows_of(figure) == [
        ["curve", "step", "y axis", "y"],
        ["run", "1", "recall", "1"],
        ["run", "1", "edges", "2"],
    ]
