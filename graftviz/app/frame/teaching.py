"""Presenter mode and guide of a lesson or the tour: parameters of every page's address.

They are not settings of a page, whose state never receives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import streamlit as st

from graftviz.app import ASSETS
from graftviz.app.boundary import guarded
from graftviz.reports.texts import catalogue
from graftviz.reports.words.lessons import GUIDES, TOUR, guide_record
from graftviz.utils.wording import quoted

PRESENT = "present"
LESSON = "lesson"
OF_TEACHING = (PRESENT, LESSON)
ON = "1"
_IS_ON = "teaching.present"
_SEEN = "teaching.seen"
_TOURS = "teaching.tours"


def without_teaching(query: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of an address that are settings of its page."""
    return {name: text for name, text in query.items() if name not in OF_TEACHING}


def teaching_query() -> dict[str, str]:
    """Return the parameters that every address has besides the settings of its page."""
    query = {PRESENT: ON} if is_presenting() else {}
    if LESSON in st.query_params:
        query[LESSON] = st.query_params[LESSON]
    return query


def follow_teaching() -> None:
    """Take over the parameters of the address for teaching; call once a run, before the page.

    A message from the browser may contain an outdated URL: a value counts only if it
    differs from the previous one. Going to another page empties the address, which must not end
    the mode.
    """
    query = st.query_params.to_dict()
    seen = st.session_state.get(_SEEN, {})
    present_text = query.get(PRESENT)
    if present_text not in (None, seen.get(PRESENT)):
        present(present_text == ON)
    st.session_state[_SEEN] = query


def is_presenting() -> bool:
    """Whether the app is shown to a room."""
    return bool(st.session_state.get(_IS_ON, False))


def present(on: bool) -> None:
    """Turn presenter mode on or off."""
    st.session_state[_IS_ON] = on


@cache
def page_component(name: str) -> Any:
    """Return the component of a script in ``assets`` that works on the whole page."""
    scripts = [(ASSETS / file).read_text(encoding="utf-8") for file in ("find.js", f"{name}.js")]
    return st.components.v2.component(f"graftviz_{name}", js="\n".join(scripts))


def take_tour() -> None:
    """Begin the tour."""
    st.session_state[_TOURS] = st.session_state.get(_TOURS, 0) + 1
    st.query_params[LESSON] = TOUR


def show_guide() -> None:
    """Show the lesson of the address, or a sentence if there is no such lesson.

    The guide runs in the browser only, which also writes the reached stop into the address.
    """
    text = st.query_params.get(LESSON)
    if text is None:
        return
    found = re.fullmatch(r"([a-z-]+)(?:\.(\d{1,3}))?", text, re.ASCII)
    if found is None or found[1] not in GUIDES:
        names = ", ".join(GUIDES)
        st.warning(f"There is no lesson {quoted(text)}; lessons are {names}.")
        del st.query_params[LESSON]
        return
    key, stop = found[1], max(1, int(found[2] or 1))
    begin = f"{key} {st.session_state.get(_TOURS, 0)}"
    record = guide_record(GUIDES[key])
    page_component("guide")(key="guide", data={**record, "at": stop - 1, "begin": begin})


def show_presenter() -> None:
    """Show the switch, and apply presenter mode: large type, no controls. Escape ends it."""
    is_on = is_presenting()
    labels = catalogue("labels")["header"]
    with st.container(key="presenter"):
        st.button(
            labels["leave" if is_on else "present"],
            key="leave_presenting" if is_on else "present",
            type="tertiary",
            shortcut="Escape" if is_on else None,
            help=labels["leave_help" if is_on else "present_help"],
            on_click=guarded(present),
            args=(not is_on,),
        )
    st.html(ASSETS / "page.css")
    if is_on:
        st.html(ASSETS / "presenter.css")
