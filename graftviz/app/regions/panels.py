"""Panels of the Regions page: view, settings, upload, notices, and files."""

from __future__ import annotations

import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.controls import help_text, show_button, show_options, show_settings
from graftviz.app.files import model_files
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.material import UPLOAD
from graftviz.app.models import ShownModel, uploaded_model
from graftviz.app.regions.models import link_of_grow_page
from graftviz.app.regions.options import GRID, RUN, question_of
from graftviz.app.regions.state import RegionState, region, region_message
from graftviz.app.runs import Loaded
from graftviz.app.upload import model_form
from graftviz.app.view import REGION
from graftviz.inference.local.marginal import ExpansionOptions
from graftviz.reports.files.tables import region_csv
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import MODEL_FILE, model_code, model_command
from graftviz.utils.options import option_specs

_PREFIX = "region"


@st.fragment
@bounded
def live_region(state: RegionState) -> None:
    """Show the region of `state`; its messages run this again, and nothing else of the page."""
    state.refresh()
    shown = state.shown
    if shown is None:
        return
    REGION.show(
        lambda: region_message(state, shown, REGION.mail),
        {"ask": state.ask, "rule": state.choose_rule, "strengths": state.drag, "moved": state.move},
        state.check_place,
    )


def show_model_choice(state: RegionState) -> None:
    """Show the choice of the model and the options of the grid."""
    options = state.options
    show_settings(state, _PREFIX, "data")
    if options.data == RUN and link_of_grow_page() not in ("", options.run):
        show_button("Use the current run", "newest", state.choose, "data", RUN)
    if options.data == GRID:
        show_settings(state, _PREFIX, "t2", "t1", drag=True)


def show_growth_choices(state: RegionState) -> None:
    """Show the query and the options of growth; the model has been loaded."""
    if state.shown is None:
        return
    _show_query(state, state.shown)
    show_settings(state, _PREFIX, "tolerance", "size")
    names = ["expansion", "cut", "growth", "bound"]
    if state.options.data == GRID:
        names += ["side", "seed"]
    elif state.options.expansion == "random":
        names += ["seed"]
    advanced = [state.specs[name]._replace(advanced=True) for name in names]
    show_options(advanced, state.values, state.choose, prefix=_PREFIX)


def _show_query(state: RegionState, shown: ShownModel) -> None:
    spec, key = state.specs["query"], f"{_PREFIX}.query"
    current = (shown.identity, state.query)
    if st.session_state.get("region.requested") != current:
        # The field follows a click in the graph; an invalid entry stays, to be corrected.
        st.session_state["region.requested"] = current
        st.session_state[key] = shown.model.names[state.query]
    st.text_input(
        "Query: name or number",
        key=key,
        help=f"{help_text(spec)}\n\nOr click a node in the graph.",
        on_change=guarded(lambda: state.set_query(st.session_state[key])),
    )


def show_upload(state: RegionState) -> None:
    """Show the upload and its errors; the current model stays until another is accepted."""
    if state.options.data != UPLOAD:
        return
    form = model_form(
        _PREFIX,
        "Model: .uai (optionally with .names.json), .graphml, node-link .json, or a zipped result "
        "folder",
        lambda _, found: uploaded_model(found.model, found.notes),
        "Upload a model",
        "Files stay on this server. Larger models: `python -m graftviz local MODEL --query NAME`.",
    )
    form.show(
        state.accept,
        expected=state.expected,
        shown="model" if state.shown is not None else "",
        is_open=state.uploaded is None,
    )


def region_files(state: RegionState) -> list[PageFile]:
    """Return the files of the shown region; none before there is one."""
    if state.shown is None:
        return []
    shown, question = state.shown, question_of(state.options, state.query)
    labels = shown.model.labels[question.query]

    def build() -> str:
        steps = region(shown, question).value().steps
        return region_csv(shown.model.names, labels, ((one.step, one.marginal) for one in steps))

    return [
        PageFile("region.csv", "Region, one row per variable (CSV)", build),
        *model_files(lambda: shown.model),
    ]


def region_menu(state: RegionState) -> ModelMenu | None:
    """Return the menu Model of the shown model; None before there is one."""
    shown = state.shown
    if shown is None:
        return None
    question = question_of(state.options, state.query)
    name = shown.model.names[question.query]
    usual = {spec.name: spec.default for spec in option_specs(ExpansionOptions)}
    chosen = {key: value for key, value in question._asdict().items() if key != "query"}
    values = {key: value for key, value in chosen.items() if value != usual[key]}
    arguments = "".join(f", {option}={value!r}" for option, value in values.items())
    note = catalogue("labels")["header"]["needs"].format(file=MODEL_FILE)
    return ModelMenu(
        model_code([f"print(gv.local_marginal(model, {name!r}{arguments}))"]),
        model_command("local", MODEL_FILE, query=name, **values),
        lambda: Loaded(
            shown.model,
            state.specs["data"].title_of(state.options.data),
            places=shown.positions,
            keeps_shape=shown.has_natural_positions,
        ),
        note,
    )
