"""Grow: watch a Markov network being learned, step by step."""

import streamlit as st

from graftviz.app.engine import (
    LONG_SECONDS,
    engine_is_ready,
    enter_page,
    show_engine,
    show_recorded,
)
from graftviz.app.files import run_files, run_note
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.grow import (
    grow_menu,
    grow_state,
    grow_texts,
    live_player,
    show_branch_bar,
    show_choices,
    show_class_questions,
    show_grow_notices,
    show_tour,
)
from graftviz.app.grow_analysis import (
    INSPECT,
    show_comparison,
    show_open_panel,
    show_stability,
    tools,
)
from graftviz.app.inspect import inspect_state
from graftviz.app.upload import show_upload
from graftviz.app.view import PLAYER
from graftviz.reports.texts import catalogue

engine = enter_page("grow")
state = grow_state()
follow_address(state, "grow")

header = Header("grow")
# Containers first: an element added above the player would move it, and make it reload.
above = st.container()
with above:
    show_upload(state)
    show_class_questions(state)

shows_run = state.run is not None or state.is_recorded
state.has_engine = engine_is_ready(engine, "grow", is_needed=not shows_run)
if state.has_engine or shows_run:
    with st.sidebar:
        show_choices(state, is_ready=state.has_engine)
    state.refresh()
    with above:
        show_grow_notices(state)
        show_branch_bar(state)
        show_comparison(state)
        show_stability(state)
    show_open_panel(state)
    live_player(state)
    PLAYER.load()
    with header.tools:
        show_tour()
    if not state.has_engine:
        with header.state:
            show_recorded(engine)
    run = state.run if state.has_engine else None
    if run is not None and header.show_tools(tools(state)) == INSPECT.key:
        inspect_state().take_grow()
        st.switch_page("pages/inspect.py")
    header.show_model(lambda: grow_menu(state, run))
    header.show_files(lambda: run_files(run) if run else [], run_note())
    header.show_link(state.link, catalogue("labels")["header"]["opens"])
    if state.has_engine:
        with st.sidebar:
            show_engine(engine, grow_texts("engine")["compiling"], LONG_SECONDS)
    write_address(state)
