"""Parsing of times, and check that they are equidistant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

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
