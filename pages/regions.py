"""Regions: a small region answers for the whole network, with a proven bound on its error."""

import streamlit as st

from graftviz.ui.address import follow_address, write_address
from graftviz.ui.engine_panel import engine_is_ready
from graftviz.ui.entrance import enter_through_app
from graftviz.ui.regions.component import REGION
from graftviz.ui.regions.help import show_trust
from graftviz.ui.regions.live import live_region
from graftviz.ui.regions.panels import (
    region_state,
    show_growth_choices,
    show_messages,
    show_model_choice,
    show_model_upload,
)
from graftviz.ui.services import page_warm_up, warm_up

enter_through_app()
warm_up()
engine = page_warm_up("regions")
state = region_state()
follow_address(state, "regions")

with st.sidebar:
    show_model_choice(state)
words, trust = st.columns([5, 1], vertical_alignment="center", gap="small")
words.markdown(
    "**Ask for one variable** :orange[★]. A small **region** answers alone, and a theorem bounds "
    "its error: *the rest need not be looked at.*"
)
with trust:
    show_trust()
# Places first: what appears above the picture must not move it, or the browser starts it anew.
above = st.container()
with above:
    show_model_upload(state)
if engine_is_ready(engine):
    state.refresh()
    with st.sidebar:
        show_growth_choices(state)
    with above:
        show_messages(state)
    state.page_runs += 1
    live_region(state)
    REGION.load()
    write_address(state)
