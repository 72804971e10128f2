"""Rows of measurements: their groups, statistics, and lines of a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.stats import spearmanr

from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_lines import SpreadLine, SpreadPanel, lines_figure

Row = dict[str, Any]
Rows = Sequence[Row]


class NotMeasured(Exception):
    """Error for a claim whose measurements are missing."""


class Found(dict[Any, Any]):
    """Dictionary that raises :class:`NotMeasured` for a missing key."""

    def __missing__(self, key: Any) -> Any:
        raise NotMeasured(f"{key} was not measured.")


def group(rows: Rows, column: str) -> Found:
    """Return the rows by their value in a column, in order of appearance."""
    groups = Found()
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def nested(rows: Rows, column: str, *by: str, of: Callable[[Any], Any] = np.mean) -> Any:
    """Return a statistic of a column by the values of other columns, as nested dictionaries.

    ``nested(rows, "error", "method", "n")["dense"][10]`` is the mean error of dense with n = 10.
    """
    if not by:
        return of([row[column] for row in rows])
    groups = group(rows, by[0]).items()
    return Found({key: nested(here, column, *by[1:], of=of) for key, here in groups})


def where(rows: Rows, **values: Any) -> list[Row]:
    """Return the rows that have these values in these columns; others may lack the columns."""
    return [row for row in rows if all(row.get(key) == values[key] for key in values)]


def steps(values: Mapping[Any, float]) -> dict[str, float]:
    """Return the differences from one value to the next."""
    return {f"{a} to {b}": values[b] - values[a] for a, b in pairwise(values)}


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation, or 0 if one side is constant."""
    if min(first) == max(first) or min(second) == max(second):
        return 0.0
    return float(spearmanr(first, second).statistic)


def trend(values: Sequence[float]) -> float:
    """Return the rank correlation of values with their positions."""
    return rank_correlation(range(len(values)), values)


def standard_errors(differences: Any) -> float:
    """Return the mean of differences in standard errors; 0 for a single one."""
    count = len(differences)
    if count < 2:
        return 0.0
    return float(np.mean(differences) / max(np.std(differences, ddof=1) / count**0.5, 1e-12))


def power(counts: Mapping[float, float]) -> float:
    """Return the exponent of a power law, fitted to logarithms by least squares.

    Raises
    ------
    NotMeasured
        With a single size.
    """
    if len(counts) < 2:
        raise NotMeasured("A power needs two sizes.")
    return float(np.polyfit(np.log(list(counts)), np.log(list(counts.values())), 1)[0])


def mean_line(name: str, runs: Mapping[Any, Sequence[Any]], look: Look) -> SpreadLine:
    """Return a line of means and standard deviations by x; points that are not finite are left out.

    Parameters
    ----------
    runs : dict
        Values of all runs by x.
    """
    means, spread = [], []
    for values in runs.values():
        is_finite = None not in values and bool(np.isfinite(values).all())
        means.append(float(np.mean(values)) if is_finite else None)
        spread.append(float(np.std(values)) if is_finite else 0.0)
    several = any(len(values) > 1 for values in runs.values())
    return SpreadLine(name, list(runs), means, spread if several else (), look)


def panel(
    title: str,
    x_title: str,
    y_title: str,
    lines: Mapping[str, Mapping[Any, Sequence[Any]]],
    looks: Mapping[str, Look],
    **logarithmic: bool,
) -> SpreadPanel:
    """Return a panel with one line per name, from the values of all runs by x."""
    drawn = [mean_line(name, runs, looks[name]) for name, runs in lines.items()]
    return SpreadPanel(title, x_title, y_title, drawn, **logarithmic)


def draw_lines(
    title: str,
    rows: Rows,
    *,
    x: str,
    x_title: str,
    y: Mapping[str, str],
    looks: Mapping[str, Look],
    line: str = "method",
    panel_by: str | None = None,
    share_y: bool = False,
    **logarithmic: bool,
) -> go.Figure:
    """Draw means and standard deviations of columns against another column.

    Parameters
    ----------
    x, line : str
        Columns: the horizontal axis, and the name of the line.
    y : dict
        Titles by column; one panel each.
    looks : dict
        By name of the line, in the order of the legend.
    panel_by : str, optional
        Column with the names of panels, each with its own rows.
    """
    panels = []
    for name, here in (group(rows, panel_by) if panel_by else {"": rows}).items():
        ordered = sorted(here, key=lambda row: row[x])
        for column, y_title in y.items():
            runs = nested(ordered, column, line, x, of=list)
            lines = {key: runs[key] for key in looks if key in runs}
            words = name if isinstance(name, str) else f"{panel_by} {name}"
            panels.append(panel(words, x_title, y_title, lines, looks, **logarithmic))
    return lines_figure(title, panels, share_y=share_y)
