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

from graftviz.data.series.reading import read_series
from graftviz.data.series.series import TimeSeries
from graftviz.data.sets.files import read_positions
from graftviz.data.sets.registry import ROOT
from graftviz.utils.errors import InputError

SERIES, POSITIONS = "series.csv", "positions.csv"


class SampleSeries(NamedTuple):
    """Sample of time series with metadata.

    Attributes
    ----------
    key, title, description : str
    series : TimeSeries
    positions : float array, shape (n, 2), or None
        As :func:`graftviz.data.sets.files.read_positions` returns them.
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
