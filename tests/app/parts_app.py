"""Parts of a page, drawn as fragments are: without the page, unless the session says so.

Run by tests/app/test_ui_boundary.py.
"""

import streamlit as st

from graftviz import InputError
from graftviz.app.boundary import bounded, guarded, page_boundary


def refuse() -> None:
    raise InputError("No.")


@bounded
def one() -> None:
    st.text("one")


@bounded
def other() -> None:
    st.text("other")


st.button("refuse", on_click=guarded(refuse))
if st.session_state.get("whole"):
    with page_boundary():
        st.text("page")
one()
other()
