"""The fragment around forced pruning: what the browser asks for, and what it is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.learners.forced_pruning import HEURISTICS
from graftviz.ui.boundary import bounded
from graftviz.ui.frame.view import PRUNE, Mailbox, json_object
from graftviz.ui.prune.state import PruneState
from graftviz.ui.session_run import everything_so_far, requested_feeds, whole_number


@st.fragment
@bounded
def live_pruning(state: PruneState) -> None:
    """Show the runs of `state`; messages run this again, and nothing else of the page."""
    mail = PRUNE.mail
    if mail.wants_page:
        mail.wants_page = False
        # The controls around have to follow what was chosen in the picture.
        st.rerun()
    if not state.runs:
        return
    PRUNE.show(
        prune_message(state, mail),
        {
            "heuristic": lambda choice: _choose(state, mail, choice),
            "moved": lambda place: _moved(state, place),
        },
    )
    mail.sent = state.token


def prune_message(state: PruneState, mail: Mailbox) -> str:
    """Return, as JSON, what the browser should know now; see the Prune page in docs/player.md."""
    need = mail.need if mail.need.get("token") == state.token else None
    runs = state.runs.values()
    parts = {
        "token": json.dumps(state.token),
        "heuristic": json.dumps(state.heuristic),
        "visit": json.dumps(state.visit),
        "step": json.dumps(state.settings.step),
        "failures": json.dumps(
            {run.token: run.failure for run in runs if run.failure}, ensure_ascii=False
        ),
        "replies": json.dumps(need is not None),
    }
    if mail.sent != state.token or (need is not None and need.get("header")):
        parts |= {"header": state.header_json, "feeds": everything_so_far(runs)}
    else:
        parts["feeds"] = "[]" if need is None else requested_feeds(runs, need.get("wants"))
    return json_object(parts)


def _choose(state: PruneState, mail: Mailbox, choice: Mapping[str, Any]) -> None:
    if choice.get("key") in HEURISTICS and choice["key"] != state.heuristic:
        state.choose("heuristic", choice["key"])
        mail.wants_page = True


def _moved(state: PruneState, place: Mapping[str, Any]) -> None:
    """Note where the visitor is; nothing on the page has to follow."""
    if place.get("token") == state.token:
        state.look_at(whole_number(place.get("step"), 0))
