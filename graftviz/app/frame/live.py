"""Fragments that show the runs of a page in its view, and the messages they send to the browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.app.boundary import bounded
from graftviz.app.frame.jobs import await_first
from graftviz.app.frame.learning import SideBySidePage
from graftviz.app.frame.runs import everything_so_far, requested_feeds
from graftviz.app.frame.state import RunPage
from graftviz.app.frame.view import Mailbox, MountedView, Trigger
from graftviz.app.player.recorders import to_json
from graftviz.reports.replay.plain import json_object, whole_number

# ----------------------------------------------------------------------------------- one job


@st.fragment
@bounded
def live_run(state: RunPage[Any, Any, Any], view: MountedView) -> None:
    """Show the run of a page; messages of the view run this again, and nothing else of the page."""
    job = state.run
    if job is None:
        return
    await_first(job)
    if job.latest is None:
        if not job.failure:
            st.info("Computing the first step…")  # stays on the screen while the page waits again
        st.rerun()

    def move(place: Mapping[str, Any]) -> None:
        view.mail.need = place  # which steps the browser has
        state.move(place)

    view.show(
        lambda: run_message(state, view.mail),
        {"moved": move},
        lambda: job.ended and state.check_step(state.last_step(job.latest)),
    )


def run_message(state: RunPage[Any, Any, Any], mail: Mailbox) -> str:
    """Return, as JSON, the steps that the browser lacks, and the graph if it has another one."""
    job, shown = state.run, state.shown
    assert shown is not None
    assert job is not None
    assert job.latest is not None  # it has been awaited
    found, picture = job.latest, shown.source.identity
    since = whole_number(mail.need.get("from"), 0) if mail.need.get("token") == job.token else 0
    message = {
        "visit": state.visit,
        "graphId": picture,
        **state.message_parts(shown, found, job.failure),
    }
    message["run"] |= {
        "token": job.token,
        "from": since,
        "steps": found.steps[since:],
        "at": state.values["step"],
    }
    if mail.picture != picture or mail.need.get("graph"):
        message["graph"] = state.graph(shown)
        mail.picture = picture
    return to_json(message)


# --------------------------------------------------------------------------- runs side by side


@st.fragment
@bounded
def show_runs(
    state: SideBySidePage[Any], view: MountedView, name: str, chosen: Mapping[str, Trigger]
) -> None:
    """Show the runs of `state`; messages run this again, and nothing else of the page.

    Parameters
    ----------
    state : SideBySidePage
    view : MountedView
    name : str
        Name of the token in messages.
    chosen : mapping
        Name of another message from the view → function called with it.
    """
    if not state.entries:
        return

    def moved(message: Mapping[str, Any]) -> None:
        if message.get(name) == state.token:
            state.move(message)

    view.show(
        lambda: runs_message(state, view.mail, name),
        {"moved": moved, **chosen},
        state.check_place,
    )


def runs_message(state: SideBySidePage[Any], mail: Mailbox, name: str) -> str:
    """Return, as JSON, the next message to the view; see docs/player.md.

    It has the header and all records for new runs, and otherwise the records that the view has
    requested.
    """
    need = mail.need if mail.need.get(name) == state.token else None
    runs = list(state.runs.values())
    failures = {run.token: run.failure for run in runs if run.failure}
    message: dict[str, str | None] = {
        name: json.dumps(state.token),
        "failures": to_json(failures),
        "replies": json.dumps(need is not None),
        **{key: to_json(value) for key, value in state.place().items()},
    }
    if mail.sent != state.token or (need is not None and need.get("header")):
        message |= {"header": state.header_json, "feeds": everything_so_far(runs)}
    else:
        wants = None if need is None else need.get("wants")
        message["feeds"] = requested_feeds(runs, wants)
    mail.sent = state.token
    return json_object(message)
