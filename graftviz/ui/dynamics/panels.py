"""Panels of the Dynamics page: settings, upload, notices, and files."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from graftviz.dynamics.samples import load_sample
from graftviz.errors import InputError
from graftviz.formats.dynamics_files import dynamics_json, matrix_csv
from graftviz.sandbox.readers import SeriesUpload
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import follow_value, help_text, show_option, show_options, show_titled
from graftviz.ui.dynamics.jobs import RunProgress, curves, measure, run, source, survey
from graftviz.ui.dynamics.material import UploadedSeries, fingerprint
from graftviz.ui.dynamics.options import (
    MOST_PARENTS,
    OF_LEARNING,
    OF_READING,
    OF_SYSTEM,
    RANDOM,
    SPECS,
    parent_count,
    seeds_of,
)
from graftviz.ui.dynamics.state import DynamicsState, Work
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import DYNAMICS
from graftviz.ui.limits import limits
from graftviz.ui.messages import (
    show_awaiting_file,
    show_problem,
    show_question,
    show_refused_file,
    show_warnings,
)
from graftviz.ui.reading import read_files, read_once
from graftviz.ui.services import page_state
from graftviz.ui.url_state import UPLOAD

MOST_BYTES = 100_000_000
_KINDS = ["csv", "tsv", "txt", "parquet", "pq"]

_PREFIX = "dynamics"
_PATIENCE = 120.0  # seconds a download waits for the end of the run
_METHODS = {
    "scalable": "Scalable structure",
    "inducing": "Sparsity inducing",
    "enforcing": "Sparsity enforcing",
    "dense": "Dense",
}
_WIRINGS = {
    "truth": "true system",
    "inducing": "sparsity inducing",
    "scalable": "scalable structure",
    "file": "uploaded file",
}


def dynamics_state() -> DynamicsState:
    """Return the state of this session's page."""
    return page_state("dynamics", lambda: DynamicsState(Work(source, run, measure, survey, curves)))


def show_files(state: DynamicsState) -> None:
    """Show the upload, if uploaded series are chosen."""
    if state.options.data == UPLOAD:
        show_upload(state)


def show_choices(state: DynamicsState) -> None:
    """Show the choice of data, method, parents and seeds."""
    options = state.options
    _select(state, "data", {RANDOM: "Random system", UPLOAD: "Upload series…"})
    if options.data == RANDOM:
        with st.expander("Random system"):
            for name in OF_SYSTEM:
                show_option(SPECS[name], getattr(options, name), state.choose, prefix=_PREFIX)
    _select(state, "learner", _METHODS)
    n = state.shown.material.n if state.shown is not None else options.size
    if options.learner in ("scalable", "inducing") or options.wiring in ("scalable", "inducing"):
        _count_slider(state, "parents", parent_count(options, n), min(n, MOST_PARENTS))
    if options.learner == "scalable":
        _count_slider(state, "seeds", seeds_of(options, n), n)
    if options.learner == "enforcing":
        _select(state, "wiring", _WIRINGS)
    for name in ("horizon", "seed"):
        show_option(SPECS[name], getattr(options, name), state.choose, prefix=_PREFIX)
    show_options(
        [SPECS[name]._replace(advanced=True) for name in ("held_out", *OF_LEARNING)],
        state.values,
        state.choose,
        prefix=_PREFIX,
    )


def show_messages(state: DynamicsState) -> None:
    """Show ignored parameters, and why the view does not follow the choices."""
    show_warnings(state.complaints)
    if state.awaits_file and state.shown is not None:
        show_awaiting_file("run", place=DYNAMICS.key)
    suffix = " Still showing the previous run." if state.shown is not None else ""
    show_problem(state.problem, suffix)
    show_question(state.question, suffix, state.agree, "dynamics.")
    if notes := state.notes():
        st.caption(plain(" ".join(notes)))


def dynamics_files(state: DynamicsState) -> list[PageFile]:
    """Return the files of the run on show; none before there is one."""
    if state.shown is None:
        return []
    result, matrix = partial(build_result, state), partial(build_matrix, state)
    return [
        PageFile("result.json", "Result (JSON)", "application/json", result),
        PageFile("matrix.csv", "Matrix A (CSV)", "text/csv", matrix),
    ]


def build_result(state: DynamicsState) -> str:
    """Return result.json of the run on show."""
    found = _finished(state)
    if state.shown is None or found is None or found.result is None:
        return ""
    material = state.shown.material
    rows, rows_test = material.train.n_rows, material.test.n_rows
    return dynamics_json(found.result, rows=rows, rows_test=rows_test)


def build_matrix(state: DynamicsState) -> str:
    """Return matrix.csv of the run on show."""
    found = _finished(state)
    return "" if found is None or found.result is None else matrix_csv(found.result.system)


def _finished(state: DynamicsState) -> RunProgress | None:
    work = state.run
    if work is None:
        return None
    work.wait_for_end(_PATIENCE)
    return work.latest


def _count_slider(state: DynamicsState, name: str, value: int, most: int) -> None:
    """Show k or |S| as a slider up to the number of series."""
    # One slider per number of series, because their ranges differ.
    spec, key = SPECS[name], f"{_PREFIX}.{most}.{name}"
    end = max(most, 2)
    shown = min(value, end)
    follow_value(key, shown)

    def choose() -> None:
        # A slider that was replaced may still report its last value.
        if (chosen := st.session_state[key]) != shown:
            state.choose(name, chosen)

    st.slider(spec.label, 1, end, key=key, help=help_text(spec), on_change=guarded(choose))


def _select(state: DynamicsState, name: str, titles: dict[str, str]) -> None:
    show_titled(
        SPECS[name],
        getattr(state.options, name),
        state.choose,
        prefix=_PREFIX,
        title=lambda choice: titles.get(choice) or load_sample(choice).title,
    )


def show_upload(state: DynamicsState) -> None:
    """Show the upload and its errors; the current run continues meanwhile."""
    expected = state.expected
    if expected:
        st.info(
            f"This link refers to uploaded series. Upload the same files (fingerprint {expected})."
        )
    with st.expander("Upload series", expanded=state.uploaded is None):
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
        specs = [SPECS[name] for name in OF_READING]
        show_refused_file(error, suffix, specs, state.choose, prefix=_PREFIX)
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
