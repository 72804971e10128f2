"""Reservoir: why a small reservoir is enough."""

import streamlit as st

from graftviz.app.controls import show_warnings
from graftviz.app.engine import engine_is_ready, enter_page
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.reservoir import (
    ReservoirOptions,
    reservoir_files,
    reservoir_menu,
    show_activation,
    show_choices,
    show_run,
    show_simulation,
)
from graftviz.app.session import page_state
from graftviz.app.state import PageState

engine = enter_page("reservoir")
state = page_state("reservoir", lambda: PageState(ReservoirOptions))
follow_address(state, "reservoir")
header = Header("reservoir")
with st.sidebar:
    show_choices(state)

above = st.container()
if engine_is_ready(engine, "reservoir"):
    options = state.options
    simulated, seen = st.columns(2, gap="medium")
    with simulated, st.container(gap="xxsmall"):
        show_simulation(options)
    with seen, st.container(gap="xxsmall"):
        steps = show_run(options)
    if steps:
        state.check_step(len(steps))
        show_activation(state, steps)
        header.show_model(lambda: reservoir_menu(options))
        header.show_files(lambda: reservoir_files(options, steps))
    header.show_link(state.link, "Opens this view, anywhere graftviz runs.")
    write_address(state)
with above:
    show_warnings(state.complaints)
