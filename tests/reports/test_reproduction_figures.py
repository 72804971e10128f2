"""Figures of the papers: distinguishable lines, and the menu of axes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from graftviz.reports.reproduction.curves import all_methods, hub_methods, look_of
from graftviz.reports.reproduction.figures import (
    AXES,
    Line,
    grid_figure,
    learning_curves,
    line_figure,
    rank_figure,
    scale_look,
)

X = {"ratio": [0.0, 1.0], "seconds": [0.0, 0.5], "tests": [0, 9], "tables": [0, 7], "edges": [0, 3]}


def panel(*, without=()):
    known = {key: values for key, values in X.items() if key not in without}
    lines = [Line(f"line {k}", known, [3.0, 2.0 - k], scale_look(k)) for k in range(2)]
    return {"objective": lines, "recall": lines}


def test_methods_differ_by_more_than_colour():
    for methods in (all_methods(), hub_methods()):
        looks = [look_of(method.name, method.alpha, method.hubs) for method in methods]
        assert len(set(looks)) == len(looks)
        assert len({(look.dash, look.symbol) for look in looks}) == len(looks)


def test_menu_changes_the_axis_of_all_panels():
    figure = learning_curves("title", {"a": panel(), "b": panel()})
    assert len(figure.data) == 8
    assert sum(trace.showlegend for trace in figure.data) == 2
    (menu,) = figure.layout.updatemenus
    assert [button.label for button in menu.buttons] == list(AXES.values())
    for key, button in zip(AXES, menu.buttons, strict=True):
        moved, titles = button.args
        assert moved["x"] == [list(X[key])] * len(figure.data)
        # Titles of the last row: the third and fourth of four panels.
        assert titles == {f"xaxis{k}.title.text": AXES[key] for k in (3, 4)}
    assert [list(trace.x) for trace in figure.data] == [X["ratio"]] * 8


def test_axis_missing_from_some_lines_is_not_offered():
    figure = learning_curves("title", {"a": panel(), "b": panel(without=("ratio",))})
    labels = [button.label for button in figure.layout.updatemenus[0].buttons]
    assert labels == [AXES[key] for key in ("seconds", "tests", "tables", "edges")]
    assert [list(trace.x) for trace in figure.data] == [X["seconds"]] * 8
    started = learning_curves("title", {"a": panel()}, axis="edges")
    assert list(started.data[0].x) == X["edges"]


def test_ranks_are_shown_as_shares_of_all_pairs():
    names = ("mean_rank", "expected_rank", "least_rank", "largest_rank")
    ranks = {
        name: np.array([6.0, 4.0, 2.0]) + k for name, k in zip(names, (0, 0.1, -1, 1), strict=True)
    }
    figure = rank_figure("title", pd.DataFrame({"reservoir": np.arange(1, 4), **ranks}), 12)
    mean = next(trace for trace in figure.data if trace.name == "mean of the trials")
    assert np.allclose(mean.y, [50.0, 100 / 3, 50 / 3])


def test_growth_figure_has_power_and_grid_figure_has_values():
    rows = [{"method": "all", "n": n, "tables": n**2} for n in (10, 20)]
    rows.append({"method": "one", "n": 10, "tables": 9})
    looks = {name: scale_look(k) for k, name in enumerate(("all", "one"))}
    how = {"x": "n", "x_title": "n", "y": {"tables": "tables"}, "looks": looks}
    figure = line_figure("title", pd.DataFrame(rows), **how, log_x=True, power_of="n")
    (note,) = figure.layout.annotations
    assert (note.text, note.x, note.y) == ("∝ n^2.00", np.log10(20), 400)
    grid = pd.DataFrame([[0.25], [np.nan]], index=[0.1, 1.0], columns=[0.5])
    (shown,) = grid_figure("title", {"recall": (grid, False)}, "λ", "λ₂").data
    assert [list(row) for row in shown.z] == [[0.25], [None]]
    assert list(shown.y) == ["0.1", "1"]
