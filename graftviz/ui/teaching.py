"""Presenter mode, and the tour: parameters of the address on every page.

They are not settings of a page, whose state never receives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from graftviz.ui.boundary import guarded

_ASSETS = Path(__file__).parent / "assets"
PRESENT = "present"
TOUR = "tour"
ON = "1"
_IS_ON = "teaching.present"
_SEEN = "teaching.seen"
_TAKES_TOUR = "teaching.tour"


def without_teaching(query: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of an address that are settings of its page."""
    return {name: text for name, text in query.items() if name not in (PRESENT, TOUR)}


def teaching_query() -> dict[str, str]:
    """Return the parameters that every address has besides the settings of its page."""
    return {PRESENT: ON} if is_presenting() else {}


def follow_teaching() -> None:
    """Take over the parameters of the address for teaching; call once a run, before the page.

    A message from the browser may contain an outdated URL: a value counts only if it
    differs from the previous one. Going to another page empties the address, which must not end
    the mode.
    """
    query = st.query_params.to_dict()
    value = query.get(PRESENT)
    if value != st.session_state.get(_SEEN) and value is not None:
        present(value == ON)
    st.session_state[_SEEN] = value
    if query.get(TOUR) == ON:
        st.session_state[_TAKES_TOUR] = True


def is_presenting() -> bool:
    """Whether the app is shown to a room."""
    return bool(st.session_state.get(_IS_ON, False))


def present(on: bool) -> None:
    """Turn presenter mode on or off."""
    st.session_state[_IS_ON] = on


def takes_tour() -> bool:
    """Whether an address began the tour."""
    return bool(st.session_state.get(_TAKES_TOUR, False))


def show_presenter() -> None:
    """Show the switch, and apply presenter mode: large type, no controls. Escape ends it."""
    is_on = is_presenting()
    with st.container(key="presenter"):
        st.button(
            "Leave" if is_on else "Present",
            key="leave_presenting" if is_on else "present",
            type="tertiary",
            shortcut="Escape" if is_on else None,
            help="Back to all controls" if is_on else "Large type and no controls, for a projector",
            on_click=guarded(present),
            args=(not is_on,),
        )
    st.html(_ASSETS / "page.css")
    if is_on:
        st.html(_ASSETS / "presenter.css")
