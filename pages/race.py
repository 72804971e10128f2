"""Race: learners run on the same data and are compared at equal cost."""

import streamlit as st

from graftviz.app.engine import engine_is_ready, enter_page, show_engine
from graftviz.app.files import run_menu, run_note
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.grow import opened_grow_state
from graftviz.app.race import (
    COMPILING,
    race_files,
    race_state,
    show_race_choices,
    show_race_messages,
)
from graftviz.app.upload import show_upload
from graftviz.app.view import RACE, show_runs

engine = enter_page("race")
state = race_state(opened_grow_state())
follow_address(state, "race")

header = Header("race")
# Containers first: an element added above the race would move it, and make it reload.
above = st.container()
with above:
    show_upload(state)

if engine_is_ready(engine, "race"):
    with st.sidebar:
        show_race_choices(state, is_ready=engine.ready.is_set())
    state.refresh()
    with above:
        show_race_messages(state)
    show_runs(state, RACE, "race", {})
    RACE.load()
    header.show_model(lambda: run_menu(state, state.chosen_run))
    header.show_files(lambda: race_files(state), run_note())
    header.show_link(state.link, "Runs this race again and opens it at this position.")
    with st.sidebar:
        show_engine(engine, COMPILING)
    write_address(state)
