"""Whether the engine is compiled: waiting for it, and saying so."""

from __future__ import annotations

import streamlit as st

from graftviz.ui.boundary import bounded
from graftviz.ui.plain import plain
from graftviz.ui.warm_up import COMPILE_SECONDS, WarmUp

LONG_SECONDS = 20.0  # from the cache everything is there sooner
QUIET_SECONDS = 1.2  # a start from the cache is over before anything need be said
PATIENCE = 3 * COMPILE_SECONDS  # seconds after which the page can be opened without waiting
_GOES_ON = "engine.goes_on"


def engine_is_ready(engine: WarmUp) -> bool:
    """Whether the engine is compiled; if not, say so and look again by itself.

    Whatever loads data has to stand behind this: rows may be drawn by kernels that wait as well.
    """
    # A place first: what is told later must not move the picture below, or it starts anew.
    above = st.container()
    if st.session_state.get(_GOES_ON) or engine.ready.wait(QUIET_SECONDS):
        if engine.failure:
            above.warning(plain(engine.failure))
        return True
    _show_compiling(engine)
    return False


def show_engine(engine: WarmUp) -> None:
    """Say, while it is so, that the rest of the engine is being compiled behind the page."""
    if not engine.finished.is_set() and engine.seconds > LONG_SECONDS:
        _show_rest(engine)


@st.fragment(run_every=3.0)
@bounded
def _show_rest(engine: WarmUp) -> None:
    if engine.finished.is_set():
        st.rerun()
    st.caption(
        f"Still compiling other learners, scores and presets ({engine.seconds:.0f} s so far, once "
        "per installation): the first run of another kind may take a moment."
    )


@st.fragment(run_every=0.5)
@bounded
def _show_compiling(engine: WarmUp) -> None:
    if engine.ready.is_set():
        st.rerun()
    st.progress(
        min(0.98, engine.seconds / COMPILE_SECONDS),
        f"Compiling the engine, about {COMPILE_SECONDS} s, once per installation · "
        f"{engine.seconds:.0f} s so far",
    )
    st.caption("The page opens by itself. Later starts take seconds.")
    if engine.seconds > PATIENCE:
        st.caption(
            "This takes unusually long. The page can be opened without waiting: then the first "
            "run waits for the compiler instead."
        )
        if st.button("Open the page now", key="engine.open"):
            st.session_state[_GOES_ON] = True
            st.rerun()
