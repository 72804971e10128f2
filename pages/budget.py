"""Budget: learning under a bound on the cost of inference."""

import streamlit as st

from graftviz.app.budget import BudgetState, budget_files, budget_menu, show_charts, show_choices
from graftviz.app.controls import show_notices
from graftviz.app.engine import engine_is_ready, enter_page
from graftviz.app.files import run_note
from graftviz.app.frame import Header, follow_address, write_address
from graftviz.app.session import page_state
from graftviz.app.upload import show_upload
from graftviz.app.view import BUDGET, live_run
from graftviz.reports.words.learners import cost_sentence

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
