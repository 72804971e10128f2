"""What a page says above its picture: what could not be used, what went wrong, what it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from graftviz.ui.boundary import guarded
from graftviz.ui.plain import plain


def show_warnings(sentences: Sequence[str]) -> None:
    """Say what could not be used, a paragraph a sentence; nothing where there is none."""
    if sentences:
        st.warning("\n\n".join(plain(sentence) for sentence in sentences))


def show_problem(problem: str, kept: str = "") -> None:
    """Say why the picture does not follow the choices, and what it shows instead."""
    if problem:
        st.error(plain(problem + kept))


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


def show_question(question: str, kept: str, agree: Callable[[], None], place: str = "") -> None:
    """Ask before something is begun that takes long; the button says yes.

    Parameters
    ----------
    question : str
        Empty: nothing is asked.
    kept : str
        What is shown meanwhile.
    agree : callable
    place : str
        Begins the keys of box and button.
    """
    if question:
        with st.container(border=True, key=f"{place}question"):
            st.warning(plain(question + kept))
            st.button(
                "Run anyway", key=f"{place}run_anyway", type="primary", on_click=guarded(agree)
            )
