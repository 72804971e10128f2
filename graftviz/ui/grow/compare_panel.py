"""Comparison of the run with preset best, with the same layout and both curves."""

from __future__ import annotations

import streamlit as st

from graftviz.ui.automatic import settings_of
from graftviz.ui.boundary import bounded
from graftviz.ui.frame.header import Tool
from graftviz.ui.grow.comparison import reasons, rows, side_of
from graftviz.ui.grow.state import GrowState
from graftviz.ui.recording import RunRecorder, preset_title
from graftviz.ui.session_run import SessionRun

_LOOK_AGAIN = 0.4  # seconds, while one of both runs is not there yet


def compare_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that starts the comparison, or the one that ends it."""
    if state.settings.compare:
        ghost = state.ghost.recorder if state.ghost is not None else None
        name = preset_title(ghost.run.learner) if isinstance(ghost, RunRecorder) else "the run"
        return Tool("compare", f"Back to {name}", lambda: state.compare(False))
    if state.can_compare:
        return Tool("compare", "Compare with preset best", lambda: state.compare(True))
    return None


def show_comparison(state: GrowState) -> None:
    """Show the numbers of both runs and why they differ, once both have finished."""
    run, ghost = state.run, state.ghost
    shown = state.shown
    if shown is None or not shown.compare or run is None or ghost is None:
        return
    if run.ended and ghost.ended:
        _show_difference(run, ghost)
    else:
        _wait_for_both(run, ghost)


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def _wait_for_both(run: SessionRun, ghost: SessionRun) -> None:
    if run.ended and ghost.ended:
        st.rerun()
    st.caption(f"Learning both runs: best at step {run.computed}, other at step {ghost.computed}.")


def _show_difference(run: SessionRun, ghost: SessionRun) -> None:
    first, second = ghost.recorder, run.recorder
    if run.failure or ghost.failure:
        return  # said where the run is shown
    if not (isinstance(first, RunRecorder) and isinstance(second, RunRecorder)):
        return
    truth = second.run.truth
    other = side_of(preset_title(first.run.learner), ghost.result(), truth)
    best = side_of("best", run.result(), truth)
    settings = settings_of(second.run.learner, second.material)
    sentences = reasons(other, best, settings)
    table = rows((other, best))
    name = getattr(first.run.learner, "preset", first.run.learner.title)
    lines = [
        _line("", [what for what, _, _ in table]),
        _line(":--", ["--:"] * len(table)),
        _line(f"{name} (dashed)", [theirs for _, theirs, _ in table]),
        _line("**best** (solid)", [f"**{ours}**" for _, _, ours in table]),
    ]
    words, numbers = st.columns([1, 1], gap="medium", vertical_alignment="center")
    words.markdown(" ".join(f"**{title}.** {text}" for title, text in sentences))
    numbers.markdown("\n".join(lines))


def _line(head: str, cells: list[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"
