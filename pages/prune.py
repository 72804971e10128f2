"""Prune: a fixed number of edges, of which the k worst are exchanged for the k best."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.ui.engine_panel import engine_is_ready
from graftviz.ui.entrance import enter_through_app
from graftviz.ui.prune.component import PRUNE
from graftviz.ui.prune.help import show_pruning_help
from graftviz.ui.prune.live import live_pruning
from graftviz.ui.prune.panels import (
    show_pruned_data,
    show_pruning_choices,
    show_pruning_messages,
)
from graftviz.ui.services import comes_from_another_page, prune_state, prune_warm_up, warm_up

enter_through_app()
warm_up()
engine = prune_warm_up()
state = prune_state()
context = get_script_run_ctx()
query = st.query_params.to_dict()
has_come_back = comes_from_another_page("prune")
if query or not has_come_back:
    state.follow(query, is_history=bool(context is not None and context.is_history_navigation))

with st.sidebar:
    show_pruning_choices(state, is_ready=engine.ready.is_set())
words, reading = st.columns([5, 1], vertical_alignment="center", gap="small")
words.markdown(
    "**M edges, always.** The k weakest leave, the k most promising enter; parameters share K "
    "values."
)
with reading:
    show_pruning_help()
# Places first: what appears above the picture must not move it, or the browser starts it anew.
above = st.container()
with above:
    show_pruned_data(state)
if engine_is_ready(engine):
    state.refresh()
    with above:
        show_pruning_messages(state)
    live_pruning(state)
    PRUNE.load()
    if (link := state.link()) != st.query_params.to_dict():
        st.query_params.from_dict(link)
