"""Panels of the Race page: racers, notices, and files."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from graftviz.app.boundary import guarded
from graftviz.app.controls import (
    main_options_first,
    show_button,
    show_data,
    show_learner_options,
    show_learners,
    show_notices,
    show_option,
    show_warnings,
)
from graftviz.app.files import run_files
from graftviz.app.frame import PageFile
from graftviz.app.jobs import DOWNLOAD_WAIT
from graftviz.app.race.options import LINE_UP, MOST_RACERS
from graftviz.app.race.state import RaceState
from graftviz.app.view import RACE
from graftviz.evaluation.race import Race
from graftviz.learning.registry import learner_class
from graftviz.reports.figures.race import race_figure
from graftviz.reports.figures.style import figure_html
from graftviz.reports.files.tables import race_csv
from graftviz.utils.wording import plain

COMPILING = (
    "The engine is still being compiled, so engine seconds are too long. Press **Race again** when "
    "this note has disappeared."
)


def show_race_choices(state: RaceState, *, is_ready: bool) -> None:
    """Show data, edge budget, and the racers, one of them with its options; and the seed."""
    show_data(state, "race")
    show_option(
        state.specs["edges"],
        state.values["edges"],
        state.choose,
        prefix="race",
        automatic=state.budget() if is_ready else None,
    )
    _show_racers(state)
    show_learners(state, "race", f"Learner of racer {state.chosen + 1}")
    learner = state.choice.learner
    groups = main_options_first(learner_class(learner), state.specs["seed"])
    show_learner_options(state, groups, f"race.option.{learner}", is_ready=is_ready)


def _show_racers(state: RaceState) -> None:
    """Show the racers; one is selected for editing."""
    names = state.names()
    numbered = [f"{k}. {name}" for k, name in enumerate(names, start=1)]
    key = "race.chosen"
    # The browser identifies a choice by its text, and a racer's text changes with its options.
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
        about = f"Adds a copy of the selected racer. At most {MOST_RACERS} racers."
        is_full = len(names) >= MOST_RACERS
        show_button("Add", "race.add", state.add, disabled=is_full, help=about)
        show_button("Remove", "race.remove", state.remove, disabled=len(names) == 1)
        about = "Runs all racers again and measures their times again."
        show_button("Race again", "race.again", state.race_again, help=about)
        if state.racers != LINE_UP:
            show_button("Default line-up", "race.line_up", state.line_up)


def show_race_messages(state: RaceState) -> None:
    """Show the notices of the page, and the racers that cannot run."""
    show_notices(state, RACE, "race")
    show_warnings(
        [f"{entry.name} cannot run: {entry.trouble}" for entry in state.entries if entry.trouble]
    )


def race_files(state: RaceState) -> list[PageFile]:
    """Return the files of the shown race, if any."""
    if not state.entries:
        return []
    html, csv = partial(build_race_html, state), partial(build_race_csv, state)
    return [
        PageFile("race.html", "Curves and winners (HTML, opens offline)", html),
        PageFile("race.csv", "Data, one row per step (CSV)", csv),
        *(run_files(run, with_replay=False) if (run := state.chosen_run) else []),
    ]


def build_race_csv(state: RaceState) -> str:
    """Wait for the end of the race, up to a limit, and return its data."""
    race = _finished(state)
    return "" if race is None else race_csv(race, state.values["axis"])


def build_race_html(state: RaceState) -> str:
    """Wait for the end of the race, up to a limit, and return curves and winners as a page."""
    race, title = _finished(state), state.material.title if state.material is not None else ""
    return "" if race is None else figure_html(race_figure(race, title, state.values["axis"]))


def _finished(state: RaceState) -> Race | None:
    until = time.monotonic() + DOWNLOAD_WAIT
    for run in state.runs.values():
        run.grant()
    for run in state.runs.values():
        run.wait_until(until)
    return state.race()
