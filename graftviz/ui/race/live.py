"""The fragment around the race: what the browser asks for, and what it is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.racing import AXES
from graftviz.ui.boundary import bounded
from graftviz.ui.feeding import Mailbox, everything_so_far, requested_feeds
from graftviz.ui.race.component import RACE, race_message
from graftviz.ui.race.state import RaceState
from graftviz.ui.race.url import END
from graftviz.ui.session_run import SessionRun


@st.fragment
@bounded
def live_race(state: RaceState, *, new_race: bool) -> None:
    """Show the race of `state`; its messages run this again, and nothing else of the page.

    Parameters
    ----------
    state : RaceState
    new_race : bool
        Whether the browser cannot have this race yet.
    """
    if not state.entries:
        return
    mail: Mailbox = st.session_state.setdefault("race.mail", Mailbox())
    RACE.show(
        _message(state, mail, new_race=new_race),
        {
            "need": lambda need: setattr(mail, "need", need),
            "moved": lambda place: _moved(state, place),
        },
    )
    mail.need = None
    mail.sent = state.token


def _message(state: RaceState, mail: Mailbox, *, new_race: bool) -> str:
    need = mail.need
    # A fragment sees its arguments again and again; a race is new once.
    if new_race and mail.sent != state.token:
        return _introduction(state)
    if need is None or need.get("race") != state.token:
        return race_message(state.token)
    if need.get("header"):
        return _introduction(state)
    return race_message(
        state.token,
        feeds=requested_feeds(_runs(state).values(), need.get("wants")),
        failures=_failures(state),
        replies=True,
    )


def _introduction(state: RaceState) -> str:
    """Return the header and all records so far."""
    return race_message(
        state.token,
        header=state.header_json,
        place=(state.settings.axis, state.settings.at),
        feeds=everything_so_far(_runs(state).values()),
        failures=_failures(state),
        replies=True,
    )


def _runs(state: RaceState) -> dict[str, SessionRun]:
    return {entry.run.token: entry.run for entry in state.entries if entry.run is not None}


def _failures(state: RaceState) -> dict[str, str]:
    return {token: run.failure for token, run in _runs(state).items() if run.failure}


def _moved(state: RaceState, place: Mapping[str, Any]) -> None:
    axis, at = place.get("axis"), place.get("at")
    if place.get("race") != state.token or axis not in AXES:
        return
    if at == END:
        state.look_at(str(axis), math.inf)
    elif isinstance(at, int | float) and not isinstance(at, bool) and math.isfinite(at):
        state.look_at(str(axis), max(0.0, float(at)))
