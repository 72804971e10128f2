"""Every page is entered through app.py, also when a link to it is the first thing a server sees.

Streamlit takes a folder named ``pages`` for its older kind of app with several pages, and runs a
page's file by itself, without navigation, title and wide layout, until app.py has run once.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager


def enter_through_app() -> None:
    """Start the script again with app.py, if Streamlit has passed it by."""
    if getattr(PagesManager, "uses_pages_directory", False):
        PagesManager.uses_pages_directory = False
        st.rerun()
