"""Uploaded tables: reading, comparison with the link, and conversion into material."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Protocol

import streamlit as st

from graftviz.datasets import DataSet, suggest_lam
from graftviz.errors import InputError
from graftviz.options import option_specs
from graftviz.sandbox.readers import TableUpload
from graftviz.table import DiscreteTable
from graftviz.ui.controls import show_options
from graftviz.ui.limits import limits
from graftviz.ui.material import FINGERPRINT_DIGITS, Material, default_options, prepare
from graftviz.ui.messages import show_refused_file
from graftviz.ui.reading import read_files, read_once
from graftviz.ui.url_state import UPLOAD, UploadOptions
from graftviz.ui.visits import SourceCache

TEST_FRACTION = 0.1
LEAST_ROWS_TO_HOLD_OUT = 50
MOST_CHARACTERS = 1000  # of a name or label
_TABLE_KINDS = ["csv", "tsv", "txt", "data", "parquet", "pq"]


@dataclasses.dataclass(frozen=True, eq=False)
class Upload:
    """A file that was accepted; calling it gives the material for a seed."""

    data: DataSet
    fingerprint: str
    _latest: SourceCache = dataclasses.field(
        default_factory=lambda: SourceCache(1), init=False, repr=False
    )

    def __call__(self, seed: int) -> Material:
        """Return the material, its held-out rows chosen by `seed`: the same for the same seed."""
        return self._latest.get(seed, lambda: prepare(self.data, seed))


def read_upload(
    file: BinaryIO,
    truth: BinaryIO | None,
    places: BinaryIO | None,
    options: Mapping[str, Any],
    expected: str = "",
) -> Upload:
    """Read a table, and optionally its true edges and the positions of its variables.

    Parameters
    ----------
    file, truth, places : binary file with a ``name``
    options : mapping
        Of :class:`UploadOptions`.
    expected : str
        Fingerprint from a link; empty accepts any table.

    Raises
    ------
    InputError
        For anything that cannot be used, or another table than the link was made with.
    """
    header = {"auto": "auto", "yes": True, "no": False}[options["header"]]
    upload: TableUpload = read_files(
        "table",
        (("table", file), ("truth", truth), ("places", places)),
        {**options, "header": header},
    )
    table = upload.table
    _check_lengths(table)
    fingerprint = table.fingerprint[:FINGERPRINT_DIGITS]
    if expected and not table.fingerprint.startswith(expected[:FINGERPRINT_DIGITS]):
        raise InputError(
            f"{_name(file)} is not the table of the link (fingerprint {fingerprint}, not "
            f"{expected[:FINGERPRINT_DIGITS]}). Upload that one, with the same import options."
        )
    holds_out = table.n_rows >= LEAST_ROWS_TO_HOLD_OUT
    data = DataSet(
        key=UPLOAD,
        title=f"{_name(file)} · {table.n_variables} variables, {table.n_rows:,} rows",
        table=table,
        truth=upload.truth,
        positions=upload.positions,
        description="",
        suggested={"lam": suggest_lam(table)},
        test_fraction=TEST_FRACTION if holds_out else 0.0,
    )
    return Upload(data, fingerprint)


def _check_lengths(table: DiscreteTable) -> None:
    """Refuse names and labels that are too long to display."""
    for name, labels in zip(table.names, table.labels, strict=True):
        longest = max((name, *labels), key=len)
        if len(longest) > MOST_CHARACTERS:
            what = "name" if longest is name else "value"
            raise InputError(
                f"Column {name[:20]!r} has a {what} of {len(longest):,} characters; the maximum is "
                f"{MOST_CHARACTERS:,}. Shorten it, or remove the column."
            )


class _Reading(Protocol):
    """Settings of a page about uploaded data."""

    @property
    def fingerprint(self) -> str:
        """Of the table a link was made with."""

    @property
    def reading(self) -> Mapping[str, Any]:
        """Import options that differ from the defaults."""


class TakesUploads(Protocol):
    """Interface of the session state of a page with uploads."""

    uploaded: Callable[[int], Material] | None

    @property
    def settings(self) -> _Reading:
        """Settings that the controls show."""

    def choose_reading(self, name: str, value: Any) -> None:
        """Read the upload in another way."""

    def accept(self, uploaded: Callable[[int], Material], fingerprint: str) -> None:
        """Use an uploaded file as the data of the page."""


def show_upload(state: TakesUploads) -> None:
    """Show the uploader and its errors; the shown run continues."""
    expected = "" if state.uploaded else state.settings.fingerprint
    if expected:
        st.info(
            "This link refers to an uploaded table. Upload the same table "
            f"(fingerprint {expected[:FINGERPRINT_DIGITS]})."
        )
    with st.expander("Your own data", expanded=state.uploaded is None):
        st.caption(
            "Columns are variables, rows are samples; any labels. Files stay on this server."
        )
        left, middle, right = st.columns(3)
        file = left.file_uploader(
            "Table (CSV or parquet)",
            _TABLE_KINDS,
            key="upload.table",
            max_upload_size=limits().upload_memory,
        )
        truth = middle.file_uploader(
            "True edges, optional (CSV: source, target)",
            ["csv"],
            key="upload.truth",
            max_upload_size=limits().upload_memory,
        )
        places = right.file_uploader(
            "Positions, optional (CSV: name, lon, lat or x, y)",
            ["csv"],
            key="upload.places",
            max_upload_size=limits().upload_memory,
        )
        reading = {**default_options(UploadOptions, {}), **state.settings.reading}
        show_options(
            option_specs(UploadOptions),
            reading,
            state.choose_reading,
            prefix="upload",
            more="Import options",
        )
        anyway = bool(expected and file) and st.checkbox("Use a different table")
    if file is None:
        return
    try:
        fingerprint = "" if anyway else expected
        upload = read_once(
            "upload.read",
            (file, truth, places),
            (*reading.items(), fingerprint),
            lambda: read_upload(file, truth, places, reading, fingerprint),
        )
    except InputError as error:
        note = " Still showing the previous table." if state.uploaded is not None else ""
        show_refused_file(
            error, note, option_specs(UploadOptions), state.choose_reading, prefix="upload"
        )
        return
    state.accept(upload, upload.fingerprint)


def _name(file: BinaryIO) -> str:
    return str(getattr(file, "name", "") or "The file")
