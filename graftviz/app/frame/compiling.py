"""Notices of pages while the engine is compiled."""

from __future__ import annotations

import streamlit as st

from graftviz.app.boundary import bounded
from graftviz.app.frame.engine import WarmUp
from graftviz.reports.texts import page_text
from graftviz.utils.wording import plain

LONG_SECONDS = 20.0  # a start from the cache is faster
QUIET_SECONDS = 1.2  # a start from the cache ends before, without a notice
PATIENCE = 300.0  # seconds after which a page can be opened without waiting
_GOES_ON = "engine.goes_on"


def engine_is_ready(engine: WarmUp, page: str, *, is_needed: bool = True) -> bool:
    """Return whether the engine is compiled; until then show the progress.

    Data must be loaded after this: drawing rows needs compiled kernels as well.

    Parameters
    ----------
    engine : WarmUp
    page : str
    is_needed : bool
        Whether the page has nothing to show without the engine. It then shows its explanation.
    """
    # The container comes first: a later notice must not move the view, or the browser reloads it.
    above = st.container()
    is_ready = engine.ready.is_set()
    if is_needed and not is_ready:
        is_ready = engine.ready.wait(QUIET_SECONDS)
    if is_ready or st.session_state.get(_GOES_ON):
        if engine.failure:
            above.warning(plain(engine.failure))
        return True
    if is_needed:
        with above:
            _show_compiling(engine)
        st.markdown(page_text(page).explanation)
    return False


def show_engine(engine: WarmUp, note: str, least: float = 0.0) -> None:
    """Show a note while the rest of the engine is compiled in the background.

    Parameters
    ----------
    engine : WarmUp
    note : str
        Sentence, in which ``{seconds}`` stands for the seconds so far.
    least : float
        Seconds after which the note is shown also if nothing has to be compiled.
    """
    is_compiling = engine.compiles or engine.seconds > least
    if is_compiling and not engine.finished.is_set():
        _show_rest(engine, note)


@st.fragment(run_every=3.0)
@bounded
def _show_rest(engine: WarmUp, note: str) -> None:
    if engine.finished.is_set():
        st.rerun()
    st.caption(note.format(seconds=f"{engine.seconds:.0f} s"))


@st.fragment(run_every=0.5)
@bounded
def show_recorded(engine: WarmUp) -> None:
    """Show a line while a recorded run is shown, until the engine is compiled."""
    if engine.ready.is_set():
        st.rerun()
    if engine.seconds > QUIET_SECONDS:
        progress = engine.progress
        st.caption(
            f"Recorded run · engine {100 * progress.share:.0f} % compiled, "
            f"{progress.seconds_left:.0f} s left"
        )


@st.fragment(run_every=0.5)
@bounded
def _show_compiling(engine: WarmUp) -> None:
    if engine.ready.is_set():
        st.rerun()
    progress = engine.progress
    st.progress(
        progress.share,
        f"Compiling the engine, once per installation: {100 * progress.share:.0f} %, "
        f"about {progress.seconds_left:.0f} s left.",
    )
    if engine.seconds > PATIENCE:
        st.caption(
            "This takes unusually long. The page can be opened without waiting: then the first "
            "run waits for the compiler instead."
        )
        if st.button("Open the page now", key="engine.open"):
            st.session_state[_GOES_ON] = True
            st.rerun()
