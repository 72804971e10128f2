"""Race: learners run on the same data and are compared at equal cost."""

import streamlit as st

from graftviz.ui.compiling import engine_is_ready, show_engine
from graftviz.ui.engine import enter_page
from graftviz.ui.frame.header import Header, follow_address, write_address
from graftviz.ui.frame.live import show_runs
from graftviz.ui.frame.view import RACE
from graftviz.ui.grow.state import opened_grow_state
from graftviz.ui.race.panels import COMPILING, race_files, show_race_choices, show_race_messages
from graftviz.ui.race.state import race_state
from graftviz.ui.run_files import run_menu, run_note
from graftviz.ui.upload import show_upload

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
