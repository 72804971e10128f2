"""A button that saves a file, which is built when it is pressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from graftviz.ui.boundary import file_builder


def file_button(
    label: str,
    name: str,
    mime: str,
    build: Callable[[], str | bytes],
    key: str,
    *,
    look: Literal["primary", "secondary", "tertiary"] = "secondary",
    disabled: bool = False,
) -> None:
    """Show a button as wide as its place; pressing it runs nothing else of the page.

    Parameters
    ----------
    label : str
    name : str
        Of the file.
    mime : str
    build : callable
        Returns what is in it.
    key : str
    look : {"primary", "secondary", "tertiary"}
    disabled : bool
    """
    st.download_button(
        label,
        file_builder(build),
        name,
        mime,
        key=key,
        type=look,
        width="stretch",
        on_click="ignore",
        disabled=disabled,
    )
