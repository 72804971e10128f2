"""Panels that pages share: notices above the view, settings, and charts that grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from graftviz.ui.boundary import bounded
from graftviz.ui.controls import show_button, show_option
from graftviz.ui.frame.state import OptionsPage
from graftviz.ui.frame.view import MountedView
from graftviz.wording import plain

_POLL = 0.6  # seconds between two updates of what grows


def show_notices(state: OptionsPage[Any], view: MountedView, what: str) -> None:
    """Show ignored parts of the link, and why the view does not follow the settings.

    Parameters
    ----------
    state : OptionsPage
    view : MountedView
    what : str
        The content of the view, such as "run".
    """
    is_shown = state.shown is not None
    suffix = f" Still showing the previous {what}." if is_shown else ""
    show_warnings(state.complaints)
    if is_shown and state.awaits_file:
        show_awaiting_file(what, place=view.key)
    show_problem(state.problem, suffix)
    show_question(state.question, suffix, state.agree, f"{view.name}.")


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
    """Show the confirmation of a long computation, with a button.

    Parameters
    ----------
    question : str
        Empty: no question is shown.
    suffix : str
        Sentence about the view shown until then.
    agree : callable
    place : str
        Prefix of the keys of box and button.
    """
    if question:
        with st.container(border=True, key=f"{place}question"):
            st.warning(plain(question + suffix))
            show_button("Run anyway", f"{place}run_anyway", agree, type="primary")


def show_settings(state: OptionsPage[Any], prefix: str, *names: str, **how: Any) -> None:
    """Show the controls of some options of a page.

    Parameters
    ----------
    state : OptionsPage
    prefix : str
        Of the keys of the controls.
    *names : str
        Options, in the order of the controls.
    **how
        Further arguments of :func:`graftviz.ui.controls.show_option`.
    """
    for name in names:
        spec, value = state.specs[name], state.values[name]
        show_option(spec, value, state.choose, prefix=prefix, **how)


def show_until(has_ended: Callable[[], bool], show: Callable[[], object]) -> None:
    """Call `show`, and again every moment until something has ended."""
    if has_ended():
        show()
    else:
        _show_again(has_ended, show)


@st.fragment(run_every=_POLL)
@bounded
def _show_again(has_ended: Callable[[], bool], show: Callable[[], object]) -> None:
    if has_ended():
        st.rerun()
    show()
