"""Keys of an address that every page knows: presenter mode, and a tour that begins at once.

They are no settings of a page: its own state never sees them.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

PRESENT = "present"
TOUR = "tour"
ON = "1"
_IS_ON = "teaching.present"
_SEEN = "teaching.seen"
_TAKES_TOUR = "teaching.tour"


def without_teaching(query: Mapping[str, str]) -> dict[str, str]:
    """Return what an address says to the page alone."""
    return {name: text for name, text in query.items() if name not in (PRESENT, TOUR)}


def teaching_query() -> dict[str, str]:
    """Return what every address carries besides the settings of its page."""
    return {PRESENT: ON} if is_presenting() else {}


def follow_teaching() -> None:
    """Note what the address says about teaching; call once a run, before the page.

    A message from the browser may carry an address that is a moment old: what it says counts only
    where it is not what the address said before. Going to another page empties the address, which
    must not end the mode.
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
    """Whether the address asked for the tour to begin."""
    return bool(st.session_state.get(_TAKES_TOUR, False))
