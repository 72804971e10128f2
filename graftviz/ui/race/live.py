"""The fragment around the race: what the browser asks for, and what it is sent."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.racing import AXES
from graftviz.ui.race.component import RACE, race_message
from graftviz.ui.race.state import RaceState
from graftviz.ui.race.url import END
from graftviz.ui.session_run import EVERYTHING, SessionRun

AT_ONCE = 0.5  # seconds a changed race may take to arrive in one piece
MORE_STEPS = 0.25  # seconds to wait for steps that were asked for and are not there yet
_MAX_COUNT = 100_000


class Mailbox:
    """What the browser sent since the race was last shown, and what it was shown then."""

    def __init__(self) -> None:
        self.sent = ""  # token of the race it was shown last
        self.need: Mapping[str, Any] | None = None


@st.fragment
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
    runs = _runs(state)
    wants = [
        (runs[want[0]], _whole(want[1], 1), _whole(want[2], 1))
        for want in need.get("wants") or []
        if isinstance(want, list) and len(want) == 3 and want[0] in runs
    ]
    for run, first, count in wants:
        run.grant(first - 1 + count)
    _wait([(run, first - 1 + count) for run, first, count in wants], MORE_STEPS)
    return race_message(
        state.token,
        runs=[(run.header_json, run.feed_json(first, count)) for run, first, count in wants],
        failures=_failures(state),
        replies=True,
    )


def _introduction(state: RaceState) -> str:
    """Return the header and all records so far."""
    runs = _runs(state).values()
    _wait([(run, EVERYTHING) for run in runs if run.has_credit], AT_ONCE)
    return race_message(
        state.token,
        header=state.header_json,
        place=(state.settings.axis, state.settings.at),
        runs=[(run.header_json, run.feed_json(1, EVERYTHING)) for run in runs],
        failures=_failures(state),
        replies=True,
    )


def _wait(wanted: list[tuple[SessionRun, int]], seconds: float) -> None:
    """Wait for the steps that are wanted, but not longer than `seconds` for all of them."""
    until = time.monotonic() + seconds
    for run, steps in wanted:
        run.wait(steps, max(0.0, until - time.monotonic()))


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


def _whole(value: object, default: int) -> int:
    """Return a number the browser sent as a whole one, kept within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return int(max(0, min(_MAX_COUNT, value)))
