"""The data of a figure as CSV: every point of every curve, and nothing else."""

from __future__ import annotations

import csv
import io

import plotly.graph_objects as go

from graftviz.figures import figure_csv


def rows_of(figure: go.Figure) -> list[list[str]]:
    head, *rows = csv.reader(io.StringIO(figure_csv(figure)))
    assert head == ["curve", "x", "y", "z"]
    return rows


def test_curves_and_bars_have_a_row_a_point() -> None:
    figure = go.Figure(
        [
            go.Scatter(x=[1, 2, 3], y=[0.5, None, 0.25], name="found, so far"),
            go.Bar(x=["a", "b"], y=[4, 5]),
        ]
    )
    assert rows_of(figure) == [
        ["found, so far", "1", "0.5", ""],
        ["found, so far", "2", "", ""],
        ["found, so far", "3", "0.25", ""],
        ["bar 2", "a", "4", ""],
        ["bar 2", "b", "5", ""],
    ]


def test_a_heat_map_has_a_row_a_cell() -> None:
    figure = go.Figure(go.Heatmap(x=["u", "v"], z=[[1, 2], [3, 4]], name="weights"))
    assert rows_of(figure) == [
        ["weights", "u", "0", "1"],
        ["weights", "v", "0", "2"],
        ["weights", "u", "1", "3"],
        ["weights", "v", "1", "4"],
    ]


def test_what_has_no_points_has_no_rows() -> None:
    assert rows_of(go.Figure(go.Table(header={"values": ["a"]}, cells={"values": [[1]]}))) == []
