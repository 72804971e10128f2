"""Readers of uploads, one per kind, each with a packed form of its result.

`read` runs in the worker process and returns a value or raises InputError; `pack` divides the value
into JSON data and arrays; `unpack` runs in the server, and validates the data while restoring the
value.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from graftviz.datasets import positions_from_names, read_positions, read_truth
from graftviz.datasets.public import class_reader
from graftviz.dynamics import TimeSeries, read_parents, read_series
from graftviz.errors import InputError
from graftviz.formats.model_records import MOST_STEPS, ModelFile
from graftviz.formats.uai import parse_evidence
from graftviz.formats.uploads import MOST_CHARACTERS, read_uploaded_model
from graftviz.model import PairwiseMRF
from graftviz.sandbox.frames import Packed
from graftviz.table import AvailableTable, DiscreteTable, read_table
from graftviz.table.raw import check_names

_FRAME = 10_000.0  # width of the square of positions


class UploadedFile(NamedTuple):
    """Uploaded file.

    Attributes
    ----------
    role : str
        Purpose of the file, such as "table" or "truth".
    name : str
    data : bytes
    """

    role: str
    name: str
    data: bytes

    def stream(self) -> io.BytesIO:
        """Return the content as a binary file, with the name of the upload if it has one."""
        file = io.BytesIO(self.data)
        if self.name:
            file.name = self.name
        return file


class TableUpload(NamedTuple):
    """Table, with its true edges and the positions of its variables if there are any."""

    table: DiscreteTable
    truth: np.ndarray | None
    positions: np.ndarray | None


class SeriesUpload(NamedTuple):
    """Time series, with the positions and the parents of the series if there are any."""

    series: TimeSeries
    positions: np.ndarray | None
    parents: tuple[tuple[int, ...], ...] | None


class UploadKind(NamedTuple):
    """Kind of upload: functions to read, pack and unpack it."""

    read: Callable[[Sequence[UploadedFile], Mapping[str, Any]], Any]
    pack: Callable[[Any], Packed]
    unpack: Callable[[Packed], Any]


# ------------------------------------------------------------------------------------------ tables


def read_table_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> TableUpload:
    """Read a table, and its true edges and positions if there are such files.

    Parameters
    ----------
    files : sequence of UploadedFile
        Files with the roles "table", "truth" and "places".
    options : mapping
        Arguments of :func:`graftviz.table.read_table`.
    """
    streams = {file.role: file.stream() for file in files}
    if options.get("missing") == "em":  # the model is learned where its kernels are compiled
        options = {**options, "missing": "available"}
    table = read_table(streams["table"], **options)
    _check_lengths(table.names, table.labels)
    truth = read_truth(streams["truth"], table.names) if "truth" in streams else None
    if "places" in streams:
        positions: np.ndarray | None = read_positions(streams["places"], table.names)
    else:
        positions = positions_from_names(table.names)
    return TableUpload(table, truth, positions)


def read_public_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> TableUpload:
    """Read the published files of a public data set.

    Parameters
    ----------
    files : sequence of UploadedFile
        Their roles are the name of the data set.
    options : mapping
        Options of its reader.

    Raises
    ------
    InputError
        When two files have the same name, or are not those of the data set.
    """
    contents = {file.name: file.data for file in files}
    if len(contents) < len(files):
        raise InputError("Two of these files have the same name; upload one data set at a time.")
    data = class_reader(files[0].role)(**options).read(contents)
    _check_lengths(data.table.names, data.table.labels)
    return TableUpload(data.table, None, data.positions)


def _check_lengths(names: Sequence[str], labels: Sequence[Sequence[str]] = ()) -> None:
    """Refuse names of columns and labels that are too long to display."""
    for name, own in zip_longest(names, labels, fillvalue=()):
        longest = max((name, *own), key=len)
        if len(longest) > MOST_CHARACTERS:
            what = "name" if longest is name else "value"
            raise InputError(
                f"Column {name[:20]!r} has a {what} of {len(longest):,} characters; the maximum is "
                f"{MOST_CHARACTERS:,}. Shorten it, or remove the column."
            )


def _pack_table(upload: TableUpload) -> Packed:
    table = upload.table
    plain = {"names": table.names, "labels": table.labels, "warnings": table.warnings}
    return Packed(
        plain,
        _present(
            codes=table.codes,
            weights=table.weights,
            observed=table.observed.view(np.uint8) if isinstance(table, AvailableTable) else None,
            truth=upload.truth,
            positions=upload.positions,
        ),
    )


def _unpack_table(packed: Packed) -> TableUpload:
    plain, arrays = packed
    names = _texts(plain["names"])
    labels = tuple(_texts(states) for states in plain["labels"])
    parts = arrays["codes"], names, labels, _texts(plain["warnings"]), arrays.get("weights")
    table = DiscreteTable(*parts)
    if (observed := arrays.get("observed")) is not None:
        _require(observed.dtype == np.uint8 and observed.shape == table.codes.shape)
        table = AvailableTable(*parts, observed=observed > 0)
    check_names("The table", table.names)
    truth = arrays.get("truth")
    if truth is not None:
        _check_pairs(truth, table.n_variables)
    return TableUpload(table, truth, _places(arrays, table.n_variables))


# ------------------------------------------------------------------------------------------ series


def read_series_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> SeriesUpload:
    """Read time series, and their positions and parents if there are such files.

    Parameters
    ----------
    files : sequence of UploadedFile
        Files with the roles "series", "places" and "parents".
    options : mapping
        Arguments of :func:`graftviz.dynamics.read_series`.
    """
    streams = {file.role: file.stream() for file in files}
    series = read_series(streams["series"], **options)
    names = series.names
    _check_lengths(names)
    positions = read_positions(streams["places"], names) if "places" in streams else None
    parents = read_parents(streams["parents"], names) if "parents" in streams else None
    return SeriesUpload(series, positions, parents)


def _pack_series(upload: SeriesUpload) -> Packed:
    series = upload.series
    plain = {
        "names": series.names,
        "times": series.times,
        "title": series.title,
        "notes": series.notes,
        "parents": upload.parents,
    }
    return Packed(plain, _present(values=series.values, positions=upload.positions))


def _unpack_series(packed: Packed) -> SeriesUpload:
    plain, arrays = packed
    values, names, times = arrays["values"], _texts(plain["names"]), _texts(plain["times"])
    title = "The series"
    check_names(title, names)
    _require(values.dtype == np.float64 and values.ndim == 2 and np.isfinite(values).all())
    _require(values.shape[1] == len(names) and values.shape[0] >= 2)
    _require(len(times) in (0, values.shape[0]) and isinstance(plain["title"], str))
    parents = plain["parents"]
    if parents is not None:
        _require(len(parents) == len(names))
        _require(all(type(i) is int and 0 <= i < len(names) for row in parents for i in row))
        parents = tuple(tuple(row) for row in parents)
    series = TimeSeries(values, names, times, plain["title"], _texts(plain["notes"]))
    return SeriesUpload(series, _places(arrays, len(names)), parents)


# ------------------------------------------------------------------------------------------ models


def read_model_upload(files: Sequence[UploadedFile], _options: Mapping[str, Any]) -> ModelFile:
    """Read the model in one or several files.

    Raises
    ------
    InputError
        When two files have the same name, or hold no valid model.
    """
    contents = {file.name: file.data for file in files}
    if len(contents) < len(files):
        raise InputError("Two of these files have the same name; upload one model at a time.")
    return read_uploaded_model(contents)


def _pack_model(file: ModelFile) -> Packed:
    model = file.model
    plain = {"names": model.names, "labels": model.labels, "notes": file.notes}
    return Packed(
        plain | {"steps": file.steps},
        {"cardinalities": model.cardinalities, "edges": model.edges, "weights": model.weights},
    )


def _unpack_model(packed: Packed) -> ModelFile:
    plain, arrays = packed
    _require(bool(plain["names"]) and len(plain["labels"]) == len(plain["names"]))
    dimensions = {name: array.ndim for name, array in arrays.items()}
    _require(dimensions == {"cardinalities": 1, "edges": 2, "weights": 1})
    model = PairwiseMRF(
        arrays["cardinalities"],
        arrays["edges"],
        arrays["weights"],
        _texts(plain["names"]),
        tuple(_texts(states) for states in plain["labels"]),
    )
    steps = plain["steps"]
    if steps is not None:
        _require(isinstance(steps, list) and len(steps) == model.n_edges)
        _require(all(type(step) is int and 1 <= step < MOST_STEPS for step in steps))
    return ModelFile(model, _texts(plain["notes"]), None if steps is None else tuple(steps))


# --------------------------------------------------------------------------------------- evidence


def read_evidence_upload(
    files: Sequence[UploadedFile], options: Mapping[str, Any]
) -> dict[int, int]:
    """Read evidence in UAI format.

    Parameters
    ----------
    files : sequence of UploadedFile
        One file.
    options : mapping
        ``cardinalities``: the number of states of every variable of the model.
    """
    return parse_evidence(files[0].name, files[0].data, options["cardinalities"])


def _pack_evidence(evidence: dict[int, int]) -> Packed:
    return Packed({"evidence": [list(pair) for pair in evidence.items()]}, {})


def _unpack_evidence(packed: Packed) -> dict[int, int]:
    pairs = packed.plain["evidence"]
    _require(isinstance(pairs, list) and all(isinstance(pair, list) for pair in pairs))
    _require(all(type(x) is int and x >= 0 for pair in pairs for x in pair))
    return dict(pairs)


KINDS: Mapping[str, UploadKind] = {
    "table": UploadKind(read_table_upload, _pack_table, _unpack_table),
    "public": UploadKind(read_public_upload, _pack_table, _unpack_table),
    "series": UploadKind(read_series_upload, _pack_series, _unpack_series),
    "model": UploadKind(read_model_upload, _pack_model, _unpack_model),
    "evidence": UploadKind(read_evidence_upload, _pack_evidence, _unpack_evidence),
}


# ------------------------------------------------------------------------------------------ checks


def _present(**arrays: np.ndarray | None) -> dict[str, np.ndarray]:
    return {name: array for name, array in arrays.items() if array is not None}


def _require(holds: bool | np.bool_) -> None:
    if not holds:
        raise ValueError("a packed value is inconsistent")


def _texts(value: Any) -> tuple[str, ...]:
    _require(isinstance(value, list) and all(isinstance(text, str) for text in value))
    return tuple(value)


def _check_pairs(pairs: np.ndarray, n: int) -> None:
    _require(pairs.dtype == np.int64 and pairs.ndim == 2 and pairs.shape[1] == 2)
    _require((pairs[:, 0] >= 0).all() and (pairs[:, 0] < pairs[:, 1]).all())
    _require((pairs[:, 1] < n).all())


def _places(arrays: Mapping[str, np.ndarray], n: int) -> np.ndarray | None:
    places = arrays.get("positions")
    if places is not None:
        _require(places.dtype == np.float64 and places.shape == (n, 2))
        _require(bool(((places >= 0.0) & (places <= _FRAME)).all()))
    return places
