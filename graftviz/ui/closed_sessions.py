"""Sessions whose page was closed: what Streamlit keeps of them ends when their time is over.

Streamlit keeps such a session for ``server.disconnectedSessionTTL``, in case its page comes back.
But it looks for those whose time is over only when yet another page is closed: after the last one
nobody would, and their tables, files and widgets would stay for good. And the loop that sends its
messages holds on to the session it came to last, ended or not, until another page is opened.
"""

from __future__ import annotations

import asyncio
import gc
import logging

from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession

from graftviz.memory import give_back
from graftviz.ui.references import logged

LOOK_SECONDS = 30.0
log = logging.getLogger(__name__)


async def end_closed_sessions(every: float = LOOK_SECONDS) -> None:
    """End sessions whose time is over, every so many seconds; to be run on the event loop."""
    while True:
        await asyncio.sleep(every)
        with logged(log, "Closed sessions could not be ended"):
            if end_those_whose_time_is_over():
                await asyncio.to_thread(_collect)


def end_those_whose_time_is_over() -> int:
    """End the sessions that Streamlit keeps beyond their time; return how many those were.

    Only for the thread of the event loop, where sessions come and go. Streamlit has no public name
    for it: without the ones used here, they end when another page is closed, as they would anyway.
    """
    try:
        expire = get_instance()._session_mgr._session_storage._cache.expire  # type: ignore[attr-defined]
    except AttributeError:
        return 0
    over = expire()
    for _, kept in over:
        kept.session.shutdown()
        _empty(kept.session)
    return len(over)


def _empty(session: AppSession) -> None:
    """Let go of the state of an ended session, and of what its fragments were made with.

    Streamlit has no public names for these. Cleared, they would keep what widgets call.
    """
    for name in ("_session_state", "_fragment_storage"):
        if (kept := getattr(session, name, None)) is not None:
            setattr(session, name, type(kept)())


def _collect() -> None:
    gc.collect()
    give_back()
