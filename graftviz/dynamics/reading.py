"""One door for time series: files, uploads, data frames and arrays."""

from __future__ import annotations

import os
import re
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
import pandas as pd

from graftviz.dynamics.quick import read_quickly
from graftviz.dynamics.series import TimeSeries, series_of
from graftviz.dynamics.system import frozen
from graftviz.dynamics.times import looks_like_times, positions, read_times
from graftviz.errors import InputError
from graftviz.table.files import read_file
from graftviz.table.raw import RawColumn, RawTable, check_names, from_frame

MAX_BYTES = 500_000_000
LONGEST_GAP = 3
_LONG = {"time", "series", "value"}
_MOST_CELLS = 50_000_000  # of the grid of times and series
_SMALL = 1_000_000  # cells that may be laid out to say exactly what is missing
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")

Layout = Literal["auto", "wide", "long"]


class _Grid(NamedTuple):
    """Values on the grid of equal time steps, NaN where there are none."""

    values: np.ndarray
    times: tuple[str, ...]


def read_series(
    source: str | os.PathLike[str] | BinaryIO | pd.DataFrame | np.ndarray,
    *,
    layout: Layout = "auto",
    time: str | None = None,
    missing: Literal["reject", "interpolate"] = "reject",
    longest_gap: int = LONGEST_GAP,
    constant: Literal["reject", "drop", "keep"] = "reject",
    max_bytes: int = MAX_BYTES,
    name: str | None = None,
) -> TimeSeries:
    """Read time series and check that they can be learned from.

    Parameters
    ----------
    source : path, binary file, DataFrame or array
        Files as for :func:`graftviz.table.read_table`. Arrays have the shape (times, series).
    layout : {"auto", "wide", "long"}
        Wide: a row per time, a column per series. Long: the columns time, series and value, in any
        order of rows. Found out by the names of the columns unless said.
    time : str, optional
        The column of a wide table that holds the times: numbers or ISO 8601 dates. Default: the
        first, if it is called time, t, date, datetime or timestamp, or holds dates; rows of a table
        without times follow each other at equal steps. ``"none"`` says that there are no times.
    missing : {"reject", "interpolate"}
        Refuse missing values and missing time steps, or fill short gaps by straight lines.
    longest_gap : int
        How many values in a row may be filled in.
    constant : {"reject", "drop", "keep"}
        Refuse series that never change, leave them out, or take them as they are.
    max_bytes : int
        Larger files are refused.
    name : str, optional
        What messages call the source.

    Raises
    ------
    InputError
        For what cannot be read; text where numbers should be; times that are not regular, and
        whatever else cannot be used, with its line or row.
    """
    if longest_gap < 1:
        raise InputError(f"The longest gap to fill in is at least 1; got {longest_gap}.")
    if isinstance(source, np.ndarray):
        return _finished(series_of_gaps(source), missing, longest_gap, constant)
    if isinstance(source, pd.DataFrame):
        raw = from_frame(source, name or "The data frame")
    else:
        quick = read_quickly(source, max_bytes) if time in (None, "none") else None
        if quick is not None:
            try:
                quick = quick._replace(title=name or quick.title)
                return _series(quick, layout, time, missing, longest_gap, constant)
            except InputError:
                pass  # said again below, with the line
        raw = read_file(source, name, max_bytes, None, None)
    return _series(raw, layout, time, missing, longest_gap, constant)


def _series(
    raw: RawTable, layout: Layout, time: str | None, missing: str, longest_gap: int, constant: str
) -> TimeSeries:
    check_names(raw.title, raw.names)
    if raw.n_rows < 2:
        raise InputError(f"{raw.title}: a time series needs at least two rows of values.")
    is_long = {name.lower() for name in raw.names} == _LONG
    if layout == "long" and not is_long:
        raise InputError(
            f"{raw.title}: a long table has the columns time, series and value; these are "
            f"{', '.join(raw.names[:5])}."
        )
    read = _long if layout == "long" or (layout == "auto" and is_long) else _wide
    return _finished(read(raw, time, longest_gap), missing, longest_gap, constant)


def series_of_gaps(values: np.ndarray) -> TimeSeries:
    """Return the series of an array, shape (times, series), in which NaN stands for missing."""
    array = np.array(values, dtype=np.float64, order="C")
    whole = series_of(np.where(np.isnan(array), 0.0, array) if array.ndim == 2 else array)
    return TimeSeries(frozen(array), whole.names, title="The array")


def _wide(raw: RawTable, time: str | None, longest_gap: int) -> TimeSeries:
    at = _time_column(raw, time)
    kept = [i for i in range(len(raw.names)) if i != at]
    if not kept:
        raise InputError(f"{raw.title}: there are times but no series beside them.")
    names = tuple(raw.names[i] for i in kept)
    values = np.column_stack([_numbers(raw, i) for i in kept])
    if at is None:
        return TimeSeries(values, names, title=raw.title, notes=raw.notes)
    texts = _texts(raw, at)
    places = positions(read_times(texts, raw.title, raw.place), texts, raw.title, raw.place)
    grid = _on_grid(raw.title, values, places, texts, longest_gap)
    return TimeSeries(grid.values, names, grid.times, raw.title, raw.notes)


def _long(raw: RawTable, time: str | None, longest_gap: int) -> TimeSeries:
    if time is not None:
        raise InputError(f"{raw.title}: the times of a long table are in its column time.")
    columns = {name.lower(): i for i, name in enumerate(raw.names)}
    moments, series = _texts(raw, columns["time"]), _texts(raw, columns["series"])
    numbers = _numbers(raw, columns["value"])
    names = tuple(dict.fromkeys(series))
    distinct = list(dict.fromkeys(moments))
    first: dict[str, int] = {}
    for row, text in enumerate(moments):
        first.setdefault(text, row)

    def place(k: int) -> str:
        return raw.place(first[distinct[k]])

    ticks = read_times(distinct, raw.title, place)
    order = np.argsort(ticks.ticks, kind="stable")
    sorted_texts = [distinct[k] for k in order]
    places = positions(
        ticks._replace(ticks=ticks.ticks[order]),
        sorted_texts,
        raw.title,
        lambda k: raw.place(first[sorted_texts[k]]),
    )
    _check_grid(raw, len(order), len(names), longest_gap)
    row_of = dict(zip(sorted_texts, range(len(order)), strict=True))
    column_of = {name: i for i, name in enumerate(names)}
    values = np.full((len(order), len(names)), np.nan)
    seen = np.zeros(values.shape, dtype=np.bool_)
    for row, (moment, one) in enumerate(zip(moments, series, strict=True)):
        cell = row_of[moment], column_of[one]
        if seen[cell]:
            raise InputError(
                f"{raw.title}: {raw.place(row)} gives series {one!r} a second value at {moment!r}."
            )
        seen[cell] = True
        values[cell] = numbers[row]
    grid = _on_grid(raw.title, values, places, sorted_texts, longest_gap)
    return TimeSeries(grid.values, names, grid.times, raw.title, raw.notes)


def _check_grid(raw: RawTable, times: int, series: int, longest_gap: int) -> None:
    """Refuse a long table whose grid is nearly empty before it takes memory.

    A series of which at most `longest_gap` values in a row are missing has a value at every
    (`longest_gap` + 1)-th time at least.
    """
    cells = times * series
    if cells > _SMALL and cells > (longest_gap + 1) * raw.n_rows:
        raise InputError(
            f"{raw.title}: {raw.n_rows:,} values are few for {times:,} times of {series:,} series; "
            "leave series or times with gaps out."
        )
    _check_cells(raw.title, cells)


def _check_cells(title: str, cells: int) -> None:
    if cells > _MOST_CELLS:
        raise InputError(
            f"{title}: laid out in equal time steps there are {cells:,} values, more than "
            f"{_MOST_CELLS:,}; take a part of it."
        )


def _time_column(raw: RawTable, time: str | None) -> int | None:
    if time is None:
        first = raw.columns[0]
        # Its first value that is not missing; `values` may hold some that occur in no row.
        known = [str(first.values[code]) for code in first.codes[first.codes >= 0][:1]]
        return 0 if known and looks_like_times(raw.names[0], known) else None
    if time in raw.names:
        return raw.names.index(time)
    if time == "none":
        return None
    raise InputError(f"{raw.title}: there is no column {time!r} to take the times from.")


def _texts(raw: RawTable, at: int) -> list[str]:
    """Return a column as text.

    Raises
    ------
    InputError
        When a value is missing.
    """
    column = raw.columns[at]
    if (column.codes < 0).any():
        row = int(np.argmax(column.codes < 0))
        raise InputError(f"{raw.title}: {raw.place(row)} has no {raw.names[at]}.")
    known = [str(value) for value in column.values]
    return [known[code] for code in column.codes.tolist()]


def _numbers(raw: RawTable, at: int) -> np.ndarray:
    """Return a column as floats, NaN where a value is missing.

    Raises
    ------
    InputError
        For the first value that is no finite number.
    """
    column: RawColumn = raw.columns[at]
    if (column.codes < 0).all():
        raise InputError(f"{raw.title}: series {raw.names[at]!r} has no values at all.")
    known = np.array([_number(value) for value in column.values.tolist()])
    numbers = np.append(known, np.nan)[column.codes]
    wrong = (column.codes >= 0) & ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        value = column.values[column.codes[row]]
        comma = "; write decimals with a point" if _DECIMAL_COMMA.fullmatch(str(value)) else ""
        raise InputError(
            f"{raw.title}: {raw.place(row)} has the value {str(value)[:40]!r} in series "
            f"{raw.names[at]!r}, which is no finite number{comma}."
        )
    return numbers


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except ValueError:
        return float("nan")


def _on_grid(
    title: str, values: np.ndarray, places: np.ndarray, texts: list[str], longest_gap: int
) -> _Grid:
    """Put rows at their places; time steps that are absent become rows without values."""
    if int(places[-1]) + 1 == len(places):
        return _Grid(values, tuple(texts))
    # A gap that is too long to be filled in is refused, and need not be kept at its full length.
    steps = np.minimum(np.diff(places), longest_gap + 2)
    rows = np.concatenate([[0], np.cumsum(steps)])
    _check_cells(title, (int(rows[-1]) + 1) * values.shape[1])
    spread = np.full((int(rows[-1]) + 1, values.shape[1]), np.nan)
    spread[rows] = values
    times = [""] * len(spread)
    for row, text in zip(rows.tolist(), texts, strict=True):
        times[row] = text
    return _Grid(spread, tuple(times))


def _finished(series: TimeSeries, missing: str, longest_gap: int, constant: str) -> TimeSeries:
    values, notes = series.values, list(series.notes)
    holes = np.isnan(values)
    if holes.any():
        values = _filled(series, holes, missing, longest_gap)
        were = "value was" if holes.sum() == 1 else "values were"
        notes.append(f"{int(holes.sum()):,} missing {were} filled in along straight lines.")
    still = values.max(axis=0) == values.min(axis=0)
    names = series.names
    if still.any() and constant != "keep":
        which = int(np.argmax(still))
        if constant != "drop":
            raise InputError(
                f"{series.title}: series {names[which]!r} is {values[0, which]:g} at all times "
                f"({int(still.sum())} of {len(names)} series never change), so nothing can be "
                'learned about it; leave such series out (constant="drop").'
            )
        if still.all():
            raise InputError(f"{series.title}: none of the {len(names)} series ever changes.")
        notes.append(f"{int(still.sum())} of {len(names)} series never change and were left out.")
        names = tuple(name for name, is_still in zip(names, still, strict=True) if not is_still)
        values = values[:, ~still]
    kept = frozen(np.ascontiguousarray(values))
    return TimeSeries(kept, names, series.times, series.title, tuple(notes))


def _filled(series: TimeSeries, holes: np.ndarray, missing: str, longest_gap: int) -> np.ndarray:
    """Fill gaps along straight lines.

    Raises
    ------
    InputError
        When gaps are to be refused, are too long, or have no value before or after them.
    """
    if missing != "interpolate":
        row, column = np.argwhere(holes)[0]
        raise InputError(
            f"{series.title}: series {series.names[column]!r} has no value {_moment(series, row)} "
            f"({int(holes.sum()):,} missing in all); fill them in, or fill short gaps "
            'along straight lines (missing="interpolate").'
        )
    values = series.values.copy()
    rows = np.arange(len(values))
    for column in np.flatnonzero(holes.any(axis=0)):
        hole = holes[:, column]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], hole.view(np.int8), [0]])))
        for start, end in edges.reshape(-1, 2):
            if start == 0 or end == len(values) or end - start > longest_gap:
                what = (
                    f"lacks more than {longest_gap} values in a row"
                    if end - start > longest_gap
                    else "lacks values at an end, where there is nothing to draw a line to,"
                )
                raise InputError(
                    f"{series.title}: series {series.names[column]!r} {what} from "
                    f"{_moment(series, start)[3:]} on; leave out the series or these times."
                )
        values[hole, column] = np.interp(rows[hole], rows[~hole], values[~hole, column])
    return values


def _moment(series: TimeSeries, row: int) -> str:
    """Say when: the time where there is one, otherwise the row or the row it comes after."""
    if not series.times:
        return f"in row {row + 1}"
    if series.times[row]:
        return f"at {series.times[row]!r}"
    before = next(text for text in reversed(series.times[:row]) if text)
    return f"in the time steps after {before!r}, which are absent,"
