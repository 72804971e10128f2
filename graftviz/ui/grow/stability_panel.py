"""Stability of the edges of the shown run: learned again from halves of the rows."""

from __future__ import annotations

import json

import streamlit as st

from graftviz.errors import InputError
from graftviz.selection import EdgeStability, stability_steps
from graftviz.selection.stability import STABLE, SUBSAMPLES
from graftviz.ui.background import Background
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.frame.header import Tool
from graftviz.ui.frame.texts import plain
from graftviz.ui.grow.state import GrowState
from graftviz.ui.recording import RunRecorder
from graftviz.ui.scheduler import Turns
from graftviz.ui.session_run import SessionRun

_LOOK_AGAIN = 0.6  # seconds
_REDRAW_EVERY = 10  # subsamples, while they come in, after which the graph is drawn anew
_PROBLEM = "grow.stability.problem"


def stability_of(run: SessionRun, scheduler: Turns) -> Background[EdgeStability] | None:
    """Return the work that finds the edges of `run` again in halves of its rows, not yet begun.

    Raises
    ------
    InputError
        When there are too few rows to learn from halves of them.
    """
    recorder = run.recorder
    if not isinstance(recorder, RunRecorder):
        return None
    current = recorder.run
    learner = current.learner if current.branch is None else current.branch.learner
    values = stability_steps(
        current.table, learner, subsamples=SUBSAMPLES, seed=current.seed, every_step=True
    )
    return Background(values, scheduler)


def stability_json(run: SessionRun) -> str | None:
    """Return what the player's `stabilise` reads; None before the first subsample is in."""
    found = run.stability.latest if run.stability is not None else None
    if found is None or not found.done:
        return None
    edges = [
        [*pair, count]
        for pair, count in zip(found.edges.tolist(), found.counts.tolist(), strict=True)
    ]
    message = {"run": run.token, "of": found.done, "rows": found.subsample_rows, "edges": edges}
    return json.dumps(message, separators=(",", ":"))


def stability_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that starts the subsamples, until it is chosen for the shown run."""
    if state.run is None or state.run.stability is not None:
        return None
    return Tool("stability", "Stability of the edges", lambda: _begin(state))


def show_stability(state: GrowState) -> None:
    """Show the progress or the result."""
    if problem := st.session_state.pop(_PROBLEM, ""):
        st.warning(plain(problem))
    run = state.run
    if run is None or run.stability is None:
        return
    work = run.stability
    if work.failure:
        st.warning(plain(work.failure))
    elif not work.ended:
        work.grant()
        _show_progress(run, work)
    elif work.latest is not None:
        st.markdown(_verdict(run, work.latest))


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def _show_progress(run: SessionRun, work: Background[EdgeStability]) -> None:
    done = work.latest.done if work.latest is not None else 0
    announced = st.session_state.setdefault("grow.stability.announced", {})
    stage = SUBSAMPLES if work.ended else done // _REDRAW_EVERY
    if announced.get(run.token, 0) != stage:
        announced.clear()
        announced[run.token] = stage
        st.rerun()
    left = f" · about {work.seconds / done * (SUBSAMPLES - done):.0f} s left" if done else ""
    with st.container(horizontal=True, vertical_alignment="center", key="stability_progress"):
        st.progress(done / SUBSAMPLES, f"Learning from random halves: {done} of {SUBSAMPLES}{left}")
        st.button("Cancel", key="stability_cancel", on_click=guarded(_cancel), args=(run,))


def _begin(state: GrowState) -> None:
    run = state.run
    if run is None:
        return
    try:
        run.stability = stability_of(run, state.scheduler)
    except InputError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    if run.stability is not None:
        run.stability.grant()


def _cancel(run: SessionRun) -> None:
    if run.stability is not None:
        run.stability.revoke()
    run.stability = None


def _verdict(run: SessionRun, found: EdgeStability) -> str:
    result = run.result()
    shares = found.frequency_of(result.model.edges)
    stable = int((shares >= STABLE).sum())
    rare = int((shares < 0.5).sum())
    faint = f", {rare:,} in fewer than half of them (faint in the graph)" if rare else ""
    return (
        f"**{stable:,} of {len(shares):,} edges** were found in at least "
        f"{STABLE * found.done:.0f} of {found.done} random halves of the rows{faint}. Stable "
        "edges can still be wrong."
    )
