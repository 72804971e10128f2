"""Grow: watch a Markov network being learned, step by step."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.ui.engine_panel import engine_is_ready, show_engine
from graftviz.ui.grow.compare_panel import show_comparison
from graftviz.ui.grow.component import PLAYER
from graftviz.ui.grow.live import live_player
from graftviz.ui.grow.panels import (
    show_actions,
    show_branch_bar,
    show_choices,
    show_data_panel,
    show_messages,
    show_toolbar,
)
from graftviz.ui.grow.path_panel import show_path
from graftviz.ui.grow.stability_panel import show_stability
from graftviz.ui.services import comes_from_another_page, grow_state, warm_up

engine = warm_up()
state = grow_state()
context = get_script_run_ctx()
query = st.query_params.to_dict()
has_come_back = comes_from_another_page("grow")
if query or not has_come_back:
    state.follow(query, is_history=bool(context is not None and context.is_history_navigation))

# Places first: what appears above the player must not move it, or the browser starts it anew.
toolbar, above = st.sidebar.container(), st.container()
with above:
    show_data_panel(state)
with st.sidebar:
    show_choices(state, is_ready=engine.ready.is_set())

if engine_is_ready(engine):
    is_new_run = state.refresh()
    with above:
        show_messages(state)
        show_actions(state)
        show_branch_bar(state)
        show_comparison(state)
        show_stability(state)
    show_path(state)
    live_player(state, new_run=is_new_run)
    PLAYER.load()
    with toolbar:
        show_toolbar(state)
        show_engine(engine)
    if (link := state.link()) != st.query_params.to_dict():
        st.query_params.from_dict(link)
