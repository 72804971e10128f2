"""The panels of the Grow page around the player: choices, branch, link, downloads, messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import streamlit as st

from graftviz.datasets import dataset_title
from graftviz.options import OptionSpec, format_value, option_specs
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import show_options
from graftviz.ui.grow.compare_panel import show_compare_button
from graftviz.ui.grow.component import PLAYER
from graftviz.ui.grow.path_panel import show_path_button
from graftviz.ui.grow.stability_panel import show_stability_button
from graftviz.ui.grow.state import GrowState
from graftviz.ui.grow.tour import show_tour
from graftviz.ui.messages import (
    show_awaiting_file,
    show_problem,
    show_question,
    show_warnings,
)
from graftviz.ui.services import inspect_state
from graftviz.ui.upload import show_upload
from graftviz.ui.url_state import MAX_SEED, UPLOAD

SEED = OptionSpec(
    name="seed",
    kind="int",
    default=0,
    help="Decides the order of tests among equals and the held-out rows; same seed, same run",
    label="Seed",
    minimum=0,
    maximum=MAX_SEED,
)
PRESET = "preset"


def show_choices(state: GrowState, *, is_ready: bool) -> None:
    """Show data set, learner, its options and the seed.

    What is automatic is worked out once the engine is ready; before, that would wait for it.
    """
    is_branch = state.settings.branch is not None
    _choose(
        "Data",
        (*state.vocabulary.data, UPLOAD),
        state.settings.data,
        state.choose_data,
        format_func=lambda key: "Your own data…" if key == UPLOAD else dataset_title(key),
        help=state.description(),
        disabled=is_branch,
    )
    learners = state.vocabulary.learners
    _choose(
        "Learner",
        tuple(learners),
        state.settings.learner,
        state.choose_learner,
        format_func=lambda name: learners[name].title,  # type: ignore[attr-defined]
        help=f"{state.learner_class.idea} ({state.learner_class.source})",
        disabled=is_branch,
    )
    values = {**state.shown_options(), SEED.name: state.settings.seed}
    automatic = state.automatic() if is_ready else {}
    specs = [*own_options_first(state.learner_class), SEED]
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


def own_options_first(cls: type) -> list[OptionSpec]:
    """Return a learner's option specs, those it does not share with others before those it does."""
    own = inspect.get_annotations(cls)
    return sorted(option_specs(cls), key=lambda spec: spec.name not in own)


def show_messages(state: GrowState) -> None:
    """Say what could not be used of the link, and why the run does not follow the controls."""
    show_warnings(state.complaints)
    if state.awaits_file and state.run is not None:
        show_awaiting_file("run", place=PLAYER.key)
    note = " The run below is the one from before." if state.run is not None else ""
    show_problem(state.problem, note)
    show_question(state.question, note, state.agree)
    if state.is_beyond:
        _offer(state)


def _offer(state: GrowState) -> None:
    """Offer what can be had of a run that takes too much here."""
    budget = state.smaller()
    if budget is not None:
        st.button(
            f"With at most {budget:,} edges",
            key="fewer_edges",
            help="Within the budget of this server.",
            on_click=guarded(state.choose_option),
            args=("max_edges", budget),
        )
    st.caption("Or elsewhere, without this server's limits:")
    st.code(state.command(), language=None, wrap_lines=True)


def show_data_panel(state: GrowState) -> None:
    """Show where to bring a file, while the page is about uploaded data."""
    if state.settings.data == UPLOAD:
        show_upload(state)


def show_branch_bar(state: GrowState) -> None:
    """Say that options apply from a step on, and offer the way back."""
    branch = state.settings.branch
    if branch is None:
        return
    labels = {spec.name: spec.label for spec in option_specs(state.learner_class)}
    changes = ", ".join(
        f"{labels[name]} {format_value(value)}" for name, value in branch.options.items()
    )
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        if changes:
            st.markdown(f"**Branch:** {changes} from step {branch.at} on")
        else:
            st.markdown(
                f"**Branching from step {branch.at}:** change an option, for example the first "
                f"slider. It applies from step {branch.at} on, and both curves are shown."
            )
        st.button("Back to a fresh run", key="end_branch", on_click=guarded(state.end_branch))


def show_actions(state: GrowState) -> None:
    """Show what can be asked of the run on show with one click."""
    if state.run is None:
        return
    with st.container(horizontal=True, gap="small", key="actions"):
        show_tour()
        show_compare_button(state)
        show_stability_button(state)
        show_path_button(state)
        if st.button("Inspect this model", key="inspect_this"):
            # Where it goes knows what this page shows, and at which step.
            inspect_state().take_grow()
            st.switch_page("pages/inspect.py")


def _choose(
    label: str,
    keys: tuple[str, ...],
    value: str,
    on_change: Callable[[str], None],
    **more: Any,
) -> None:
    key = f"choose.{label.lower()}"
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    st.selectbox(
        label, keys, key=key, on_change=guarded(lambda: on_change(st.session_state[key])), **more
    )
