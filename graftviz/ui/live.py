"""The fragment around the live player: what the browser asks for, and what it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.ui.grow_state import GrowState
from graftviz.ui.player_component import player_message, show_player
from graftviz.ui.session_run import EVERYTHING, SessionRun

LEARN_AT_ONCE = 0.4  # seconds a changed run may take to arrive in one piece
FIRST_STEP = 1.0  # seconds to wait for the first step, and with it the header
NEXT_STEP = 0.25  # seconds to wait when nothing that was asked for is there yet
_MAX_COUNT = 100_000


class Mailbox:
    """What the browser sent since the player was last shown."""

    def __init__(self) -> None:
        self.new_run = False
        self.need: Mapping[str, Any] | None = None
        self.question: Mapping[str, Any] | None = None
        self.wants_page = False


@st.fragment
def live_player(state: GrowState, *, new_run: bool) -> None:
    """Show the run of `state`; messages of the player run this again, and nothing else of the page.

    Parameters
    ----------
    state : GrowState
    new_run : bool
        Whether the browser cannot have this run yet.
    """
    run = state.run
    if run is None:
        return
    mail = _mailbox()
    show_player(
        _message(state, run, mail, is_first=_first_time(run, new_run)),
        on_need=lambda need: setattr(mail, "need", need),
        on_ask=lambda question: setattr(mail, "question", question),
        on_branch=lambda wish: _branch(state, mail, wish),
    )
    if run.failure:
        st.error(run.failure)
    mail.need = mail.question = None
    if mail.wants_page:
        mail.wants_page = False
        st.rerun()


def _mailbox() -> Mailbox:
    mailbox: Mailbox = st.session_state.setdefault("grow.mail", Mailbox())
    return mailbox


def _first_time(run: SessionRun, new_run: bool) -> bool:
    """Whether nothing of a run was sent yet; a fragment sees its arguments again and again."""
    is_first = new_run and st.session_state.get("grow.sent") != run.token
    st.session_state["grow.sent"] = run.token
    return is_first


def _message(state: GrowState, run: SessionRun, mail: Mailbox, *, is_first: bool) -> str:
    need, question = mail.need, mail.question
    answer = None
    if question is not None and question.get("run") == run.token:
        answer = run.answer_json({key: value for key, value in question.items() if key != "run"})
    if is_first:
        run.wait(EVERYTHING, LEARN_AT_ONCE)
        return _introduction(state, run, answer)
    if need is None or need.get("run") != run.token:
        return player_message(run.token, answer=answer)
    if need.get("header"):
        return _introduction(state, run, answer)
    first, count = _whole(need.get("from"), 1), _whole(need.get("count"), 1)
    run.grant(first - 1 + count)
    run.wait(first, NEXT_STEP)
    return player_message(run.token, feed=run.feed_json(first, count), answer=answer)


def _introduction(state: GrowState, run: SessionRun, answer: str | None) -> str:
    """Return header and all records so far, for a browser that knows nothing of this run."""
    run.wait(1, FIRST_STEP)
    ghost = state.ghost
    beside = None
    if ghost is not None:
        if ghost.has_credit:
            ghost.wait(EVERYTHING, LEARN_AT_ONCE)
        if ghost.header_json is not None:
            beside = (ghost.header_json, ghost.feed_json(1, EVERYTHING))
    return player_message(
        run.token,
        header=run.header_json,
        step=state.settings.step,
        feed=run.feed_json(1, EVERYTHING),
        answer=answer,
        ghost=beside,
    )


def _branch(state: GrowState, mail: Mailbox, wish: Mapping[str, Any]) -> None:
    if state.run is not None and wish.get("run") == state.run.token:
        state.begin_branch(_whole(wish.get("t"), 0))
        mail.wants_page = True


def _whole(value: object, default: int) -> int:
    """Return a number the browser sent as a whole one, kept within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return int(max(0, min(_MAX_COUNT, value)))
