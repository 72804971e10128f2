"""The panels of the Regions page around the picture: model, query, rules, messages, upload."""

from __future__ import annotations

from typing import Any

import streamlit as st

from graftviz.datasets import dataset_title
from graftviz.errors import InputError
from graftviz.options import option_specs
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import help_text, show_option
from graftviz.ui.limits import limits
from graftviz.ui.messages import show_problem, show_warnings
from graftviz.ui.plain import plain
from graftviz.ui.reading import read_files, read_once
from graftviz.ui.regions.models import ShownModel, uploaded_model
from graftviz.ui.regions.options import GRID, RUN, RegionOptions
from graftviz.ui.regions.state import RegionState
from graftviz.ui.regions.work import link_of_grow_page, load_model
from graftviz.ui.services import stops_with_session
from graftviz.ui.url_state import UPLOAD

_STATE_KEY = "regions"
_PREFIX = "region"
_SPECS = {spec.name: spec for spec in option_specs(RegionOptions)}
_STRENGTHS = ("t2", "t1")
_GRID_CHOICES = ("side", "seed")
_GROWTH = ("tolerance", "size", "expansion", "cut")
_MODEL_KINDS = ["uai", "graphml", "xml", "json", "zip"]
_LIMIT = 50  # MB
_EXPANSIONS = {"greedy": "greedy: the smallest bound", "random": "random", "norm": "strongest edge"}
_CUTS = {"drop": "dropped", "mean-field": "mean field"}


def region_state() -> RegionState:
    """Return what this session has chosen."""
    if _STATE_KEY not in st.session_state:
        st.session_state[_STATE_KEY] = RegionState(load_model)
    state: RegionState = st.session_state[_STATE_KEY]
    stops_with_session(state)
    return state


def show_model_choice(state: RegionState) -> None:
    """Show whose variables are asked about, and what draws the grid."""
    options = state.options
    _select("data", options.data, lambda key: _choose_data(state, key), _title)
    if options.data == RUN:
        newest = link_of_grow_page()
        if newest and newest != state.run:
            st.button(
                "Take the run as it is now",
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
    """Show what is asked, and how the region grows; the model is known by now."""
    if state.shown is None:
        return
    _query(state)
    options = state.options
    show_option(_SPECS["tolerance"], options.tolerance, state.choose, prefix=_PREFIX)
    show_option(_SPECS["size"], options.size, state.choose, prefix=_PREFIX)
    for name, texts in (("expansion", _EXPANSIONS), ("cut", _CUTS)):
        _segments(state, name, texts)
    if options.data != GRID and options.expansion == "random":
        show_option(_SPECS["seed"], options.seed, state.choose, prefix=_PREFIX)


def show_messages(state: RegionState) -> None:
    """Say what could not be used, and why the picture does not follow the choices."""
    show_warnings(state.complaints)
    kept = " What is shown is the model from before." if state.shown is not None else ""
    show_problem(state.problem, kept)


def show_model_upload(state: RegionState) -> None:
    """Show where to bring a model and what is wrong with it; the one on show stays meanwhile."""
    if state.options.data != UPLOAD:
        return
    expected = "" if state.uploaded else state.fingerprint
    if expected:
        st.info(
            "This link shows somebody's own model, which a link cannot carry. Bring the same file "
            f"(fingerprint {expected})."
        )
    with st.expander("Your own model", expanded=state.uploaded is None):
        files = st.file_uploader(
            "A model: .uai (and its .names.json), .graphml, node-link .json, or a result folder "
            "as .zip",
            _MODEL_KINDS,
            accept_multiple_files=True,
            key="region.files",
            max_upload_size=min(_LIMIT, limits().upload_memory),
        )
        st.caption(
            "Nothing leaves this server. Larger models: "
            "`python -m graftviz local MODEL --query NAME`."
        )
    if not files:
        return
    try:
        brought = read_once("region.read", files, (), lambda: _read(files))
        fingerprint = brought.identity.partition(":")[2]
        if expected and fingerprint != expected:
            raise InputError(
                f"This is not the model the link was made with (fingerprint {fingerprint} instead "
                f"of {expected})."
            )
    except InputError as error:
        kept = " The model from before stays." if state.shown is not None else ""
        st.error(plain(str(error) + kept))
        return
    state.accept(brought)


def _read(files: list[Any]) -> ShownModel:
    return uploaded_model(files[0].name, read_files("model", (("model", file) for file in files)))


def _title(key: str) -> str:
    own = {
        GRID: "Ising grid",
        RUN: "The run on the Grow page",
        UPLOAD: "Your own model…",
    }
    return own.get(key) or f"Learned: {dataset_title(key)}"


def _choose_data(state: RegionState, key: str) -> None:
    if key == RUN:
        state.take_run(link_of_grow_page())
    else:
        state.choose("data", key)


def _select(name: str, value: str, on_change: Any, title: Any) -> None:
    spec, key = _SPECS[name], f"{_PREFIX}.{name}"
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    st.selectbox(
        spec.label,
        spec.choices,
        key=key,
        format_func=title,
        help=help_text(spec),
        on_change=guarded(lambda: on_change(st.session_state[key])),
    )


def _segments(state: RegionState, name: str, texts: dict[str, str]) -> None:
    spec, key = _SPECS[name], f"{_PREFIX}.{name}"
    value = getattr(state.options, name)
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    st.segmented_control(
        spec.label,
        spec.choices,
        key=key,
        format_func=lambda choice: texts[choice],
        help=help_text(spec),
        required=True,
        on_change=guarded(lambda: state.choose(name, st.session_state[key] or spec.default)),
    )


def _strength(state: RegionState, name: str) -> None:
    """Show a slider fine enough to be dragged through."""
    spec, key = _SPECS[name], f"{_PREFIX}.{name}"
    value = float(getattr(state.options, name))
    if st.session_state.get(key) != value:
        st.session_state[key] = value
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
    asked = (state.shown.identity, state.query)
    if st.session_state.get("region.asked") != asked:
        # The field follows a click in the picture; a bad entry stays, to be mended.
        st.session_state["region.asked"] = asked
        st.session_state[key] = name
    st.text_input(
        "Query: name or number",
        key=key,
        help=f"{help_text(spec)}\n\nOr click a node in the picture.",
        on_change=guarded(lambda: state.ask(st.session_state[key])),
    )
