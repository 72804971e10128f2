"""Panels of the Grow page: settings, branch, notices, menu Analyse, and tour."""

from __future__ import annotations

import streamlit as st

from graftviz.app.boundary import guarded
from graftviz.app.controls import (
    PRESET,
    control_words,
    follow_value,
    help_text,
    main_options_first,
    show_button,
    show_data,
    show_learner_options,
    show_learners,
    show_notices,
)
from graftviz.app.files import run_menu
from graftviz.app.frame import ModelMenu, Tool, take_tour
from graftviz.app.grow.analysis import SAMPLES, compare_tool, grow_texts, path_tool, stability_tool
from graftviz.app.grow.not_found import not_found_tool
from graftviz.app.grow.options import FEWEST_ROWS
from graftviz.app.grow.state import GrowState
from graftviz.app.runs import SessionRun
from graftviz.app.url import BEST, CLASS_DATA, class_data
from graftviz.app.view import PLAYER
from graftviz.learning.registry import learner_class
from graftviz.reports.texts import catalogue
from graftviz.utils.options import option_words

INSPECT = Tool("inspect")


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
    data = state.values["data"]
    if data in CLASS_DATA and state.uploaded is not None:
        about = class_data(data)
        with st.expander(grow_texts("questions")["title"], expanded=True):
            st.markdown("\n".join(f"1. {question}" for question in about.questions))


def _show_rows(state: GrowState, *, disabled: bool) -> None:
    """Show the slider of the training rows that the run learns from."""
    spec, most = state.specs["rows"], state.all_training_rows()
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
    texts, preset = grow_texts("comparison"), state.learner_options(state.choice)[PRESET]
    return str(texts["shared"] if preset == BEST else texts["own"].format(preset=preset))


def show_grow_notices(state: GrowState) -> None:
    """Show the notices of the page, and a smaller run or the command line for one beyond limits."""
    if state.awaits_engine:
        st.info(grow_texts("engine")["awaiting"])
    show_notices(state, PLAYER, "run")
    if not state.is_beyond:
        return
    budget, texts = state.smaller(), grow_texts("limits")
    if budget is not None:
        label = texts["fewer"].format(budget=f"{budget:,}")
        show_button(label, "fewer_edges", state.choose, "max_edges", budget, help=texts["fits"])
    st.caption(texts["elsewhere"])
    st.code(state.command(), language=None, wrap_lines=True)


def show_branch_bar(state: GrowState) -> None:
    """Show the branch and the button that ends it."""
    branch = state.values["branch"]
    if branch is None:
        return
    changes = ", ".join(option_words(learner_class(state.choice.learner), branch.options))
    texts = grow_texts("branch")
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        text = texts["changed" if changes else "open"]
        st.markdown(text.format(changes=changes, step=branch.at))
        show_button(texts["end"], "end_branch", state.choose, "branch", None)


def tools(state: GrowState) -> list[Tool]:
    """Return the entries of the menu Analyse for the shown run."""
    if state.run is None:
        return []
    found = (
        compare_tool(state),
        stability_tool(state),
        path_tool(state),
        SAMPLES,
        not_found_tool(state),
        INSPECT,
    )
    return [tool for tool in found if tool is not None]


def grow_menu(state: GrowState, run: SessionRun | None) -> ModelMenu | None:
    """Return the menu Model; the page Inspect shows the run at the step that this page shows."""
    menu = run_menu(state, run)
    return None if menu is None else menu._replace(loaded=lambda: None)


def show_tour() -> None:
    """Show the button of the tour."""
    label = catalogue("labels")["header"]["tour"]
    show_button(label, "tour", take_tour, type="tertiary")
