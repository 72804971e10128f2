"""Side bar of the Inspect page: the inspected model and the one it is compared with."""

from __future__ import annotations

from typing import Any

import streamlit as st

from graftviz.datasets import dataset_title
from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.options import format_value, option_specs
from graftviz.ui import url_state
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import follow_value, show_list
from graftviz.ui.frame.texts import plain
from graftviz.ui.inspect.source import ModelSource
from graftviz.ui.inspect.state import InspectState
from graftviz.ui.inspect.url import FILE, LEARNED, TRUE
from graftviz.ui.limits import limits
from graftviz.ui.reading import latest_model, read_files, read_once
from graftviz.ui.url_state import UPLOAD

_KINDS = {LEARNED: "Learned", TRUE: "Truth", FILE: "File"}
_MOST_MB = 100
_FILES = ["uai", "graphml", "xml", "json", "zip"]


def show_sources(state: InspectState, *, has_uploader: bool = True) -> None:
    """Show the controls of the model that is inspected, and of the one beside it.

    Without `has_uploader` the file of the first model is uploaded elsewhere on the page.
    """
    st.markdown("**Model**")
    if state.can_take_grow:
        st.button(
            "Use the current run of Grow",
            key="inspect.take_grow",
            width="stretch",
            on_click=guarded(state.take_grow),
        )
    _show_source(state.first, "inspect.first", has_uploader=has_uploader)
    if state.first.kind == LEARNED:
        _show_return_link(state.first)
    st.toggle(
        "Compare with another model",
        key=follow_value("inspect.compares", state.compares),
        on_change=guarded(lambda: state.compare(st.session_state["inspect.compares"])),
    )
    if state.compares:
        _show_source(state.second, "inspect.second")


def _show_source(source: ModelSource, prefix: str, *, has_uploader: bool = True) -> None:
    """Show where a model comes from."""
    show_list(
        "Where the model comes from",
        f"{prefix}.kind",
        tuple(_KINDS),
        source.kind,
        source.choose_kind,
        title=_KINDS.__getitem__,
        as_buttons=True,
        label_visibility="collapsed",
        width="stretch",
    )
    if source.kind == FILE:
        if has_uploader:
            _show_file(source, prefix)
        return
    if source.kind == TRUE:
        st.caption("The model from which the rows were sampled.")
        _choose_data(source, prefix, source.true_data())
        return
    offered = source.learned.vocabulary.data
    if source.has_table or source.learned.settings.data == UPLOAD:
        offered = (*offered, UPLOAD)
    _choose_data(source, prefix, offered)
    learners = source.learned.vocabulary.learners
    show_list(
        "Learner",
        f"{prefix}.learner",
        tuple(learners),
        source.learned.settings.learner,
        source.learned.choose_learner,
        title=lambda name: learners[name].title,  # type: ignore[attr-defined]
    )
    _show_step(source, prefix)
    _show_options(source)


def _choose_data(source: ModelSource, prefix: str, keys: tuple[str, ...]) -> None:
    show_list(
        "Data",
        f"{prefix}.data",
        keys,
        source.learned.settings.data,
        source.choose_data,
        title=lambda key: "Your own data" if key == UPLOAD else dataset_title(key),
    )


def _show_step(source: ModelSource, prefix: str) -> None:
    """Show at which of the steps made so far the model is taken."""
    run = source.run
    if run is None or run.computed < 2:
        return
    last = run.computed
    step = min(source.learned.settings.step or last, last)
    # A slider of another range is another slider, or it would fall back to its first position.
    key = follow_value(f"{prefix}.step.{last}", step)

    def choose() -> None:
        chosen = st.session_state[key]
        source.choose_step(0 if run.ended and chosen == last else chosen)

    st.slider(
        "Step of the run",
        1,
        last,
        key=key,
        on_change=guarded(choose),
        help="Model after this step; the last step is the end of the run.",
    )


def _show_options(source: ModelSource) -> None:
    """Show the options the model was learned with."""
    settings = source.learned.settings
    labels = {spec.name: spec.label for spec in option_specs(source.learned.learner_class)}
    chosen = [f"{labels[name]} {format_value(value)}" for name, value in settings.options.items()]
    if settings.seed:
        chosen.append(f"seed {settings.seed}")
    if settings.branch is not None:
        chosen.append(f"branch from step {settings.branch.at}")
    if settings.compare:
        chosen.append("preset best")
    if chosen:
        st.caption(plain(f"With {', '.join(chosen)}."))


def _show_return_link(source: ModelSource) -> None:
    """Show the link to the run on the Grow page."""
    st.page_link(
        "pages/grow.py",
        label="Open in Grow",
        query_params=url_state.write(source.learned.settings, source.learned.vocabulary),
    )


def show_awaited_file(state: InspectState) -> None:
    """Show the uploader of a link's model on the page itself; the side bar may be closed."""
    _show_file(state.first, "inspect.first")


def _show_file(source: ModelSource, prefix: str) -> None:
    """Show the model uploader and its errors."""
    if source.expected and not source.has_file:
        st.info(
            "This link refers to an uploaded file. Upload the same file "
            f"(fingerprint {source.expected})."
        )
    uploads = st.file_uploader(
        "UAI (with .names.json), GraphML, node-link JSON, or all files of a result folder",
        _FILES,
        accept_multiple_files=True,
        key=f"{prefix}.files",
        max_upload_size=min(_MOST_MB, limits().upload_memory),
        help="Result folders are written by the command learn: upload all files together, or as "
        "one ZIP archive. A graph whose edges have a numeric attribute weight is read as an Ising "
        "model. Files stay on this server.",
    )
    files = latest_model(f"{prefix}.files", uploads)
    if not files:
        return
    any_file = bool(source.expected) and st.checkbox(
        "Use a different model", key=f"{prefix}.any_file"
    )
    try:
        name, uploaded = read_once(f"{prefix}.read", files, (), lambda: _read(files))
        source.accept(name, uploaded, any_file=any_file)
    except InputError as error:
        note = " Still showing the previous model." if source.loaded is not None else ""
        st.error(plain(str(error) + note))


def _read(files: list[Any]) -> tuple[str, ModelFile]:
    models = [file.name for file in files if not file.name.lower().endswith(".names.json")]
    title = models[0] if len(models) == 1 else "Result folder"
    return title, read_files("model", (("model", file) for file in files))
