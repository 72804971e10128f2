"""Reader of files with the positions of variables, for maps and other fixed layouts."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from graftviz.data.sets.files import csv_rows, read_text
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

MAX_BYTES = 50_000_000
_ACROSS = ("x", "lon", "longitude")
_DOWN = ("y", "lat", "latitude")
_UPWARDS = ("lat", "latitude")
_LARGEST = 1e100  # maximum coordinate; distances of larger ones overflow
_FRAME = 10_000.0
_MARGIN = 0.04


def read_positions(source: str | os.PathLike[str] | IO[Any], names: Sequence[str]) -> np.ndarray:
    """Read the positions of all variables of a table.

    The file is a CSV with a header. The names are read from the column with the most names of
    variables, the positions from columns ``x`` and ``y`` (y pointing down, as on a screen) or
    ``lon`` and ``lat`` (north on top). Other columns and unknown variables are ignored.

    Returns
    -------
    float64 array, shape (n, 2), read-only
        x and y in 0 … 10000, with equal scales, centred, y pointing down. Longitudes are multiplied
        by the cosine of the middle latitude, to preserve shapes on the map.

    Raises
    ------
    InputError
        For a file that cannot be read, a missing column, a coordinate that is not a number, a
        variable with two positions, or a variable of the table without a position.
    """
    title, text = read_text(source, "the file of positions", MAX_BYTES)
    rows = csv_rows(title, text)
    header = [cell.lower() for cell in rows[0]] if rows else []
    across, down = _column(title, header, _ACROSS), _column(title, header, _DOWN)
    index = {name: i for i, name in enumerate(names)}
    places = np.full((len(names), 2), np.nan)
    hits = [
        sum(column < len(cells) and cells[column] in index for cells in rows[1:])
        for column in range(len(header))
    ]
    name_column = hits.index(max(hits))
    for row, cells in enumerate(rows[1:], start=2):
        name = cells[name_column] if name_column < len(cells) else ""
        if name not in index:
            continue
        if not np.isnan(places[index[name]]).all():
            raise InputError(f"Row {row} of {title} has a second position for {name!r}.")
        places[index[name]] = [
            _number(title, row, header[column], cells, column) for column in (across, down)
        ]
    missing = np.flatnonzero(np.isnan(places[:, 0]))
    if len(missing):
        raise InputError(
            f"{title} has no position for {names[missing[0]]!r}"
            f"{f' and {len(missing) - 1} more variables' if len(missing) > 1 else ''}; "
            "every variable of the table needs one."
        )
    return framed(places, is_map=header[down] in _UPWARDS)


def _column(title: str, header: list[str], choices: tuple[str, ...]) -> int:
    for name in choices:
        if name in header:
            return header.index(name)
    raise InputError(
        f"{title} has no column {choices[0]!r} or {choices[1]!r}; its header should be name,x,y "
        "or name,lon,lat."
    )


def _number(title: str, row: int, column_name: str, cells: list[str], column: int) -> float:
    text = cells[column] if column < len(cells) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= _LARGEST:  # True for NaN too
        raise InputError(f"Row {row} of {title} has no number in column {column_name!r}: {text!r}.")
    return value


def framed(places: np.ndarray, *, is_map: bool) -> np.ndarray:
    """Return positions, shape (n, 2), scaled to the frame of :func:`read_positions`.

    If `is_map`, `places` are longitudes and latitudes, otherwise x and y with y pointing down.
    """
    if is_map:
        middle = math.radians((places[:, 1].min() + places[:, 1].max()) / 2.0)
        places = places * [math.cos(middle), -1.0]
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max()) or 1.0
    inside = _FRAME * (1.0 - 2.0 * _MARGIN)
    return read_only((places - (low + high) / 2.0) / span * inside + _FRAME / 2.0)
