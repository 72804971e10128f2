"""Reader and writer of sample time series in the folders of ``sample_data``.

A folder with a ``series.csv`` is a sample, and its name is the key. Optional files are
``positions.csv``, the positions of the series, and ``about.json`` with a ``title`` and a
``description``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graftviz.datasets.folders import ROOT
from graftviz.datasets.positions import read_positions
from graftviz.dynamics.reading import read_series
from graftviz.dynamics.series import TimeSeries
from graftviz.errors import InputError
from graftviz.table.csv_text import csv_text

SERIES, POSITIONS = "series.csv", "positions.csv"


class SampleSeries(NamedTuple):
    """Sample of time series with metadata.

    Attributes
    ----------
    key, title, description : str
    series : TimeSeries
    positions : float array, shape (n, 2), or None
        As :func:`graftviz.datasets.positions.read_positions` returns them.
    """

    key: str
    title: str
    description: str
    series: TimeSeries
    positions: np.ndarray | None


def sample_keys(root: Path = ROOT) -> tuple[str, ...]:
    """Return the names of the folders with series, sorted."""
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{SERIES}")))


def load_sample(key: str, root: Path = ROOT) -> SampleSeries:
    """Read a sample.

    Raises
    ------
    InputError
        When there is no sample with that key, or one of its files cannot be used.
    """
    folder = root / key
    if key not in sample_keys(root):
        raise InputError(f"There is no sample of series {key!r} in {root.name}.")
    series = read_series(folder / SERIES)
    places = folder / POSITIONS
    about = folder / "about.json"
    metadata = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    return SampleSeries(
        key,
        str(metadata.get("title", key)),
        str(metadata.get("description", "")),
        series,
        read_positions(places, series.names) if places.exists() else None,
    )


def series_csv(series: TimeSeries) -> str:
    """Return series as a wide CSV: the times, if there are any, and one column per series."""
    rows = [[*(["time"] if series.times else []), *series.names]]
    for row, values in enumerate(series.values.tolist()):
        rows.append([*([series.times[row]] if series.times else []), *map(repr, values)])
    return csv_text(rows)


def positions_csv(series: TimeSeries, degrees: np.ndarray) -> str:
    """Return longitudes and latitudes, shape (n, 2), as CSV: name, lon, lat."""
    lines = [
        f"{name},{lon:.4f},{lat:.4f}"
        for name, (lon, lat) in zip(series.names, degrees.tolist(), strict=True)
    ]
    return "\n".join(["name,lon,lat", *lines]) + "\n"
