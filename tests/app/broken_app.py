"""An app that breaks where its session says; run by tests/app/test_ui_boundary.py."""

import streamlit as st

from graftviz import InputError
from graftviz.app.boundary import bounded, file_builder, guarded, page_boundary


def breaks(where: str) -> None:
    if st.session_state.get("broken") == where:
        raise ArithmeticError("the password of somebody")


def build() -> bytes:
    raise ArithmeticError("the password of somebody")


def refuse() -> None:
    raise InputError("There is <b>no</b> such thing.")


@st.fragment
@bounded
def part() -> None:
    breaks("fragment")
    st.text("the part")


@st.fragment
@bounded
def polite() -> None:
    if st.session_state.get("broken") == "rerun":
        st.session_state["broken"] = ""
        st.rerun()
    st.text("reruns pass")


with page_boundary():
    st.button("break", on_click=guarded(lambda: breaks("callback")))
    st.button("refuse", on_click=guarded(refuse))
    st.session_state["build"] = file_builder(build)
    part()
    polite()
    breaks("page")
    st.text("the end")
