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
from graftviz.table.arrow import numeric_column
from graftviz.table.files import read_file
from graftviz.table.raw import RawColumn, RawTable, check_names, from_frame, look_up
from graftviz.wording import quoted, shortened

MAX_BYTES = 500_000_000
LONGEST_GAP = 3
_LONG = {"time", "series", "value"}
_MOST_CELLS = 50_000_000  # of the grid of times and series
_CELL_BYTES = 10  # of the largest file, for each cell of the grid, which takes some 25 in memory
_SLICE = 2**20  # rows laid out at a time
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
        Larger files are refused, and tables of more values than a tenth of this. Reading takes
        about three times this in memory at most.
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
    longest_gap = min(longest_gap, _MOST_CELLS)  # a number that arrays of steps can hold
    if isinstance(source, np.ndarray):
        return _finished(series_of_gaps(source), missing, longest_gap, constant)
    most = _MOST_CELLS
    if isinstance(source, pd.DataFrame):
        raw = from_frame(source, name or "The data frame")
    else:
        most = min(_MOST_CELLS, max(max_bytes // _CELL_BYTES, _SMALL))
        quick = read_quickly(source, max_bytes) if time in (None, "none") else None
        if quick is not None:
            try:
                quick = quick._replace(title=name or quick.title)
                return _series(quick, layout, time, missing, longest_gap, constant, most)
            except InputError:
                pass  # said again below, with the line
        raw = read_file(source, name, max_bytes, None, None)
    return _series(raw, layout, time, missing, longest_gap, constant, most)


def _series(
    raw: RawTable,
    layout: Layout,
    time: str | None,
    missing: str,
    longest_gap: int,
    constant: str,
    most: int,
) -> TimeSeries:
    check_names(raw.title, raw.names)
    if raw.n_rows < 2:
        raise InputError(f"{raw.title}: a time series needs at least two rows of values.")
    is_long = {name.lower() for name in raw.names} == _LONG
    if layout == "long" and not is_long:
        raise InputError(
            f"{raw.title}: a long table has the columns time, series and value; these are "
            f"{', '.join(map(quoted, raw.names[:5]))}."
        )
    read = _long if layout == "long" or (layout == "auto" and is_long) else _wide
    return _finished(read(raw, time, longest_gap, most), missing, longest_gap, constant)


def series_of_gaps(values: np.ndarray) -> TimeSeries:
    """Return the series of an array, shape (times, series), in which NaN stands for missing."""
    array = np.array(values, dtype=np.float64, order="C")
    whole = series_of(np.where(np.isnan(array), 0.0, array) if array.ndim == 2 else array)
    return TimeSeries(frozen(array), whole.names, title="The array")


def _wide(raw: RawTable, time: str | None, longest_gap: int, most: int) -> TimeSeries:
    at = _time_column(raw, time)
    chosen = [i for i in range(len(raw.names)) if i != at]
    if not chosen:
        raise InputError(f"{raw.title}: there are times but no series beside them.")
    _check_cells(raw.title, raw.n_rows * len(chosen), most)
    names = tuple(raw.names[i] for i in chosen)
    values = np.empty((raw.n_rows, len(chosen)))
    for k, i in enumerate(chosen):
        column = _numbers(raw, i)
        values[:, k] = look_up(column.values, column.codes)
    if at is None:
        return TimeSeries(values, names, title=raw.title, notes=raw.notes)
    texts = _times(raw, at)
    places = positions(read_times(texts, raw.title, raw.place), texts, raw.title, raw.place)
    grid = _on_grid(raw.title, values, places, texts, longest_gap, most)
    return TimeSeries(grid.values, names, grid.times, raw.title, raw.notes)


def _long(raw: RawTable, time: str | None, longest_gap: int, most: int) -> TimeSeries:
    if time is not None:
        raise InputError(f"{raw.title}: the times of a long table are in its column time.")
    columns = {name.lower(): i for i, name in enumerate(raw.names)}
    moments, series = _distinct(raw, columns["time"]), _distinct(raw, columns["series"])
    numbers = _numbers(raw, columns["value"])
    ticks = read_times(moments.texts, raw.title, lambda k: raw.place(int(moments.first[k])))
    order = np.argsort(ticks.ticks, kind="stable")
    sorted_texts = [moments.texts[k] for k in order]
    places = positions(
        ticks._replace(ticks=ticks.ticks[order]),
        sorted_texts,
        raw.title,
        lambda k: raw.place(int(moments.first[order[k]])),
    )
    shape = len(order), len(series.texts)
    _check_grid(raw, *shape, longest_gap, most)
    row_of = np.empty(len(order), dtype=np.int64)
    row_of[order] = np.arange(len(order))
    values = np.full(shape[0] * shape[1], np.nan)
    filled = np.zeros(len(values), dtype=np.bool_)
    n_filled = 0
    for start in range(0, raw.n_rows, _SLICE):
        part = slice(start, start + _SLICE)
        cells = row_of[moments.codes[part]] * shape[1] + series.codes[part]
        before = filled[cells]
        filled[cells] = True
        n_filled += len(cells)
        if np.count_nonzero(filled) < n_filled:
            first = np.zeros(len(cells), dtype=np.bool_)
            first[np.unique(cells, return_index=True)[1]] = True
            row = start + int(np.argmax(before | ~first))
            one, moment = series.texts[series.codes[row]], moments.texts[moments.codes[row]]
            raise InputError(
                f"{raw.title}: {raw.place(row)} gives series {quoted(one)} a second value at "
                f"{quoted(moment)}."
            )
        values[cells] = numbers.values[numbers.codes[part]]
    grid = _on_grid(raw.title, values.reshape(shape), places, sorted_texts, longest_gap, most)
    return TimeSeries(grid.values, tuple(series.texts), grid.times, raw.title, raw.notes)


class _Distinct(NamedTuple):
    """A column of texts: for each row the number of its text, the texts in order of appearance."""

    codes: np.ndarray
    texts: list[str]
    first: np.ndarray  # row in which each text appears first


def _distinct(raw: RawTable, at: int) -> _Distinct:
    """Return the texts of a column.

    Raises
    ------
    InputError
        When a value is missing.
    """
    codes, values = _whole_column(raw, at)
    first = np.full(len(values), len(codes), dtype=np.int64)
    for start in reversed(range(0, len(codes), _SLICE)):
        part = codes[start : start + _SLICE]
        # The last assignment stays.
        first[part[::-1]] = np.arange(start, start + len(part))[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    number = np.empty(len(values), dtype=np.int32)
    number[order] = np.arange(len(order))
    return _Distinct(look_up(number, codes), [str(values[k]) for k in order], first[order])


def _check_grid(raw: RawTable, times: int, series: int, longest_gap: int, most: int) -> None:
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
    _check_cells(raw.title, cells, most)


def _check_cells(title: str, cells: int, most: int) -> None:
    if cells > most:
        raise InputError(
            f"{title}: laid out in equal time steps there are {cells:,} values, more than "
            f"{most:,}; take a part of it."
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
    raise InputError(f"{raw.title}: there is no column {quoted(time)} to take the times from.")


def _whole_column(raw: RawTable, at: int) -> RawColumn:
    """Return a column that lacks no value.

    Raises
    ------
    InputError
        When a value is missing.
    """
    column: RawColumn = raw.columns[at]
    if (column.codes < 0).any():
        row = int(np.argmax(column.codes < 0))
        raise InputError(f"{raw.title}: {raw.place(row)} has no {shortened(raw.names[at])}.")
    return column


def _times(raw: RawTable, at: int) -> list[str]:
    """Return a column of times as text, at most up to the first that repeats.

    Times that repeat are refused anyway, so the rows that follow do not matter.

    Raises
    ------
    InputError
        When a value is missing.
    """
    codes, values = _whole_column(raw, at)
    texts = [str(value) for value in values]
    return [texts[code] for code in codes[: len(texts) + 1].tolist()]


def _numbers(raw: RawTable, at: int) -> RawColumn:
    """Return a column whose values are floats, the last of them NaN for code −1.

    Raises
    ------
    InputError
        For the first value that is no finite number.
    """
    codes, values = numeric_column(raw, at)
    name = quoted(raw.names[at])
    if (codes < 0).all():
        raise InputError(f"{raw.title}: series {name} has no values at all.")
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_number(value) for value in values.tolist()])
    wrong = ~np.isfinite(numbers)
    if wrong.any() and (found := look_up(np.append(wrong, False), codes)).any():
        row = int(np.argmax(found))
        value = str(values[codes[row]])
        comma = "; write decimals with a point" if _DECIMAL_COMMA.fullmatch(value) else ""
        raise InputError(
            f"{raw.title}: {raw.place(row)} has the value {value[:40]!r} in series {name}, which "
            f"is no finite number{comma}."
        )
    return RawColumn(codes, np.append(numbers, np.nan))


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except ValueError:
        return float("nan")


def _on_grid(
    title: str,
    values: np.ndarray,
    places: np.ndarray,
    texts: list[str],
    longest_gap: int,
    most: int,
) -> _Grid:
    """Put rows at their places; time steps that are absent become rows without values."""
    if int(places[-1]) + 1 == len(places):
        return _Grid(values, tuple(texts))
    # A gap that is too long to be filled in is refused, and need not be kept at its full length.
    steps = np.minimum(np.diff(places), longest_gap + 2)
    rows = np.concatenate([[0], np.cumsum(steps)])
    _check_cells(title, (int(rows[-1]) + 1) * values.shape[1], most)
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
                f"{series.title}: series {quoted(names[which])} is {values[0, which]:g} at all "
                f"times "
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
            f"{series.title}: series {quoted(series.names[column])} has no value "
            f"{_moment(series, row)} "
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
                    f"{series.title}: series {quoted(series.names[column])} {what} from "
                    f"{_moment(series, start)[3:]} on; leave out the series or these times."
                )
        values[hole, column] = np.interp(rows[hole], rows[~hole], values[~hole, column])
    return values


def _moment(series: TimeSeries, row: int) -> str:
    """Say when: the time where there is one, otherwise the row or the row it comes after."""
    if not series.times:
        return f"in row {row + 1}"
    if series.times[row]:
        return f"at {quoted(series.times[row])}"
    before = next(text for text in reversed(series.times[:row]) if text)
    return f"in the time steps after {quoted(before)}, which are absent,"
