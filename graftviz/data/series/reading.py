"""Reader of time series from files, uploads, data frames and arrays."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import numpy as np
import pandas as pd

from graftviz.data.labels import text_of
from graftviz.data.reading.files import read_file
from graftviz.data.reading.raw import RawColumn, RawTable, check_names, from_frame, look_up
from graftviz.data.series.series import LARGEST_VALUE, TOO_LARGE, TimeSeries
from graftviz.data.sets.files import csv_rows, named_pairs, read_text
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.options import option
from graftviz.utils.wording import quoted, shortened

_MOST_STEPS = 2.0**53  # largest range of exact integers in a float
_ROUNDING = 1e-6  # of a step: tolerance for rounded times


class TimeScale(NamedTuple):
    """Times as numbers.

    Attributes
    ----------
    ticks : float array, shape (rows,)
        Numbers; for dates, seconds, or months if every date has the same day.
    unit : str
        "s", "months" or "" for plain numbers.
    """

    ticks: np.ndarray
    unit: str


def read_times(texts: Sequence[str], title: str, place: Callable[[int], str]) -> TimeScale:
    """Return parsed times, which are numbers or ISO 8601 dates.

    Raises
    ------
    InputError
        For the first text that is neither, or not finite.
    """
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        pass
    else:
        if not np.isfinite(numbers).all():
            row = int(np.argmax(~np.isfinite(numbers)))
            raise InputError(
                f"{title}: {place(row)} has the time {quoted(texts[row])}, which is not finite; "
                "correct it, or leave it out."
            )
        return TimeScale(numbers, "")
    dates = pd.to_datetime(pd.Series(list(texts)), format="ISO8601", errors="coerce", utc=True)
    if dates.isna().any():
        row = int(np.argmax(dates.isna().to_numpy()))
        raise InputError(
            f"{title}: {place(row)} has the time {quoted(texts[row])}, which is neither a number "
            "nor a date such as 2015-01-31 or 2015-01-31 17:30."
        )
    if len(dates) > 2 and dates.dt.day.nunique() == 1:
        months = (dates.dt.year * 12 + dates.dt.month).to_numpy(dtype=np.float64)
        if (np.diff(months) != 0).all():
            return TimeScale(months, "months")
    seconds = (dates - dates.iloc[0]).dt.total_seconds()
    return TimeScale(seconds.to_numpy(dtype=np.float64), "s")


def looks_like_times(name: str, texts: Sequence[str]) -> bool:
    """Return whether a first column holds times, according to its name or its first text."""
    if name.lower() in ("time", "t", "date", "datetime", "timestamp"):
        return True
    try:
        float(texts[0])
    except ValueError:
        date = pd.to_datetime(pd.Series([texts[0]]), format="ISO8601", errors="coerce", utc=True)
        return bool(date.notna().all())
    return False


def positions(
    clock: TimeScale, texts: Sequence[str], title: str, place: Callable[[int], str]
) -> np.ndarray:
    """Return the index of each row on a grid of equal time steps; gaps skip indices.

    The step is the smallest distance of consecutive rows.

    Raises
    ------
    InputError
        When times repeat or decrease, are too far apart, or are not on one grid.
    """
    ticks = clock.ticks
    if len(ticks) < 2:
        return np.zeros(len(ticks), dtype=np.int64)
    with np.errstate(over="ignore"):  # an overflow gives infinity, handled below
        gaps = np.diff(ticks)
    if (gaps <= 0.0).any():
        row = int(np.argmax(gaps <= 0.0)) + 1
        raise InputError(
            f"{title}: {place(row)} has the time {quoted(texts[row])}, which does not come after "
            f"{quoted(texts[row - 1])}; sort the rows by time, with each time once."
        )
    step = float(gaps.min())
    with np.errstate(over="ignore", invalid="ignore"):
        counts = gaps / step
        total = counts.sum()
    if not total <= _MOST_STEPS:  # True for NaN too
        row = int(np.argmax(gaps)) + 1
        raise InputError(
            f"{title}: {place(row)} has the time {quoted(texts[row])}, too long after "
            f"{quoted(texts[row - 1])} for the smallest time step, {_length(step, clock)}; look "
            "for a wrong time."
        )
    whole = np.rint(counts)
    off = np.abs(counts - whole) > np.maximum(_ROUNDING * whole, _ROUNDING)
    if off.any():
        row = int(np.argmax(off)) + 1
        raise InputError(
            f"{title}: the time step is not regular: {place(row)} comes "
            f"{_length(gaps[row - 1], clock)} after {quoted(texts[row - 1])}, which is not a "
            f"multiple of {_length(step, clock)}, the smallest step; resample the series to equal "
            "steps."
        )
    return np.concatenate([[0], np.cumsum(whole.astype(np.int64))])


def _length(gap: float, clock: TimeScale) -> str:
    """Return the text for a time difference, such as "51 minutes"."""
    if clock.unit != "s":
        return f"{gap:g} {clock.unit}".strip()
    for unit, seconds in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if gap >= seconds and gap % seconds == 0:
            return f"{gap / seconds:g} {unit if gap > seconds else unit[:-1]}"
    return f"{gap:g} s"


MAX_BYTES = 500_000_000
LONGEST_GAP = 3
_LONG = {"time", "series", "value"}
_MOST_CELLS = 50_000_000  # of the grid of times and series
_CELL_BYTES = 10  # bytes of the maximum file size per cell; a cell takes about 25 in memory
_SLICE = 2**20  # rows processed at a time
_LEAST_RANGE = 1e-100  # of a series; a smaller one is constant, as its squares would be zero
_SMALL = 1_000_000  # grids of this size are always built, for precise messages about gaps
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")

Layout = Literal["auto", "wide", "long"]


@dataclass(frozen=True)
class SeriesOptions:
    """Options for reading a file, as flags of the command and in the form for uploads."""

    layout: Layout = option(
        "auto",
        "one column per series (wide), or the columns time, series and value (long)",
        label="Layout",
        advanced=True,
    )
    missing: Literal["reject", "interpolate"] = option(
        "reject",
        "missing values: refuse, or interpolate short gaps linearly",
        label="Missing values",
        advanced=True,
    )
    longest_gap: int = option(
        LONGEST_GAP,
        "longest gap to interpolate, in values",
        label="Longest gap",
        minimum=1,
        maximum=1000,
        advanced=True,
    )
    constant: Literal["reject", "drop", "keep"] = option(
        "reject",
        "constant series: refuse, drop, or keep",
        label="Constant series",
        advanced=True,
    )
    difference: int = option(
        0,
        "replace values by their differences from this many rows earlier: 1 removes trends, the "
        "length of a season removes seasons; 0: none",
        label="Differences, lag",
        minimum=0,
        maximum=100_000,
        advanced=True,
    )


class _Grid(NamedTuple):
    """Values on the grid of equal time steps, NaN for missing values, and their times."""

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
    difference: int = 0,
    max_bytes: int = MAX_BYTES,
    name: str | None = None,
) -> TimeSeries:
    """Read time series and check them.

    Parameters
    ----------
    source : path, binary file, DataFrame or array
        Files as for :func:`graftviz.read_table`. Arrays have the shape (times, series).
    layout : {"auto", "wide", "long"}
        Wide: one row per time, one column per series. Long: columns time, series and value, with
        rows in any order. Auto: determined from the names of the columns.
    time : str, optional
        Column of a wide table with the times, which are numbers or ISO 8601 dates. Default: the
        first column if it is named time, t, date, datetime or timestamp, or holds dates. ``"none"``
        for a table without times, whose rows are equidistant.
    missing : {"reject", "interpolate"}
        Raise an error for missing values and time steps, or fill short gaps by linear
        interpolation.
    longest_gap : int
        Maximum number of consecutive values to interpolate.
    constant : {"reject", "drop", "keep"}
        Treatment of constant series: raise an error, drop them, or use them.
    difference : int
        Lag of the differences x(t) − x(t − lag) that replace the values, 0 for none. The first
        rows, which have no predecessor, are dropped.
    max_bytes : int
        Maximum size of a file; a tenth of it is the maximum number of values. Reading takes at most
        about three times as much memory.
    name : str, optional
        Name of the source in messages.

    Raises
    ------
    InputError
        For sources that cannot be read, text instead of numbers, irregular times, and other invalid
        content; the message names the line or row.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [0.0, 1.0, 0.5, 0.2], "b": [1.0, 0.0, 0.3, 0.1]})
    >>> dynamics.read_series(frame).names
    ('a', 'b')
    """
    if longest_gap < 1:
        raise InputError(f"Option longest_gap must be at least 1; got {longest_gap}.")
    longest_gap = min(longest_gap, _MOST_CELLS)  # avoids overflow in arrays of steps
    if difference < 0:
        raise InputError(f"Option difference must be at least 0; got {difference}.")
    options = SeriesOptions(layout, missing, longest_gap, constant, difference)
    if isinstance(source, np.ndarray):
        array = np.array(source, dtype=np.float64, order="C")
        whole = TimeSeries.from_array(
            np.where(np.isnan(array), 0.0, array) if array.ndim == 2 else array
        )
        return _clean(TimeSeries(read_only(array), whole.names, title="The array"), options)
    most = _MOST_CELLS
    if isinstance(source, pd.DataFrame):
        raw = from_frame(source, name or "The data frame")
    else:
        most = min(_MOST_CELLS, max(max_bytes // _CELL_BYTES, _SMALL))
        raw = read_file(source, name, max_bytes, None, None, partial(_check_shape, most))
    return _series(raw, time, options, most)


def _series(raw: RawTable, time: str | None, options: SeriesOptions, most: int) -> TimeSeries:
    check_names(raw.title, raw.names)
    if raw.n_rows < 2:
        raise InputError(f"{raw.title}: a time series needs at least two rows of values.")
    is_long = {name.lower() for name in raw.names} == _LONG
    if options.layout == "long" and not is_long:
        raise InputError(
            f"{raw.title}: a long table has the columns time, series and value; these are "
            f"{', '.join(map(quoted, raw.names[:5]))}."
        )
    read = _long if is_long and options.layout in ("auto", "long") else _wide
    return _clean(read(raw, time, options.longest_gap, most), options)


def _wide(raw: RawTable, time: str | None, longest_gap: int, most: int) -> TimeSeries:
    at = _time_column(raw, time)
    chosen = [i for i in range(len(raw.names)) if i != at]
    if not chosen:
        raise InputError(f"{raw.title}: there are times but no series.")
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
                f"{raw.title}: {raw.place(row)} has a second value of series {quoted(one)} at "
                f"{quoted(moment)}."
            )
        values[cells] = numbers.values[numbers.codes[part]]
    grid = _on_grid(raw.title, values.reshape(shape), places, sorted_texts, longest_gap, most)
    return TimeSeries(grid.values, tuple(series.texts), grid.times, raw.title, raw.notes)


class _Distinct(NamedTuple):
    """Column of texts: index of the text of each row, and the texts in order of appearance."""

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
        # In reverse order, so that the first occurrence is assigned last.
        first[part[::-1]] = np.arange(start, start + len(part))[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    number = np.empty(len(values), dtype=np.int32)
    number[order] = np.arange(len(order))
    return _Distinct(look_up(number, codes), [text_of(values[k]) for k in order], first[order])


def _check_grid(raw: RawTable, times: int, series: int, longest_gap: int, most: int) -> None:
    """Raise :class:`InputError` for a long table whose grid is nearly empty, before building it.

    A series without gaps of more than `longest_gap` values has a value at least at every
    (`longest_gap` + 1)-th time.
    """
    cells = times * series
    if cells > _SMALL and cells > (longest_gap + 1) * raw.n_rows:
        raise InputError(
            f"{raw.title}: {raw.n_rows:,} values are too few for {times:,} times of {series:,} "
            "series; remove series or times with gaps."
        )
    _check_cells(raw.title, cells, most)


def _check_shape(most: int, rows: int, columns: int) -> None:
    """Raise :class:`InputError` for a file with too many values, from its size alone.

    A file of three columns may be a long table, which has one value per row.
    """
    values = rows if columns == 3 else rows * max(columns - 1, 1)
    if values > most:
        raise InputError(
            f"The file holds about {values:,} values, more than the maximum of {most:,}; use a "
            "part of the data."
        )


def _check_cells(title: str, cells: int, most: int) -> None:
    if cells > most:
        raise InputError(
            f"{title}: with equal time steps there are {cells:,} values, more than the maximum of "
            f"{most:,}; use a part of the data."
        )


def _time_column(raw: RawTable, time: str | None) -> int | None:
    if time is None:
        first = raw.columns[0]
        # The first value that is not missing.
        sample = [text_of(first.values[code]) for code in first.codes[first.codes >= 0][:1]]
        return 0 if sample and looks_like_times(raw.names[0], sample) else None
    if time in raw.names:
        return raw.names.index(time)
    if time == "none":
        return None
    raise InputError(f"{raw.title}: there is no column {quoted(time)} with the times.")


def _whole_column(raw: RawTable, at: int) -> RawColumn:
    """Return a column without missing values.

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
    """Return a column of times as texts, at most up to the first repetition.

    Repeated times are an error, so the rows after them do not matter.

    Raises
    ------
    InputError
        When a value is missing.
    """
    codes, values = _whole_column(raw, at)
    texts = [text_of(value) for value in values]
    return [texts[code] for code in codes[: len(texts) + 1].tolist()]


def _numbers(raw: RawTable, at: int) -> RawColumn:
    """Return a column whose values are floats; the last one is NaN, for code −1.

    Raises
    ------
    InputError
        For the first value that is not a finite number or too large.
    """
    codes, values = raw.columns[at]
    name = quoted(raw.names[at])
    if (codes < 0).all():
        raise InputError(f"{raw.title}: series {name} has no values at all.")
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_number(value) for value in values.tolist()])
    wrong = ~(np.abs(numbers) <= LARGEST_VALUE)
    if wrong.any() and (found := look_up(np.append(wrong, False), codes)).any():
        row = int(np.argmax(found))
        value = text_of(values[codes[row]])
        where = (
            f"{raw.title}: {raw.place(row)} has the value {value[:40]!r} in series {name}, which is"
        )
        if np.isfinite(numbers[codes[row]]):
            raise InputError(f"{where} {TOO_LARGE}.")
        comma = "; write decimals with a point" if _DECIMAL_COMMA.fullmatch(value) else ""
        long = (
            " If the rows are single values of several series, name the columns time, series and "
            "value."
            if len(raw.names) == len(_LONG)
            else ""
        )
        raise InputError(f"{where} not a finite number{comma}.{long}")
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
    """Return the rows at their places on the grid; absent time steps become rows of NaN."""
    if int(places[-1]) + 1 == len(places):
        return _Grid(values, tuple(texts))
    # A gap that is too long is an error later, and need not have its full length.
    steps = np.minimum(np.diff(places), longest_gap + 2)
    rows = np.concatenate([[0], np.cumsum(steps)])
    _check_cells(title, (int(rows[-1]) + 1) * values.shape[1], most)
    spread = np.full((int(rows[-1]) + 1, values.shape[1]), np.nan)
    spread[rows] = values
    times = [""] * len(spread)
    for row, text in zip(rows.tolist(), texts, strict=True):
        times[row] = text
    return _Grid(spread, tuple(times))


def _clean(series: TimeSeries, options: SeriesOptions) -> TimeSeries:
    """Return the series with gaps filled and constant series treated according to the options."""
    values, notes = series.values, list(series.notes)
    holes = np.isnan(values)
    if holes.any():
        values = _interpolate(series, holes, options)
        were = "value was" if holes.sum() == 1 else "values were"
        notes.append(f"{int(holes.sum()):,} missing {were} filled by linear interpolation.")
    times = series.times
    if (lag := options.difference) > 0:
        if len(values) < lag + 2:
            raise InputError(
                f"{series.title}: differences of lag {lag} need at least {lag + 2} rows; there are "
                f"{len(values)}."
            )
        values, times = values[lag:] - values[:-lag], times[lag:]
        notes.append(f"The values are differences of lag {lag}.")
    still = values.max(axis=0) - values.min(axis=0) <= _LEAST_RANGE
    names = series.names
    if still.any() and options.constant != "keep":
        which = int(np.argmax(still))
        if options.constant != "drop":
            raise InputError(
                f"{series.title}: series {quoted(names[which])} is {values[0, which]:g} at all "
                f"times ({int(still.sum())} of {len(names)} series are constant), so nothing can "
                'be learned about it; drop such series (constant="drop").'
            )
        if still.all():
            raise InputError(f"{series.title}: all {len(names)} series are constant.")
        notes.append(f"{int(still.sum())} of {len(names)} series are constant and were dropped.")
        names = tuple(name for name, is_still in zip(names, still, strict=True) if not is_still)
        values = values[:, ~still]
    values = read_only(np.ascontiguousarray(values))
    return TimeSeries(values, names, times, series.title, tuple(notes))


def _interpolate(series: TimeSeries, holes: np.ndarray, options: SeriesOptions) -> np.ndarray:
    """Return the values with gaps filled by linear interpolation.

    Raises
    ------
    InputError
        When `missing` does not allow it, or a gap is too long or at an end of the series.
    """
    if options.missing != "interpolate":
        row, column = np.argwhere(holes)[0]
        raise InputError(
            f"{series.title}: series {quoted(series.names[column])} has no value "
            f"{_moment(series, row)} "
            f"({int(holes.sum()):,} missing in total); fill them in, or interpolate short gaps "
            '(missing="interpolate").'
        )
    values, longest_gap = series.values.copy(), options.longest_gap
    rows = np.arange(len(values))
    for column in np.flatnonzero(holes.any(axis=0)):
        hole = holes[:, column]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], hole.view(np.int8), [0]])))
        for start, end in edges.reshape(-1, 2):
            if start == 0 or end == len(values) or end - start > longest_gap:
                what = (
                    f"lacks more than {longest_gap} values in a row"
                    if end - start > longest_gap
                    else "lacks values at an end, which cannot be interpolated,"
                )
                raise InputError(
                    f"{series.title}: series {quoted(series.names[column])} {what} from "
                    f"{_moment(series, start)[3:]} on; remove the series or these times."
                )
        values[hole, column] = np.interp(rows[hole], rows[~hole], values[~hole, column])
    return values


def _moment(series: TimeSeries, row: int) -> str:
    """Return the text for the time of a row, or for its number if there are no times."""
    if not series.times:
        return f"in row {row + 1}"
    if series.times[row]:
        return f"at {quoted(series.times[row])}"
    before = next(text for text in reversed(series.times[:row]) if text)
    return f"in the time steps after {quoted(before)}, which are absent,"


MOST_PARENT_BYTES = 200_000_000


def read_parents(
    source: str | os.PathLike[str] | IO[Any], names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    r"""Read the parents of the series `names`.

    Two kinds of CSV files are supported: a list with one line ``source,target`` per arrow, by name
    or by number from 0, where source drives target; and a matrix like ``matrix.csv``, with the
    names in the first line and one row per series, whose non-zero entries are parents. Its first
    column may be the names of the rows, in the same order.

    Returns
    -------
    tuple of n tuples of int
        Parents of every series, ascending.

    Raises
    ------
    InputError
        For a file that cannot be read, unknown series, or a matrix of another shape.

    Examples
    --------
    >>> import io
    >>> dynamics.read_parents(io.StringIO("source,target\na,b\nb,c\n"), ["a", "b", "c"])
    ((), (0,), (1,))
    """
    title, text = read_text(source, "the file of parents", MOST_PARENT_BYTES)
    rows = [row for row in csv_rows(title, text) if row]
    header = rows[0] if rows else []
    parents: list[set[int]] = [set() for _ in names]
    if header in ([*names], ["target", *names], ["", *names]):
        _read_matrix(title, rows, parents, names)
    else:
        for _, u, j in named_pairs(title, text, names, "arrows"):
            parents[j].add(u)
    return tuple(tuple(sorted(row)) for row in parents)


def _read_matrix(
    title: str, rows: list[list[str]], parents: list[set[int]], names: Sequence[str]
) -> None:
    header, *lines = rows
    if len(header) > len(names):  # the first column is the names of the rows
        if [line[0] for line in lines] != list(names):
            raise InputError(f"The rows of {title} must be named after the series, in their order.")
        lines = [line[1:] for line in lines]
    if len(lines) != len(names) or any(len(line) != len(names) for line in lines):
        raise InputError(
            f"{title} names {len(names)} series, so it needs {len(names)} rows of as many numbers."
        )
    for i, line in enumerate(lines):
        for u, cell in enumerate(line):
            try:
                if float(cell) != 0.0:
                    parents[i].add(u)
            except ValueError:
                raise InputError(
                    f"Row {i + 1} of {title} has {cell!r} for series {names[u]!r}, which is not a "
                    "number."
                ) from None
