"""Rows of measurements: their groups, statistics, and lines of a figure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.reports.reproduction.figure_lines import SpreadLine, SpreadPanel, lines_figure
from graftviz.reports.reproduction.figures import Look
from graftviz.reports.reproduction.statistics import NotMeasured, mean, power
from graftviz.utils.files import json_value

Row = dict[str, Any]


class Values(dict[Any, Any]):
    """Values by case, maybe nested; a missing case raises :class:`NotMeasured`."""

    def __missing__(self, key: Any) -> Any:
        raise NotMeasured(f"{key} was not measured.")

    def map(self, of: Callable[[Any], Any]) -> Values:
        """Return a function of each value."""
        return Values({key: of(value) for key, value in self.items()})

    def only(self, keys: Iterable[Any]) -> Values:
        """Return the values of these cases."""
        return Values({key: self[key] for key in keys})

    def others(self, key: Any) -> Values:
        """Return the values of all other cases."""
        return self.only(other for other in self if other != key)

    def steps(self) -> Values:
        """Return the differences from one value to the next."""
        return Values({f"{a} to {b}": self[b] - self[a] for a, b in pairwise(self)})

    def __sub__(self, other: Values | float) -> Values:
        return self._with(other, operator.sub)

    def __truediv__(self, other: Values | float) -> Values:
        return self._with(other, operator.truediv)

    def _with(self, other: Values | float, of: Callable[[Any, Any], Any]) -> Values:
        """Return a function of each value and that of the same case of `other`, or `other`."""
        if isinstance(other, Values):
            return Values({key: of(value, other[key]) for key, value in self.items()})
        return self.map(lambda value: of(value, other))


class _Columns(dict[str, Any]):
    """Row of a table; a missing column raises :class:`NotMeasured`."""

    def __missing__(self, key: str) -> Any:
        raise NotMeasured(f"There is no column {key!r} in a row with {', '.join(self)}.")


class Table(list[Row]):
    """Measured rows, or a table made of them; a missing column raises :class:`NotMeasured`."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        super().__init__(map(_Columns, rows))

    def group(self, *columns: str) -> Values:
        """Return the rows by their value or values in columns, in order of appearance."""
        key = operator.itemgetter(*columns)
        groups = Values()
        for row in self:
            groups.setdefault(key(row), Table()).append(row)
        return groups

    def nested(self, column: str, *by: str, of: Callable[[Any], Any] = np.mean) -> Values:
        """Return a statistic of a column by the values of other columns, as nested dictionaries.

        ``rows.nested("error", "method", "n")["dense"][10]`` is the mean error of dense with n = 10.
        """
        if by[1:]:
            return self.group(by[0]).map(lambda rows: rows.nested(column, *by[1:], of=of))
        return self.group(by[0]).map(lambda rows: of(rows.column(column)))

    def where(self, **values: Any) -> Table:
        """Return the rows that have these values in these columns; others may lack the columns."""
        return Table(row for row in self if all(row.get(key) == values[key] for key in values))

    def column(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return [row[name] for row in self]

    def by(self, *columns: str) -> Table:
        """Return the rows in ascending order of columns."""
        return Table(sorted(self, key=operator.itemgetter(*columns)))

    def level(self, column: str) -> Table:
        """Return the rows without a value in a column once for every value that others have."""
        values = sorted({row[column] for row in self} - {None})
        return Table(
            {**row, column: value}
            for row in self
            for value in (values if row[column] is None else [row[column]])
        )

    def extended(self, more: Callable[[Row], Row]) -> Table:
        """Return the rows with further columns, computed from each."""
        return Table({**row, **more(row)} for row in self)


def mean_line(name: str, runs: Mapping[Any, Sequence[Any]], look: Look) -> SpreadLine:
    """Return a line of means and standard deviations by x; points that are not finite are left out.

    Parameters
    ----------
    runs : dict
        Values of all runs by x.
    """
    means = [json_value(mean(values)) for values in runs.values()]
    spread = [
        0.0 if center is None else float(np.std(values))
        for center, values in zip(means, runs.values(), strict=True)
    ]
    several = any(len(values) > 1 for values in runs.values())
    return SpreadLine(name, list(runs), means, spread if several else (), look)


@dataclass(frozen=True)
class LineFigure:
    """Means and standard deviations of columns against another column; draws when called.

    Attributes
    ----------
    x, x_title : str
        Column of the horizontal axis, and its title.
    y : dict
        Titles by column; one panel for each that the rows have.
    looks : dict
        By name of the line, in the order of the legend.
    line, panel : str
        Columns of the names of lines, and of panels with their own rows, if the rows have it.
    table : callable (rows) -> rows
        Makes the drawn rows of the measured ones.
    share_y : bool
        Whether all panels have the same vertical axis.
    log_x : bool
    log_y : bool or None
        None: logarithmic if the largest mean is more than twice the smallest.
    power_of : str
        Symbol of x, of which fitted powers are written beside the lines; empty for none.
    """

    x: str
    x_title: str
    y: Mapping[str, str]
    looks: Mapping[str, Look]
    line: str = "method"
    panel: str = "panel"
    table: Callable[[Table], Iterable[Row]] = Table
    share_y: bool = False
    log_x: bool = False
    log_y: bool | None = False
    power_of: str = ""

    def __call__(self, title: str, rows: Table) -> go.Figure:
        """Return the plotly figure of measured rows.

        Raises
        ------
        NotMeasured
            If no row has one of the columns, or a line has no look.
        """
        table = Table(self.table(rows))
        has_panels = any(self.panel in row for row in table)
        groups = table.group(self.panel) if has_panels else {"": table}
        panels = [
            self._panel(name if isinstance(name, str) else f"{self.panel} {name}", here, column)
            for name, here in groups.items()
            for column in self.y
            if any(column in row for row in here)
        ]
        if table and not panels:
            columns, present = ", ".join(self.y), ", ".join(table[0])
            raise NotMeasured(f"There is none of the columns {columns} in a row with {present}.")
        return lines_figure(title, panels, share_y=self.share_y)

    def _panel(self, title: str, rows: Table, column: str) -> SpreadPanel:
        """Return the panel of a column, from the values of all runs by line and x."""
        runs = rows.by(self.x).nested(column, self.line, self.x, of=list)
        if unknown := [str(key) for key in runs if key not in self.looks]:
            raise NotMeasured(f"There is no look for the {self.line} {', '.join(unknown)}.")
        lines = [self._line(key, runs[key]) for key in self.looks if key in runs]
        means = [value for drawn in lines for value in drawn.y if value is not None]
        log_y = bool(means) and max(means) > 2.0 * min(means) if self.log_y is None else self.log_y
        return SpreadPanel(title, self.x_title, self.y[column], lines, self.log_x, log_y)

    def _line(self, name: str, runs: Values) -> SpreadLine:
        line = mean_line(name, runs, self.looks[name])
        if not self.power_of or len(runs) < 2:
            return line
        return line._replace(note=f"∝ {self.power_of}^{power(runs.map(mean)):.2f}")
