"""Budget: learning under a bound on the cost of inference."""

import streamlit as st

from graftviz.narrative.budget import cost_sentence
from graftviz.ui.budget.panels import budget_files, budget_menu, show_charts, show_choices
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.compiling import engine_is_ready
from graftviz.ui.engine import enter_page
from graftviz.ui.frame.header import Header, follow_address, write_address
from graftviz.ui.frame.live import live_run
from graftviz.ui.frame.panels import show_notices
from graftviz.ui.frame.view import BUDGET
from graftviz.ui.run_files import run_note
from graftviz.ui.upload import show_upload
from graftviz.ui.visits import page_state

engine = enter_page("budget")
state = page_state("budget", BudgetState)
follow_address(state, "budget")

with st.sidebar:
    show_choices(state)
header = Header("budget", cost_sentence(state.options.complexity))
# Containers come first: a notice above the view must not move it, or the browser reloads it.
above = st.container()
with above:
    show_upload(state)
if engine_is_ready(engine, "budget"):
    state.refresh()
    with above:
        show_notices(state, BUDGET, "run")
    live_run(state, BUDGET)
    BUDGET.load()
    show_charts(state)
    header.show_model(lambda: budget_menu(state))
    header.show_files(lambda: budget_files(state), run_note())
    header.show_link(state.link, "Opens this view, anywhere graftviz runs.")
    write_address(state)
