"""Presenter mode: large type and fewer controls, to be read from the back row."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

from graftviz.ui.boundary import guarded
from graftviz.ui.teaching import is_presenting, present

_ASSETS = Path(__file__).parent / "assets"


@cache
def _style(name: str) -> str:
    return f"<style>{(_ASSETS / name).read_text(encoding='utf-8')}</style>"


def show_presenter() -> None:
    """Show the switch, and in presenter mode the page as a room needs it; Escape leaves it."""
    is_on = is_presenting()
    with st.container(key="presenter"):
        st.button(
            "Leave" if is_on else "Present",
            key="leave_presenting" if is_on else "present",
            type="tertiary",
            shortcut="Escape" if is_on else None,
            help="Back to all controls"
            if is_on
            else "Large type and fewer controls, for a projector",
            on_click=guarded(present),
            args=(not is_on,),
        )
    st.html(_style("presenter_switch.css"))
    if is_on:
        st.html(_style("presenter.css"))
