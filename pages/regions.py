"""Regions: marginals from a small region, with a proven error bound."""

import streamlit as st

from graftviz.app.controls import show_notices
from graftviz.app.engine import engine_is_ready, enter_page
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.regions import (
    RegionState,
    live_region,
    region_files,
    region_menu,
    show_growth_choices,
    show_model_choice,
    show_upload,
)
from graftviz.app.session import page_state
from graftviz.app.view import REGION

engine = enter_page("regions")
state = page_state("regions", RegionState)
follow_address(state, "regions")

with st.sidebar:
    show_model_choice(state)
header = Header("regions")
# Containers come first: a notice above the view must not move it, or the browser reloads it.
above = st.container()
with above:
    show_upload(state)
if engine_is_ready(engine, "regions"):
    state.refresh()
    with st.sidebar:
        show_growth_choices(state)
    with above:
        show_notices(state, REGION, "model")
    state.page_runs += 1
    live_region(state)
    REGION.load()
    header.show_model(lambda: region_menu(state))
    header.show_files(lambda: region_files(state), "Unfinished regions are completed first.")
    header.show_link(state.link, "Opens this view, anywhere graftviz runs.")
    write_address(state)
