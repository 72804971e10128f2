"""Notices above the main view of a page: warnings, problems and questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from graftviz.ui.boundary import guarded
from graftviz.ui.frame.texts import plain


def show_warnings(sentences: Sequence[str]) -> None:
    """Show warnings, one paragraph per sentence."""
    if sentences:
        st.warning("\n\n".join(plain(sentence) for sentence in sentences))


def show_problem(problem: str, suffix: str = "") -> None:
    """Show why the view does not follow the settings, and what it shows instead."""
    if problem:
        st.error(plain(problem + suffix))


def show_awaiting_file(what: str, *, place: str) -> None:
    """State that no file has been uploaded yet, and fade the previous results.

    Parameters
    ----------
    what : str
        The previous results, such as "run".
    place : str
        Key of the element that shows them.
    """
    st.info(f"No file has been uploaded yet. Still showing the previous {what}, faded.")
    st.html(f"<style>.st-key-{place} {{ opacity: 0.35; }}</style>")


def show_question(question: str, suffix: str, agree: Callable[[], None], place: str = "") -> None:
    """Show a question before a long computation, with a button that confirms.

    Parameters
    ----------
    question : str
        Empty: no question is shown.
    suffix : str
        Sentence about the view shown meanwhile.
    agree : callable
    place : str
        Prefix of the keys of box and button.
    """
    if question:
        with st.container(border=True, key=f"{place}question"):
            st.warning(plain(question + suffix))
            st.button(
                "Run anyway", key=f"{place}run_anyway", type="primary", on_click=guarded(agree)
            )
