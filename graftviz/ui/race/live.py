"""The fragment around the race: what the browser asks for, and what it is sent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.racing import AXES
from graftviz.ui.boundary import bounded
from graftviz.ui.frame.view import RACE, Mailbox, json_object
from graftviz.ui.race.state import RaceState
from graftviz.ui.race.url import END
from graftviz.ui.session_run import SessionRun, everything_so_far, requested_feeds


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
    mail = RACE.mail
    RACE.show(
        _message(state, mail, new_race=new_race),
        {"moved": lambda place: _moved(state, place)},
    )
    mail.sent = state.token


def _message(state: RaceState, mail: Mailbox, *, new_race: bool) -> str:
    need = mail.need
    # A fragment sees its arguments again and again; a race is new once.
    if new_race and mail.sent != state.token:
        return _introduction(state)
    if need.get("race") != state.token:
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


def _place_json(axis: str, at: float) -> str:
    return json.dumps({"axis": axis, "at": END if math.isinf(at) else at})


def race_message(
    race: str,
    *,
    header: str | None = None,
    place: tuple[str, float] | None = None,
    feeds: str = "[]",
    failures: Mapping[str, str] | None = None,
    replies: bool = False,
) -> str:
    """Put JSON texts together to the message that ``player/assets/race/mount.js`` reads.

    Parameters
    ----------
    race : str
        Token of the race that is to be shown.
    header : str or None
        None when the browser is believed to have it; it asks if not.
    place : (str, float) or None
        Axis and position where a new mount point opens.
    feeds : str
        What is known of runs after their first step, and feeds of them.
    failures : mapping
        Token of a run → why it stopped before its end.
    replies : bool
        Whether this answers a `need`.
    """
    return json_object(
        {
            "race": json.dumps(race),
            "header": header,
            "place": None if place is None else _place_json(*place),
            "feeds": feeds,
            "failures": json.dumps(dict(failures or {}), ensure_ascii=False),
            "replies": json.dumps(replies),
        }
    )
