"""Dynamics: influence between time series, learned row by row."""

import streamlit as st

from graftviz.app.dynamics import DynamicsState
from graftviz.app.dynamics_panels import (
    dynamics_files,
    dynamics_menu,
    show_choices,
    show_comparison,
    show_messages,
    show_upload,
)
from graftviz.app.engine import engine_is_ready, enter_page
from graftviz.app.files import run_note
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.session import page_state
from graftviz.app.view import DYNAMICS, live_run

engine = enter_page("dynamics")
state = page_state("dynamics", DynamicsState)
follow_address(state, "dynamics")

header = Header("dynamics")
# Containers come first: a notice above the view must not move it, or the browser reloads it.
above = st.container()
if engine_is_ready(engine, "dynamics"):
    with above:
        show_upload(state)
    state.refresh()
    with st.sidebar:
        show_choices(state)
    with above:
        show_messages(state)
    live_run(state, DYNAMICS)
    DYNAMICS.load()
    show_comparison(state)
    header.show_model(lambda: dynamics_menu(state))
    header.show_files(lambda: dynamics_files(state), run_note())
    header.show_link(state.link, "Opens this view, anywhere graftviz runs.")
    write_address(state)
