"""Panels of the Regions page: settings, upload, notices, and files."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from graftviz.datasets import dataset_title
from graftviz.errors import InputError
from graftviz.formats.region_csv import region_csv
from graftviz.options import option_specs
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import follow_value, help_text, show_option
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import REGION
from graftviz.ui.limits import limits
from graftviz.ui.messages import show_awaiting_file, show_problem, show_warnings
from graftviz.ui.reading import latest_model, read_files, read_once
from graftviz.ui.regions import jobs
from graftviz.ui.regions.jobs import Question, link_of_grow_page, load_model, question_of
from graftviz.ui.regions.models import ShownModel, uploaded_model
from graftviz.ui.regions.options import GRID, RUN, RegionOptions
from graftviz.ui.regions.state import RegionState
from graftviz.ui.services import page_state
from graftviz.ui.url_state import UPLOAD

PATIENCE = 60.0  # seconds a download waits for the region

_PREFIX = "region"
_SPECS = {spec.name: spec for spec in option_specs(RegionOptions)}
_STRENGTHS = ("t2", "t1")
_GRID_CHOICES = ("side", "seed")
_GROWTH = ("tolerance", "size", "expansion", "cut")
_MODEL_KINDS = ["uai", "graphml", "xml", "json", "zip"]
_LIMIT = 50  # MB
_EXPANSIONS = {"greedy": "greedy: smallest bound", "random": "random", "norm": "strongest edge"}
_CUTS = {"drop": "dropped", "mean-field": "mean field"}


def region_state() -> RegionState:
    """Return the state of this session's page."""
    return page_state("regions", lambda: RegionState(load_model))


def show_model_choice(state: RegionState) -> None:
    """Show the choice of the model and the options of the grid."""
    options = state.options
    show_option(
        _SPECS["data"],
        options.data,
        lambda _, key: _choose_data(state, key),
        prefix=_PREFIX,
        title=_title,
    )
    if options.data == RUN:
        newest = link_of_grow_page()
        if newest and newest != state.run:
            st.button(
                "Use the current run",
                on_click=guarded(lambda: state.take_run(newest)),
                key="newest",
            )
    if options.data == GRID:
        for name in _STRENGTHS:
            _strength(state, name)
        for column, name in zip(st.columns(2), _GRID_CHOICES, strict=True):
            with column:
                show_option(_SPECS[name], getattr(options, name), state.choose, prefix=_PREFIX)


def show_growth_choices(state: RegionState) -> None:
    """Show the query and the options of growth; the model has been loaded."""
    if state.shown is None:
        return
    _query(state)
    options = state.options
    show_option(_SPECS["tolerance"], options.tolerance, state.choose, prefix=_PREFIX)
    show_option(_SPECS["size"], options.size, state.choose, prefix=_PREFIX)
    for name, texts in (("expansion", _EXPANSIONS), ("cut", _CUTS)):
        show_option(
            _SPECS[name],
            getattr(options, name),
            state.choose,
            prefix=_PREFIX,
            title=texts.__getitem__,
            as_buttons=True,
        )
    if options.data != GRID and options.expansion == "random":
        show_option(_SPECS["seed"], options.seed, state.choose, prefix=_PREFIX)


def show_messages(state: RegionState) -> None:
    """Show ignored parameters, and why the view does not follow the choices."""
    show_warnings(state.complaints)
    if state.awaits_file and state.shown is not None:
        show_awaiting_file("model", place=REGION.key)
    suffix = " Still showing the previous model." if state.shown is not None else ""
    show_problem(state.problem, suffix)


def show_model_upload(state: RegionState) -> None:
    """Show the upload and its errors; the current model stays until another is accepted."""
    if state.options.data != UPLOAD:
        return
    expected = "" if state.uploaded else state.fingerprint
    if expected:
        st.info(
            f"This link refers to an uploaded model. Upload the same file (fingerprint {expected})."
        )
    with st.expander("Upload a model", expanded=state.uploaded is None):
        files = st.file_uploader(
            "Model: .uai (optionally with .names.json), .graphml, node-link .json, or a zipped "
            "result folder",
            _MODEL_KINDS,
            accept_multiple_files=True,
            key="region.files",
            max_upload_size=min(_LIMIT, limits().upload_memory),
        )
        st.caption(
            "Files stay on this server. Larger models: "
            "`python -m graftviz local MODEL --query NAME`."
        )
    files = latest_model("region.files", files)
    if not files:
        return
    try:
        uploaded = read_once("region.read", files, (), lambda: _read(files))
        fingerprint = uploaded.identity.partition(":")[2]
        if expected and fingerprint != expected:
            raise InputError(
                f"This is not the model of the link (fingerprint {fingerprint}, not {expected})."
            )
    except InputError as error:
        suffix = " Still showing the previous model." if state.shown is not None else ""
        st.error(plain(str(error) + suffix))
        return
    state.accept(uploaded)


def _read(files: list[Any]) -> ShownModel:
    return uploaded_model(files[0].name, read_files("model", (("model", file) for file in files)))


def _title(key: str) -> str:
    own = {
        GRID: "Ising grid",
        RUN: "Run of the Grow page",
        UPLOAD: "Upload a model…",
    }
    return own.get(key) or f"Learned: {dataset_title(key)}"


def _choose_data(state: RegionState, key: str) -> None:
    if key == RUN:
        state.take_run(link_of_grow_page())
    else:
        state.choose("data", key)


def _strength(state: RegionState, name: str) -> None:
    """Show a slider with small steps, for dragging."""
    spec, key = _SPECS[name], f"{_PREFIX}.{name}"
    follow_value(key, float(getattr(state.options, name)))
    st.slider(
        spec.label,
        min_value=float(spec.minimum or 0.0),
        max_value=float(spec.maximum or 1.0),
        step=0.01,
        key=key,
        help=help_text(spec),
        on_change=guarded(lambda: state.choose(name, st.session_state[key])),
    )


def _query(state: RegionState) -> None:
    assert state.shown is not None
    spec, key = _SPECS["query"], f"{_PREFIX}.query"
    name = state.shown.model.names[state.query]
    current = (state.shown.identity, state.query)
    if st.session_state.get("region.asked") != current:
        # The field follows a click in the graph; an invalid entry stays, to be corrected.
        st.session_state["region.asked"] = current
        st.session_state[key] = name
    st.text_input(
        "Query: name or number",
        key=key,
        help=f"{help_text(spec)}\n\nOr click a node in the graph.",
        on_change=guarded(lambda: state.set_query(st.session_state[key])),
    )


def region_files(state: RegionState) -> list[PageFile]:
    """Return the files of the region on show; none before there is one."""
    if state.shown is None:
        return []
    question = question_of(state.options, state.query)
    build = partial(build_region, state.shown, question)
    return [PageFile("region.csv", "Region, one row per variable (CSV)", "text/csv", build)]


def build_region(shown: ShownModel, question: Question) -> str:
    """Return region.csv.

    Raises
    ------
    InputError
        When the region has no variable yet.
    """
    work = jobs.region(shown, question)
    work.wait_for_end(PATIENCE)
    grown = work.latest
    if grown is None:
        raise InputError(work.failure or "The region has not begun to grow; try again.")
    labels = shown.model.labels[question.query]
    rows = [(one.step, one.marginal) for one in grown.steps]
    return region_csv(shown.model.names, labels, rows)
