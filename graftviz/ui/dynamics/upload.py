"""Upload of series, with optional positions and parents."""

from __future__ import annotations

from typing import Any

import streamlit as st

from graftviz.errors import InputError
from graftviz.sandbox.readers import SeriesUpload
from graftviz.ui.controls import show_options
from graftviz.ui.dynamics.material import UploadedSeries, fingerprint
from graftviz.ui.dynamics.options import OF_READING, SPECS
from graftviz.ui.dynamics.state import DynamicsState
from graftviz.ui.frame.texts import plain
from graftviz.ui.limits import limits
from graftviz.ui.reading import read_files, read_once
from graftviz.wording import reworded

MOST_BYTES = 100_000_000
_KINDS = ["csv", "tsv", "txt", "parquet", "pq"]


def show_upload(state: DynamicsState) -> None:
    """Show the upload and its errors; the current run continues meanwhile."""
    expected = state.expected
    if expected:
        st.info(
            f"This link refers to uploaded series. Upload the same files (fingerprint {expected})."
        )
    with st.expander("Upload series", expanded=True):
        st.caption(
            "One row per time and one column per series, or the columns time, series, value. Files "
            "stay on this server."
        )
        left, middle, right = st.columns(3)
        file = left.file_uploader(
            "Series (CSV or parquet)",
            _KINDS,
            key="dynamics.series",
            max_upload_size=limits().upload_memory,
        )
        places = middle.file_uploader(
            "Positions, optional (CSV: series, lon, lat or x, y)",
            ["csv"],
            key="dynamics.places",
            max_upload_size=limits().upload_memory,
        )
        parents = right.file_uploader(
            "Parents, optional (CSV: source, target)",
            ["csv"],
            key="dynamics.parents",
            max_upload_size=limits().upload_memory,
        )
        show_options(
            [SPECS[name] for name in OF_READING],
            state.values,
            state.choose,
            prefix="dynamics",
            more="Import options",
        )
        anyway = bool(expected and file) and st.checkbox("Use different series")
    if file is None:
        return
    options = {name: state.values[name] for name in OF_READING}
    try:
        files = read_once(
            "dynamics.read",
            (file, places, parents),
            tuple(options.items()),
            lambda: read_series_files(file, places, parents, options),
        )
        if expected and files.fingerprint != expected and not anyway:
            raise InputError(
                f"These are not the files of the link (fingerprint {files.fingerprint}, not "
                f"{expected}). Upload those, with the same import options."
            )
    except InputError as error:
        suffix = " Still showing the previous run." if state.shown is not None else ""
        st.error(plain(reworded(str(error), _control) + suffix))
        if not expected:
            state.put_back()
        return
    state.accept(files)


def read_series_files(
    file: Any, places: Any | None, parents: Any | None, options: dict[str, Any]
) -> UploadedSeries:
    """Read series, with optional positions and parents.

    Raises
    ------
    InputError
        For anything that cannot be used.
    """
    upload: SeriesUpload = read_files(
        "series",
        (("series", file), ("places", places), ("parents", parents)),
        {**options, "max_bytes": MOST_BYTES},
    )
    return UploadedSeries(*upload, fingerprint(*upload))


def _control(name: str, value: str) -> str:
    """Name the control that sets an option of reading."""
    return f"“{SPECS[name].label}: {value}” under “Import options” above"
