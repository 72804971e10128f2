"""Links that lead straight to a page other than the first."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager


def enter_through_app() -> None:
    """Start again by way of app.py if Streamlit ran a page without it.

    Until st.navigation has been called once in a process, Streamlit takes scripts in a folder
    named pages for an app of its older kind: a link to one of them would then open it without
    navigation, title and layout.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
