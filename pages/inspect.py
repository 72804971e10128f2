"""Inspect: any model, learned or loaded, can be questioned."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.ui.engine_panel import engine_is_ready
from graftviz.ui.entrance import enter_through_app
from graftviz.ui.inspect.panels import show_inspection, show_messages
from graftviz.ui.inspect.sources_panel import show_sources
from graftviz.ui.services import comes_from_another_page, inspect_state, inspect_warm_up, warm_up

enter_through_app()
engine = warm_up()
inspect_warm_up()
state = inspect_state()
context = get_script_run_ctx()
query = st.query_params.to_dict()
has_come_back = comes_from_another_page("inspect")
if query or not has_come_back or state.loaded is None:
    state.follow(query, is_history=bool(context is not None and context.is_history_navigation))

above = st.container()
if engine_is_ready(engine):
    state.refresh()
    with st.sidebar:
        show_sources(state)
    with above:
        show_messages(state)
    show_inspection(state)
