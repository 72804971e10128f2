"""Prune: forced pruning with a fixed number of edges."""

import streamlit as st

from graftviz.app.controls import show_notices
from graftviz.app.engine import engine_is_ready, enter_page
from graftviz.app.files import run_files, run_menu, run_note
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.prune import prune_state, show_pruning_choices
from graftviz.app.upload import show_upload
from graftviz.app.view import PRUNE, show_runs

engine = enter_page("prune")
state = prune_state()
follow_address(state, "prune")

header = Header("prune")
# Containers come first: a notice above the view must not move it, or the browser reloads it.
above = st.container()
with above:
    show_upload(state)
if engine_is_ready(engine, "prune"):
    with st.sidebar:
        show_pruning_choices(state, is_ready=engine.ready.is_set())
    state.refresh()
    with above:
        show_notices(state, PRUNE, "run")
    show_runs(state, PRUNE, "token", {"heuristic": state.choose_heuristic})
    PRUNE.load()
    run = state.runs.get(state.heuristic)
    header.show_model(lambda: run_menu(state, run))
    header.show_files(lambda: run_files(run, with_replay=False) if run else [], run_note())
    header.show_link(state.link, "Opens this view, anywhere graftviz runs.")
    write_address(state)
