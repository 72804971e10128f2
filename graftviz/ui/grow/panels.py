"""Panels of the Grow page: settings, branch, notices, menu Analyse, and tour."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from graftviz.datasets import dataset_title
from graftviz.narrative.tour import tour_records
from graftviz.options import OptionSpec, format_value, option_specs
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import PRESET, SEED, own_options_first, show_list, show_options
from graftviz.ui.frame.header import Tool
from graftviz.ui.frame.view import PLAYER
from graftviz.ui.grow.analysis import compare_tool, path_tool, stability_tool
from graftviz.ui.grow.state import GrowState
from graftviz.ui.messages import (
    show_awaiting_file,
    show_problem,
    show_question,
    show_warnings,
)
from graftviz.ui.teaching import takes_tour
from graftviz.ui.upload import show_upload
from graftviz.ui.url_state import BEST, UPLOAD

_SCRIPT = Path(__file__).parent.parent / "assets" / "tour.js"
INSPECT = Tool("inspect", "Inspect this model")


def show_choices(state: GrowState, *, is_ready: bool) -> None:
    """Show data set, learner, its options and the seed.

    What is automatic is worked out once the engine is ready; before, that would wait for it.
    """
    is_branch = state.settings.branch is not None
    show_list(
        "Data",
        "choose.data",
        (*state.vocabulary.data, UPLOAD),
        state.settings.data,
        state.choose_data,
        title=lambda key: "Your own data…" if key == UPLOAD else dataset_title(key),
        help=state.description(),
        disabled=is_branch,
    )
    learners = state.vocabulary.learners
    show_list(
        "Learner",
        "choose.learner",
        tuple(learners),
        state.settings.learner,
        state.choose_learner,
        title=lambda name: learners[name].title,  # type: ignore[attr-defined]
        help=f"{state.learner_class.idea} ({state.learner_class.source})",
        disabled=is_branch,
    )
    if state.settings.compare:
        st.caption(_compared_options(state))
    values = {**state.shown_options(), SEED.name: state.settings.seed}
    automatic = state.automatic() if is_ready else {}
    specs = [*_main_options_first(state.learner_class), SEED._replace(advanced=True)]
    # What decides about many other options stands above them.
    for group in ([s for s in specs if s.name == PRESET], [s for s in specs if s.name != PRESET]):
        show_options(
            group,
            values,
            lambda name, value: (
                state.choose_seed(value) if name == SEED.name else state.choose_option(name, value)
            ),
            prefix="option",
            automatic=automatic,
            disabled=(SEED.name, PRESET) if is_branch else (),
        )


def _compared_options(state: GrowState) -> str:
    """Return which of the compared runs the controls describe."""
    shared = "α, |R| and the edge budget"
    preset = state.options()[PRESET]
    if preset == BEST:
        return f"Both runs use {shared} set below; their other options are those of their presets."
    return (
        f"These are the options of preset {preset} (dashed). Of them, preset best (solid) uses "
        f"only {shared}."
    )


def _main_options_first(cls: type) -> list[OptionSpec]:
    """Return a learner's option specs: preset, own first option, λ and edge budget, then the rest.

    The rest counts as advanced, so that the controls that matter fit into a small window.
    """
    specs = own_options_first(cls)
    own = [spec.name for spec in specs if spec.name != PRESET and not spec.advanced]
    main = (PRESET, *own[:1], "lam", "max_edges")
    return sorted(
        (spec._replace(advanced=spec.name not in main) for spec in specs),
        key=lambda spec: spec.advanced,
    )


def show_messages(state: GrowState) -> None:
    """Show warnings about the link, and errors of the current settings."""
    show_warnings(state.complaints)
    if state.awaits_file and state.run is not None:
        show_awaiting_file("run", place=PLAYER.key)
    note = " Still showing the previous run." if state.run is not None else ""
    show_problem(state.problem, note)
    show_question(state.question, note, state.agree)
    if state.is_beyond:
        _offer(state)


def _offer(state: GrowState) -> None:
    """Offer a smaller run, or the command line, for a run beyond the limits."""
    budget = state.smaller()
    if budget is not None:
        st.button(
            f"With at most {budget:,} edges",
            key="fewer_edges",
            help="Fits the limits of this server.",
            on_click=guarded(state.choose_option),
            args=("max_edges", budget),
        )
    st.caption("Or on your own machine, without limits:")
    st.code(state.command(), language=None, wrap_lines=True)


def show_data_panel(state: GrowState) -> None:
    """Show the uploader while uploaded data are chosen."""
    if state.settings.data == UPLOAD:
        show_upload(state)


def show_branch_bar(state: GrowState) -> None:
    """Show the branch and the button that ends it."""
    branch = state.settings.branch
    if branch is None:
        return
    labels = {spec.name: spec.label for spec in option_specs(state.learner_class)}
    changes = ", ".join(
        f"{labels[name]} {format_value(value)}" for name, value in branch.options.items()
    )
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        if changes:
            st.markdown(f"**Branch:** {changes} from step {branch.at}")
        else:
            st.markdown(
                f"**Branching from step {branch.at}:** change an option. It applies from step "
                f"{branch.at} on; both curves are shown."
            )
        st.button("End the branch", key="end_branch", on_click=guarded(state.end_branch))


def tools(state: GrowState) -> list[Tool]:
    """Return the entries of the menu Analyse for the shown run."""
    if state.run is None:
        return []
    found = (compare_tool(state), stability_tool(state), path_tool(state), INSPECT)
    return [tool for tool in found if tool is not None]


@cache
def _component() -> Any:
    return st.components.v2.component("graftviz_tour", js=_SCRIPT.read_text(encoding="utf-8"))


def show_tour() -> None:
    """Show the button. The tour never speaks to the server, so no run of the page disturbs it."""
    _component()(
        key="tour",
        data={"stops": tour_records(), "start": takes_tour()},
        width="content",
        height="content",
    )
