"""Readers of uploads, one per kind.

`read` runs in the process that reads uploads and returns a value or raises InputError; `pack`
divides the value into JSON data and arrays, and `unpack` restores it in the server.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.coding import TableOptions
from graftviz.data.reading.reading import read_rows
from graftviz.data.series.reading import read_parents, read_series
from graftviz.data.series.series import TimeSeries
from graftviz.data.sets.dataset import positions_from_names
from graftviz.data.sets.files import read_positions, read_truth
from graftviz.data.sets.public import PUBLIC
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.records import ModelFile
from graftviz.model.readwrite.uai import parse_evidence
from graftviz.reports.files.uploads import MOST_CHARACTERS, read_uploaded_model
from graftviz.utils.errors import InputError

Arrays = Mapping[str, np.ndarray]
Packed = tuple[dict[str, Any], dict[str, np.ndarray]]


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
    """Table, with its true edges and the positions of its variables if there are any.

    `observed` says where values are known if some are still to be drawn; None: all are.
    """

    table: DiscreteTable
    truth: np.ndarray | None
    positions: np.ndarray | None
    observed: np.ndarray | None = None


class SeriesUpload(NamedTuple):
    """Time series, with the positions and the parents of the series if there are any."""

    series: TimeSeries
    positions: np.ndarray | None
    parents: tuple[tuple[int, ...], ...] | None


class UploadKind(NamedTuple):
    """Kind of upload: functions to read, pack and unpack it."""

    read: Callable[[Sequence[UploadedFile], Mapping[str, Any]], Any]
    pack: Callable[[Any], Packed]
    unpack: Callable[[Mapping[str, Any], Arrays], Any]


# ------------------------------------------------------------------------------------------ tables


def read_table_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> TableUpload:
    """Read a table, and its true edges and positions if there are such files.

    Parameters
    ----------
    files : sequence of UploadedFile
        Files with the roles "table", "truth" and "places".
    options : mapping
        Of :class:`TableOptions`.
    """
    streams = {file.role: file.stream() for file in files}
    # Missing values are drawn where the kernels of the learner are compiled.
    table, observed, _ = read_rows(streams["table"], TableOptions(**options))
    _check_lengths(table.names, table.labels)
    truth = read_truth(streams["truth"], table.names) if "truth" in streams else None
    if "places" in streams:
        positions: np.ndarray | None = read_positions(streams["places"], table.names)
    else:
        positions = positions_from_names(table.names)
    return TableUpload(table, truth, positions, observed)


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
    contents = _by_name(files, "data set")
    data = PUBLIC[files[0].role](**options).read(contents)
    _check_lengths(data.table.names, data.table.labels)
    return TableUpload(data.table, None, data.positions)


def _by_name(files: Sequence[UploadedFile], what: str) -> dict[str, bytes]:
    contents = {file.name: file.data for file in files}
    if len(contents) < len(files):
        raise InputError(f"Two of these files have the same name; upload one {what} at a time.")
    return contents


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
    return plain, _present(
        codes=table.codes,
        weights=table.weights,
        observed=upload.observed,
        truth=upload.truth,
        positions=upload.positions,
    )


def _unpack_table(plain: Mapping[str, Any], arrays: Arrays) -> TableUpload:
    labels = tuple(map(tuple, plain["labels"]))
    names, warnings = tuple(plain["names"]), tuple(plain["warnings"])
    table = DiscreteTable(arrays["codes"], names, labels, warnings, arrays.get("weights"))
    own = (arrays.get(name) for name in ("truth", "positions", "observed"))
    return TableUpload(table, *own)


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
    return plain, _present(values=series.values, positions=upload.positions)


def _unpack_series(plain: Mapping[str, Any], arrays: Arrays) -> SeriesUpload:
    names, times, notes = (tuple(plain[key]) for key in ("names", "times", "notes"))
    series = TimeSeries(arrays["values"], names, times, plain["title"], notes)
    parents = plain["parents"] and tuple(map(tuple, plain["parents"]))
    return SeriesUpload(series, arrays.get("positions"), parents)


# ------------------------------------------------------------------------------------------ models


def read_model_upload(files: Sequence[UploadedFile], _options: Mapping[str, Any]) -> ModelFile:
    """Read the model in one or several files.

    Raises
    ------
    InputError
        When two files have the same name, or hold no valid model.
    """
    return read_uploaded_model(_by_name(files, "model"))


def _pack_model(file: ModelFile) -> Packed:
    model = file.model
    plain = {"names": model.names, "labels": model.labels}
    return (
        {**plain, "notes": file.notes, "steps": file.steps},
        {"cardinalities": model.cardinalities, "edges": model.edges, "weights": model.weights},
    )


def _unpack_model(plain: Mapping[str, Any], arrays: Arrays) -> ModelFile:
    labels = tuple(map(tuple, plain["labels"]))
    model = PairwiseModel(**arrays, names=tuple(plain["names"]), labels=labels)
    steps = plain["steps"]
    return ModelFile(model, tuple(plain["notes"]), None if steps is None else tuple(steps))


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
    return {"evidence": list(evidence.items())}, {}


def _unpack_evidence(plain: Mapping[str, Any], _arrays: Arrays) -> dict[int, int]:
    return dict(plain["evidence"])


KINDS: Mapping[str, UploadKind] = {
    "table": UploadKind(read_table_upload, _pack_table, _unpack_table),
    "public": UploadKind(read_public_upload, _pack_table, _unpack_table),
    "series": UploadKind(read_series_upload, _pack_series, _unpack_series),
    "model": UploadKind(read_model_upload, _pack_model, _unpack_model),
    "evidence": UploadKind(read_evidence_upload, _pack_evidence, _unpack_evidence),
}


def _present(**arrays: np.ndarray | None) -> dict[str, np.ndarray]:
    return {name: array for name, array in arrays.items() if array is not None}
