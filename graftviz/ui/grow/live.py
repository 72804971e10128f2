"""The fragment around the live player: what the browser asks for, and what it is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.ui.background import EVERYTHING
from graftviz.ui.boundary import bounded
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import PLAYER, Mailbox, json_object
from graftviz.ui.grow.analysis import stability_json
from graftviz.ui.grow.state import GrowState
from graftviz.ui.scheduler import foreground
from graftviz.ui.session_run import SessionRun, whole_number

LEARN_AT_ONCE = 0.25  # seconds a changed run may take to arrive in one piece
LEARN_TO_THE_END = 0.6  # the same, when it is the end that is being looked at
FIRST_STEP = 1.0  # seconds to wait for the first step, and with it the header
MORE_STEPS = 0.1  # seconds to wait for steps that were asked for and are not there yet
# While this many other pages are drawn, pages do not wait for all of a changed run, which is
# computed no further ahead of its player than this, so that everybody has the first steps soon.
CROWD = 2
AHEAD_IN_A_CROWD = 24  # steps
AHEAD = 2  # times what is asked for is computed, so that the next question finds its answer there


@st.fragment
@bounded
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
    mail = PLAYER.mail
    PLAYER.show(
        grow_message(state, run, mail, new_run=new_run),
        {
            "ask": lambda question: setattr(mail, "question", question),
            "beside": lambda wish: setattr(mail, "beside", wish),
            "branch": lambda wish: _branch(state, mail, wish),
            "moved": lambda place: _moved(state, place),
        },
    )
    if run.failure:
        st.error(plain(run.failure))
    mail.sent = run.token
    if mail.wants_page:
        mail.wants_page = False
        st.rerun()


def grow_message(state: GrowState, run: SessionRun, mail: Mailbox, *, new_run: bool) -> str:
    """Return the next message to the player: a new run, or what it has requested."""
    need, question = mail.need, mail.question
    answer = None
    if question.get("run") == run.token:
        answer = run.answer_json(question)
    # Of two messages in a row a browser may show the last one only: an answer goes out with both.
    answer, mail.answer = answer or mail.answer, answer
    # `new_run` stays true when the fragment runs again; a run is introduced once.
    if new_run and mail.sent != run.token:
        is_crowded = foreground.at_work > CROWD
        patience = 0.0 if is_crowded else LEARN_TO_THE_END if _at_end(state) else LEARN_AT_ONCE
        until = time.monotonic() + patience
        run.wait_for_end(patience)
        message = _introduction(state, run, answer, known=mail.sent, until=until)
        if is_crowded:
            run.ration(AHEAD_IN_A_CROWD)
        return message
    if need.get("run") != run.token:
        return player_message(
            run.token,
            answer=answer,
            stability=_new_stability(run, mail),
            late=_ghost_feed(state, mail),
        )
    if need.get("header"):
        run.grant(1)  # a connection that broke may have stopped it before its first step
        return _introduction(state, run, answer)
    first, count = whole_number(need.get("from"), 1), whole_number(need.get("count"), 1)
    run.grant(first - 1 + AHEAD * count)
    run.wait(first - 1 + count, MORE_STEPS)
    return player_message(
        run.token, feed=run.feed_json(first, count), answer=answer, late=_ghost_feed(state, mail)
    )


def _ghost_feed(state: GrowState, mail: Mailbox) -> str | None:
    """Return the requested records of the run shown beside."""
    ghost, wish = state.ghost, mail.beside
    if ghost is None or wish.get("run") != ghost.token:
        return None
    return ghost.feed_json(whole_number(wish.get("from"), 1), EVERYTHING)


def _new_stability(run: SessionRun, mail: Mailbox) -> str | None:
    """Return the stability, unless the last two messages contained the same.

    Of two messages in a row a browser may show the last one only.
    """
    known = stability_json(run)
    before, mail.stability = mail.stability, (mail.stability[1], known)
    return None if before == (known, known) else known


def _introduction(
    state: GrowState, run: SessionRun, answer: str | None, known: str = "", until: float = 0.0
) -> str:
    """Return header and all records so far; the browser may know the run called `known`.

    What there is not yet of the run beside is awaited `until` then (of ``time.monotonic``); the
    browser asks for the rest.
    """
    run.wait(1, FIRST_STEP)
    return player_message(
        run.token,
        header=run.header_json,
        step=state.settings.step,
        feed=run.feed_json(1, EVERYTHING),
        answer=answer,
        ghost=_beside(state.ghost, known, until),
        stability=stability_json(run),
    )


def _beside(ghost: SessionRun | None, known: str, until: float) -> tuple[str, str] | None:
    """Return header and feed of the run to compare with; of a known run only what is missing."""
    if ghost is None:
        return None
    if ghost.has_credit:
        ghost.wait_for_end(max(0.0, until - time.monotonic()))
    if ghost.header_json is None:
        return None
    first = ghost.delivered + 1 if ghost.token == known else 1
    return ghost.header_json, ghost.feed_json(first, EVERYTHING)


def _at_end(state: GrowState) -> bool:
    """Whether the visitor was looking at the last step of the run before."""
    before = state.ghost
    return before is not None and before.ended and 0 < before.computed <= state.settings.step


def _branch(state: GrowState, mail: Mailbox, wish: Mapping[str, Any]) -> None:
    if state.run is not None and wish.get("run") == state.run.token:
        state.begin_branch(whole_number(wish.get("t"), 0))
        mail.wants_page = True


def _moved(state: GrowState, place: Mapping[str, Any]) -> None:
    if state.run is not None and place.get("run") == state.run.token:
        state.look_at(whole_number(place.get("t"), 0))


def player_message(
    run: str,
    *,
    header: str | None = None,
    step: int | None = None,
    feed: str | None = None,
    answer: str | None = None,
    ghost: tuple[str, str] | None = None,
    stability: str | None = None,
    late: str | None = None,
) -> str:
    """Put JSON texts together to the message that ``player/assets/player/mount.js`` reads.

    Parameters
    ----------
    run : str
        Token of the run that is to be shown.
    header : str or None
        None when the browser is believed to have it; it asks if not.
    step : int or None
        Where a new mount point opens.
    feed, answer : str or None
    ghost : pair of str or None
        Header and feed of the run to show beside it.
    stability : str or None
        How often every pair was found, see ``stabilise`` in docs/player.md.
    late : str or None
        Feed of the run that is shown beside already.
    """
    return json_object(
        {
            "run": json.dumps(run),
            "header": header,
            "step": None if step is None else str(step),
            "feed": feed,
            "answer": answer,
            "ghost": f'{{"header":{ghost[0]},"feed":{ghost[1]}}}' if ghost else None,
            "stability": stability,
            "late": late,
        }
    )
