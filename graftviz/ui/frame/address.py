"""The address of a page: it says what is to be shown, and what is shown is written into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.ui.teaching import teaching_query, without_teaching


class Linked(Protocol):
    """State of a page that a link can restore."""

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> object:
        """Take over what an address says."""

    def link(self) -> dict[str, str]:
        """Return the address of what is shown."""


def follow_address(state: Linked, page: str, *, is_new: bool = False) -> None:
    """Apply the address of a page to its state.

    Opening another page empties the address, which must not undo earlier choices there. A link
    from another page counts even if this page has written the same address before.

    Parameters
    ----------
    state : Linked
    page : str
    is_new : bool
        Whether nothing has been set here yet, so that an empty address counts as well.
    """
    before = st.session_state.get("page")
    st.session_state["page"] = page
    query = without_teaching(st.query_params.to_dict())
    comes_from_another = before not in (None, page)
    if query or is_new or not comes_from_another:
        context = get_script_run_ctx()
        goes_back = context is not None and context.is_history_navigation
        state.follow(query, is_history=goes_back or comes_from_another)


def write_address(state: Linked) -> None:
    """Write what a page shows into the address, unless it is there."""
    if (link := {**state.link(), **teaching_query()}) != st.query_params.to_dict():
        st.query_params.from_dict(link)
