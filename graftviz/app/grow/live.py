"""Fragment of the player on the Grow page: messages from and to the browser."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.app.boundary import bounded
from graftviz.app.grow.analysis import stability_json
from graftviz.app.grow.options import option_names
from graftviz.app.grow.state import GrowState
from graftviz.app.jobs import EVERYTHING
from graftviz.app.runs import SessionRun
from graftviz.app.view import PLAYER, Mailbox
from graftviz.reports.replay.plain import json_object, share_of, whole_number
from graftviz.utils.wording import plain

LEARN_AT_ONCE = 0.25  # seconds to wait for a complete changed run
LEARN_TO_THE_END = 0.6  # the same if the end is shown
FIRST_STEP = 1.0  # seconds to wait for the first step, and with it the header
MORE_STEPS = 0.1  # seconds to wait for requested steps that are not there yet
ENOUGH = 1 / 3  # share of the requested steps that is sent without waiting for the others
AHEAD = 2  # multiple of the request that is computed, so that the next one is answered at once


@st.fragment
@bounded
def live_player(state: GrowState) -> None:
    """Show the current run; messages of the player rerun only this fragment."""
    run = state.run
    if run is None:
        return
    mail = PLAYER.mail

    def branch(wish: Mapping[str, Any]) -> bool:
        is_of_run = wish.get("run") == run.token
        if is_of_run:
            state.begin_branch(whole_number(wish.get("t"), 0))
        return is_of_run

    def best(wish: Mapping[str, Any]) -> bool:
        may_compare = wish.get("run") == run.token and state.can_compare
        if may_compare:
            state.choose("compare", True)
        return may_compare

    def alpha(wish: Mapping[str, Any]) -> bool:
        value = share_of(wish.get("value"))
        may_change = wish.get("run") == run.token and "alpha" in option_names(state.choice.learner)
        if may_change and value is not None:
            state.choose("alpha", value)
        return may_change

    def moved(place: Mapping[str, Any]) -> None:
        if place.get("run") == run.token:
            state.values["step"] = whole_number(place.get("t"), 0)

    PLAYER.show(
        lambda: grow_message(state, run, mail),
        {
            "ask": lambda question: setattr(mail, "question", question),
            "ghost": lambda need: setattr(mail, "ghost_need", need),
            "branch": branch,
            "best": best,
            "alpha": alpha,
            "moved": moved,
        },
        lambda: run.ended and state.check_step(run.computed),
    )
    if run.failure:
        st.error(plain(run.failure))


def grow_message(state: GrowState, run: SessionRun, mail: Mailbox) -> str:
    """Return, as JSON, the next message to the player; its parts are in docs/player.md."""
    need = mail.need if mail.need.get("run") == run.token else None
    answer = run.answer_json(mail.question) if mail.question.get("run") == run.token else None
    # Of two messages in a row a browser may show the last one only: an answer goes out with both.
    answer, mail.answer = answer or mail.answer, answer
    message: dict[str, str | None] = {"run": json.dumps(run.token), "answer": answer}
    is_new = mail.sent != run.token
    if is_new or (need is not None and need.get("header")):
        until = time.monotonic() + (_patience(state) if is_new else 0.0)
        run.grant(1)  # a connection that broke may have stopped it before its first step
        run.wait_until(until)
        message |= _introduction(state, run, mail.sent if is_new else "", until)
        if message["header"] is None:
            # Streamlit does not deliver a message that equals the previous one; the view requests
            # the header again with each that it receives.
            mail.repeats += 1
            message["repeat"] = str(mail.repeats)
    elif need is None:
        message |= {"stability": _new_stability(run, mail), "ghost_feed": _ghost_feed(state, mail)}
    else:
        first, count = whole_number(need.get("from"), 1), whole_number(need.get("count"), 1)
        run.grant(first - 1 + AHEAD * count)
        run.wait(first - 1 + math.ceil(ENOUGH * count), MORE_STEPS)
        message |= {"feed": run.feed_json(first, count), "ghost_feed": _ghost_feed(state, mail)}
    mail.sent = run.token
    return json_object(message)


def _ghost_feed(state: GrowState, mail: Mailbox) -> str | None:
    """Return the requested records of the ghost."""
    ghost, need = state.ghost, mail.ghost_need
    if ghost is None or need.get("run") != ghost.token:
        return None
    return ghost.feed_json(whole_number(need.get("from"), 1), EVERYTHING)


def _new_stability(run: SessionRun, mail: Mailbox) -> str | None:
    """Return the stability, unless the last two messages contained the same.

    Of two messages in a row a browser may show the last one only.
    """
    found = stability_json(run)
    before, mail.stability = mail.stability, (mail.stability[1], found)
    return None if before == (found, found) else found


def _introduction(
    state: GrowState, run: SessionRun, sent: str, until: float
) -> dict[str, str | None]:
    """Return header and all records so far of a run, and of its ghost.

    Parameters
    ----------
    state : GrowState
    run : SessionRun
    sent : str
        Token of the run that the browser has; of this one only new records are sent.
    until : float
        Time (of ``time.monotonic``) until which the end of the ghost is awaited.
    """
    run.wait(1, FIRST_STEP)
    return {
        "header": run.header_json,
        "step": json.dumps(state.values["step"]),
        "feed": run.feed_json(1, EVERYTHING),
        "ghost": _introduced_ghost(state.ghost, sent, until),
        "stability": stability_json(run),
    }


def _introduced_ghost(ghost: SessionRun | None, sent: str, until: float) -> str | None:
    """Return header and feed of the run to compare with."""
    if ghost is None:
        return None
    if ghost.has_credit:
        ghost.wait_until(until)
    if ghost.header_json is None:
        return None
    first = ghost.delivered + 1 if ghost.token == sent else 1
    return json_object({"header": ghost.header_json, "feed": ghost.feed_json(first, EVERYTHING)})


def _patience(state: GrowState) -> float:
    """Return how long a changed run is awaited: longer if the end of the previous was shown."""
    before = state.ghost
    if before is not None and before.ended and 0 < before.computed <= state.values["step"]:
        return LEARN_TO_THE_END
    return LEARN_AT_ONCE
