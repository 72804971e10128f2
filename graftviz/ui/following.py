"""The step and the selection of one page, followed by others: a switch, a link, and a line."""

from __future__ import annotations

import streamlit as st

from graftviz.serving.following import MOST_FOLLOWERS, Code, TooManyPages, leaders
from graftviz.texts import catalogue
from graftviz.ui.boundary import guarded
from graftviz.ui.teaching import FOLLOW, language, page_component

_CODE = "following.code"
_IS_FULL = "following.is_full"


def show_following() -> None:
    """Show whether this page leads or follows, and the button that ends it."""
    code, followed = _code(), st.query_params.get(FOLLOW)
    if code is None and followed is None:
        return
    labels = _labels()
    shown = Code(followed or "", "") if code is None else code
    base = st.get_option("server.baseUrlPath").strip("/")
    first = labels["waits" if code is None else "begin"]
    data = {**shown._asdict(), "base": f"/{base}" if base else "", "labels": labels, "first": first}
    follow = page_component("follow")
    follow(key="following", data=data, on_end_change=guarded(_end))


def show_lead() -> None:
    """Show the button that lets other pages follow this one, unless they can already."""
    if _code() is not None:
        return
    labels = _labels()
    st.button(labels["lead"], key="lead", help=labels["lead_help"], on_click=guarded(_lead))
    if st.session_state.pop(_IS_FULL, False):
        st.warning(labels["full_server"])


def lead_query() -> dict[str, str]:
    """Return the query parameter of the link with which pages follow this one."""
    code = _code()
    return {} if code is None else {FOLLOW: code.code}


def _code() -> Code | None:
    """Return the code with which this page leads."""
    code: Code | None = st.session_state.get(_CODE)
    return code


def _labels() -> dict[str, str]:
    labels = catalogue("labels", language())["follow"]
    return {name: text.replace("{most}", str(MOST_FOLLOWERS)) for name, text in labels.items()}


def _lead() -> None:
    st.query_params.pop(FOLLOW, None)
    try:
        st.session_state[_CODE] = leaders.begin()
    except TooManyPages:
        st.session_state[_IS_FULL] = True


def _end() -> None:
    code = st.session_state.pop(_CODE, None)
    if code is not None:
        leaders.end(code.code)
    st.query_params.pop(FOLLOW, None)
