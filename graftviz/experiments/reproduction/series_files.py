"""Reader of time series for experiments, from tables and packed arrays."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from graftviz.dynamics import TimeSeries, read_series, series_of
from graftviz.errors import InputError
from graftviz.formats.result_folder import check_results

_ARRAYS = ("hourly", "values", "X")  # names of the array, in order of preference


def read_series_file(path: Path) -> TimeSeries:
    """Read series from a table (:func:`graftviz.dynamics.read_series`) or from packed arrays.

    From a ``.npz`` file the array ``hourly``, ``values`` or ``X`` of shape (times, series) is read;
    arrays ``lon`` and ``lat`` name the series if present. Constant series are dropped. From a
    folder the first such file is read.

    Raises
    ------
    InputError
        If there is no such file or array.
    """
    if path.is_dir():
        check_results(path)
    file = _file_in(path) if path.is_dir() else path
    if file.suffix.lower() != ".npz":
        return read_series(file, constant="drop")
    try:
        with np.load(file) as arrays:
            key = next((key for key in _ARRAYS if key in arrays), None)
            values = None if key is None else np.array(arrays[key])
            places = [arrays[name] for name in ("lat", "lon") if name in arrays]
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise InputError(f"No arrays can be read from {file}: {problem}.") from None
    if values is None or values.ndim != 2 or values.dtype.kind not in "iufb":
        raise InputError(
            f"{file} should contain the series as a numeric array {' or '.join(_ARRAYS)} with one "
            "row per time and one column per series."
        )
    names: tuple[str, ...] = ()
    if len(places) == 2 and all(place.shape == (values.shape[1],) for place in places):
        names = tuple(f"{lat:.3f}, {lon:.3f}" for lat, lon in zip(*places, strict=True))
    if len(set(names)) < len(names):
        names = ()
    series = replace(series_of(values, names), title=file.name)
    moving = np.ptp(series.values, axis=0) > 0.0
    if not moving.any():
        raise InputError(f"{file}: all series are constant, so nothing can be learned.")
    return series.selected(tuple(np.array(series.names)[moving].tolist()))


def _file_in(folder: Path) -> Path:
    for pattern in ("*.npz", "*.csv", "*.parquet"):
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    raise InputError(f"There are no time series (.csv, .parquet, .npz) in the folder {folder}.")
