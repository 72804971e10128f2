"""Panels of the Race page: racers, notices, and files."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from graftviz.datasets import dataset_title
from graftviz.figures import figure_html, race_figure
from graftviz.formats.race_csv import race_csv
from graftviz.options import OptionSpec
from graftviz.racing import Race
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.controls import (
    PRESET,
    SEED,
    own_options_first,
    show_list,
    show_option,
    show_options,
)
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import RACE
from graftviz.ui.messages import show_awaiting_file, show_problem, show_question, show_warnings
from graftviz.ui.race.state import RaceState
from graftviz.ui.race.url import LINE_UP, MOST_EDGES, MOST_RACERS
from graftviz.ui.upload import show_upload
from graftviz.ui.url_state import UPLOAD
from graftviz.ui.warm_up import WarmUp

PATIENCE = 120.0  # seconds a download waits for the end of the race; then it holds what there is

EDGES = OptionSpec(
    name="edges",
    kind="int",
    default=None,
    help="Edge budget of each racer that does not set its own",
    label="Edges each",
    minimum=1,
    maximum=MOST_EDGES,
    none_means="2n, two per variable",
)


def show_race_data(state: RaceState) -> None:
    """Show the uploader while uploaded data are chosen."""
    if state.settings.data == UPLOAD:
        show_upload(state)


def show_race_choices(state: RaceState, *, is_ready: bool) -> None:
    """Show data, seed, edge budget, and the racers, one of them with its options."""
    show_list(
        "Data",
        "race.data",
        (*state.vocabulary.data, UPLOAD),
        state.settings.data,
        state.choose_data,
        title=lambda key: "Your own data…" if key == UPLOAD else dataset_title(key),
        help=state.description(),
    )
    show_option(
        EDGES,
        state.settings.edges,
        lambda _, value: state.choose_edges(value),
        prefix="race",
        automatic=state.budget() if is_ready else None,
    )
    show_option(SEED, state.settings.seed, lambda _, value: state.choose_seed(value), prefix="race")
    _show_racers(state)
    _show_racer(state, is_ready=is_ready)


def _show_racers(state: RaceState) -> None:
    """Show the racers; one is selected for editing."""
    names = state.names()
    numbered = [f"{k}. {name}" for k, name in enumerate(names, start=1)]
    key = "race.chosen"
    # The browser knows a choice by its words, and a racer's words change with its options.
    st.session_state[key] = state.chosen
    st.radio(
        "Racers",
        range(len(names)),
        key=key,
        format_func=lambda k: plain(numbered[k]),
        on_change=guarded(lambda: state.edit(st.session_state[key])),
        help="The options of the selected racer are shown below.",
    )
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Add",
            key="race.add",
            on_click=guarded(state.add),
            disabled=len(names) >= MOST_RACERS,
            help=f"Adds a copy of the selected racer. At most {MOST_RACERS} racers.",
        )
        st.button(
            "Remove", key="race.remove", on_click=guarded(state.remove), disabled=len(names) == 1
        )
        st.button(
            "Race again",
            key="race.again",
            on_click=guarded(state.race_again),
            help="Runs all racers again and measures their times again.",
        )
        if state.settings.racers != LINE_UP:
            st.button("Default line-up", key="race.line_up", on_click=guarded(state.line_up))


def _show_racer(state: RaceState, *, is_ready: bool) -> None:
    """Show learner and options of the selected racer."""
    racer, learners = state.racer, state.vocabulary.learners
    cls = state.learner_class(racer)
    show_list(
        f"Learner of racer {state.chosen + 1}",
        "race.learner",
        tuple(learners),
        racer.learner,
        state.choose_learner,
        title=lambda name: learners[name].title,  # type: ignore[attr-defined]
        help=f"{cls.idea} ({cls.source})",
    )
    automatic = state.automatic(racer) if is_ready else {}
    specs = own_options_first(cls)
    for group in ([s for s in specs if s.name == PRESET], [s for s in specs if s.name != PRESET]):
        show_options(
            group,
            state.options(racer),
            state.choose_option,
            prefix=f"race.option.{racer.learner}",
            automatic=automatic,
        )


def show_race_messages(state: RaceState) -> None:
    """Show warnings about the link and about racers that cannot run."""
    show_warnings(state.complaints)
    if state.awaits_file and state.entries:
        show_awaiting_file("race", place=RACE.key)
    note = " Still showing the previous race." if state.entries else ""
    show_problem(state.problem, note)
    show_question(state.question, note, state.agree, "race.")
    show_warnings(
        [f"{entry.name} cannot run: {entry.trouble}" for entry in state.entries if entry.trouble]
    )


def show_race_engine(engine: WarmUp) -> None:
    """Show a note while compilation distorts the measured times."""
    if not engine.finished.is_set():
        _show_compiling(engine)


@st.fragment(run_every=3.0)
@bounded
def _show_compiling(engine: WarmUp) -> None:
    if engine.finished.is_set():
        st.rerun()
    st.caption(
        "The engine is still being compiled, so engine seconds are too long. Press **Race again** "
        "when this note has disappeared."
    )


def race_files(state: RaceState) -> list[PageFile]:
    """Return the files of the shown race, if any."""
    if not state.entries:
        return []
    html = partial(build_race_html, state)
    return [
        PageFile("race.html", "Curves and winners (HTML, opens offline)", "text/html", html),
        PageFile(
            "race.csv", "Data, one row per step (CSV)", "text/csv", partial(build_race_csv, state)
        ),
    ]


def build_race_csv(state: RaceState) -> str:
    """Let the race finish (or run out of patience) and return its data."""
    race = _finished(state)
    return "" if race is None else race_csv(race, state.settings.axis)


def build_race_html(state: RaceState) -> str:
    """Let the race finish (or run out of patience) and return its curves and winners as a page."""
    race, title = _finished(state), state.material.title if state.material is not None else ""
    return "" if race is None else figure_html(race_figure(race, title, state.settings.axis))


def _finished(state: RaceState) -> Race | None:
    until = time.monotonic() + PATIENCE
    runs = [entry.run for entry in state.entries if entry.run is not None]
    for run in runs:
        run.grant()
    for run in runs:
        run.wait_for_end(max(0.0, until - time.monotonic()))
    return state.race()
