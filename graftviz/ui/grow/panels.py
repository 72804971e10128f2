"""Panels of the Grow page: settings, branch, notices, menu Analyse, and tour."""

from __future__ import annotations

import streamlit as st

from graftviz.learners.registry import learner_class
from graftviz.options import option_words
from graftviz.selection.rows import FEWEST_ROWS
from graftviz.texts import catalogue
from graftviz.ui.boundary import guarded
from graftviz.ui.class_data import CLASS_DATA
from graftviz.ui.controls import (
    PRESET,
    control_words,
    follow_value,
    help_text,
    in_language,
    show_button,
)
from graftviz.ui.frame.header import Tool
from graftviz.ui.frame.panels import (
    main_options_first,
    show_data,
    show_learner_options,
    show_learners,
    show_notices,
)
from graftviz.ui.frame.view import PLAYER
from graftviz.ui.grow.analysis import (
    SAMPLES,
    compare_tool,
    path_tool,
    rows_tool,
    stability_tool,
)
from graftviz.ui.grow.state import GrowState
from graftviz.ui.teaching import language, take_tour
from graftviz.ui.url_state import BEST

AWAITING = (
    "The engine is being compiled, once per installation. This run is learned as soon as it is "
    "ready. Until then, the previous run is shown."
)
INSPECT = Tool("inspect")
COMPILING = (
    "Still compiling other learners, scores and presets ({} so far, once per installation): the "
    "first run of another kind may take a moment."
)


def show_choices(state: GrowState, *, is_ready: bool) -> None:
    """Show data set, learner, its options and the seed."""
    is_branch = state.values["branch"] is not None
    show_data(state, "choose", disabled=is_branch)
    _show_rows(state, disabled=is_branch)
    show_learners(state, "choose", "Learner", disabled=is_branch)
    if state.values["compare"]:
        st.caption(_compared_options(state))
    specs, cls = state.specs, learner_class(state.choice.learner)
    preset, others = main_options_first(cls, specs["seed"], "max_edges")
    show_learner_options(
        state,
        (preset, [*others, specs["held_out"]]),
        "option",
        is_ready=is_ready,
        disabled=("seed", "held_out", PRESET) if is_branch else (),
    )


def show_class_questions(state: GrowState) -> None:
    """Show the questions that this page answers about uploaded data for classes."""
    about = CLASS_DATA.get(state.values["data"])
    if about is not None and state.uploaded is not None:
        with st.expander("Questions worth asking", expanded=True):
            st.markdown("\n".join(f"1. {question}" for question in about.questions))


def _show_rows(state: GrowState, *, disabled: bool) -> None:
    """Show the slider of the training rows that the run learns from."""
    spec, most = in_language(state.specs["rows"]), state.all_training_rows()
    shown = min(state.values["rows"] or most, most)
    stops = row_stops(most, shown)
    if len(stops) < 2:
        return
    key, every = follow_value(f"choose.{spec.name}", shown), control_words()["all"]

    def change() -> None:
        chosen = st.session_state[key]
        if chosen != shown:
            state.choose(spec.name, None if chosen >= most else chosen)

    st.select_slider(
        spec.label,
        stops,
        format_func=lambda rows: f"{every} {rows:,}" if rows == most else f"{rows:,}",
        key=key,
        help=help_text(spec),
        disabled=disabled,
        on_change=guarded(change),
    )


def row_stops(most: int, shown: int) -> list[int]:
    """Return the positions of the slider: 50, 100, 200, 500, …, `most`, and `shown`."""
    decades = range(1, len(str(most)) + 1)
    stops = {digit * 10**power for power in decades for digit in (1, 2, 5)}
    return sorted({stop for stop in stops if FEWEST_ROWS <= stop < most} | {most, shown})


def _compared_options(state: GrowState) -> str:
    """Return which of the compared runs the controls describe."""
    shared = "α, |R| and the edge budget"
    preset = state.learner_options(state.choice)[PRESET]
    if preset == BEST:
        return f"Both runs use {shared} set below; their other options are those of their presets."
    return (
        f"These are the options of preset {preset} (dashed). Of them, preset best (solid) uses "
        f"only {shared}."
    )


def show_grow_notices(state: GrowState) -> None:
    """Show the notices of the page, and a smaller run or the command line for one beyond limits."""
    if state.awaits_engine:
        st.info(AWAITING)
    show_notices(state, PLAYER, "run")
    if not state.is_beyond:
        return
    budget = state.smaller()
    if budget is not None:
        label, about = f"With at most {budget:,} edges", "Fits the limits of this server."
        show_button(label, "fewer_edges", state.choose, "max_edges", budget, help=about)
    st.caption("Or on your own machine, without limits:")
    st.code(state.command(), language=None, wrap_lines=True)


def show_branch_bar(state: GrowState) -> None:
    """Show the branch and the button that ends it."""
    branch = state.values["branch"]
    if branch is None:
        return
    changes = ", ".join(option_words(learner_class(state.choice.learner), branch.options))
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        if changes:
            st.markdown(f"**Branch:** {changes} from step {branch.at}")
        else:
            st.markdown(
                f"**Branching from step {branch.at}:** change an option. It applies from step "
                f"{branch.at} on; both curves are shown."
            )
        show_button("End the branch", "end_branch", state.choose, "branch", None)


def tools(state: GrowState) -> list[Tool]:
    """Return the entries of the menu Analyse for the shown run."""
    if state.run is None:
        return []
    found = (
        compare_tool(state),
        stability_tool(state),
        path_tool(state),
        rows_tool(state),
        SAMPLES,
        INSPECT,
    )
    return [tool for tool in found if tool is not None]


def show_tour() -> None:
    """Show the button of the tour."""
    label = catalogue("labels", language())["header"]["tour"]
    show_button(label, "tour", take_tour, type="tertiary")
