"""Uploaded tables: reading, comparison with the link, and conversion into material."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import streamlit as st

from graftviz.datasets import DataSet, suggest_lam
from graftviz.errors import InputError
from graftviz.options import option_specs
from graftviz.sandbox.readers import TableUpload
from graftviz.table import DiscreteTable
from graftviz.ui.controls import show_options
from graftviz.ui.frame.learning import LearningPage
from graftviz.ui.material import FINGERPRINT_DIGITS, Material, prepare
from graftviz.ui.messages import show_refused_file
from graftviz.ui.reading import read_files, read_once, show_uploaders
from graftviz.ui.url_state import UPLOAD, UploadOptions, default_values
from graftviz.ui.visits import SourceCache

TEST_FRACTION = 0.1
LEAST_ROWS_TO_HOLD_OUT = 50
MOST_CHARACTERS = 1000  # of a name or label
_FILES = (
    ("table", "Table (CSV or parquet)", ["csv", "tsv", "txt", "data", "parquet", "pq"]),
    ("truth", "True edges, optional (CSV: source, target)", ["csv"]),
    ("places", "Positions, optional (CSV: name, lon, lat or x, y)", ["csv"]),
)


class Upload:
    """Accepted table; calling it returns the material for a seed.

    Parameters
    ----------
    data : DataSet
    fingerprint : str
    """

    def __init__(self, data: DataSet, fingerprint: str) -> None:
        self.data = data
        self.fingerprint = fingerprint
        self._latest = SourceCache(1)

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
    files = (("table", file), ("truth", truth), ("places", places))
    upload: TableUpload = read_files("table", files, {**options, "header": header})
    table = upload.table
    name = getattr(file, "name", "") or "The file"
    _check_lengths(table)
    fingerprint = table.fingerprint[:FINGERPRINT_DIGITS]
    if expected and not table.fingerprint.startswith(expected[:FINGERPRINT_DIGITS]):
        raise InputError(
            f"{name} is not the table of the link (fingerprint {fingerprint}, not "
            f"{expected[:FINGERPRINT_DIGITS]}). Upload that one, with the same import options."
        )
    holds_out = table.n_rows >= LEAST_ROWS_TO_HOLD_OUT
    data = DataSet(
        key=UPLOAD,
        title=f"{name} · {table.n_variables} variables, {table.n_rows:,} rows",
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


def show_upload(state: LearningPage[Any]) -> None:
    """Show the uploader and its errors while uploaded data are chosen; the shown run continues."""
    if state.values["data"] != UPLOAD:
        return
    specs = option_specs(UploadOptions)
    expected = "" if state.uploaded else state.values["fingerprint"]
    if expected:
        st.info(
            "This link refers to an uploaded table. Upload the same table "
            f"(fingerprint {expected[:FINGERPRINT_DIGITS]})."
        )
    with st.expander("Your own data", expanded=state.uploaded is None):
        st.caption(
            "Columns are variables, rows are samples; any labels. Files stay on this server."
        )
        files = show_uploaders("upload", _FILES)
        reading = {**default_values(UploadOptions), **state.values["reading"]}
        choose = state.choose
        show_options(specs, reading, choose, prefix="upload", more="Import options")
        anyway = bool(expected and files[0]) and st.checkbox("Use a different table")
    if files[0] is None:
        return
    if anyway:
        expected = ""
    try:
        upload = read_once(
            "upload.read",
            files,
            (*reading.items(), expected),
            lambda: read_upload(files[0], files[1], files[2], reading, expected),
        )
    except InputError as error:
        note = " Still showing the previous table." if state.uploaded is not None else ""
        show_refused_file(error, note, specs, choose, prefix="upload")
        return
    state.accept(upload)
