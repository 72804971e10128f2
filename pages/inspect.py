"""Inspect: graph, marginals and posteriors of learned or loaded models."""

import streamlit as st

from graftviz.app.engine import engine_is_ready, warm_up
from graftviz.app.frame import Header, follow_address, handed_models
from graftviz.app.inspect import inspect_state
from graftviz.app.inspect_panels import (
    show_drawing,
    show_file,
    show_inspection,
    show_messages,
    show_sources,
)
from graftviz.app.session import begin_with_app
from graftviz.app.view import INSPECT

begin_with_app("inspect")
engine = warm_up()  # the page opens while kernels of its own are compiled
warm_up("inspect")
state = inspect_state()
follow_address(state, "inspect", is_new=state.loaded is None)
for model in handed_models():
    state.take_model(model)

top, above = st.container(), st.container()
if engine_is_ready(engine, "inspect"):
    state.refresh()
    # The side bar, where files are uploaded, may be closed.
    is_awaited = state.first.awaits_file and bool(state.first.expected)
    with st.sidebar:
        show_sources(state, has_uploader=not is_awaited)
        show_drawing(state)
    with above:
        if is_awaited:
            show_file(state.first, "inspect.first")
        show_messages(state)
    show_inspection(state)
    INSPECT.load()
# With a model, the header belongs to the part of the page that shows it.
if state.loaded is None:
    with top:
        Header("inspect")
