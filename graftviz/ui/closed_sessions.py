"""Regular look at sessions: those whose time is over end, and unused uploads are removed.

Streamlit keeps a closed session for ``server.disconnectedSessionTTL``, in case its page comes
back. But it looks for expired ones only when yet another page is closed: the tables, files and
widgets of the last one would stay. And the loop that sends its messages refers to the session it
served last until another page is opened.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable

from graftviz.errors import InputError
from graftviz.memory import release_freed_memory
from graftviz.ui.foreign_log import report_left_out
from graftviz.ui.limits import Limits, limits
from graftviz.ui.references import logged
from graftviz.ui.streamlit_runtime import UnusedFiles, end_expired_sessions

LOOK_SECONDS = 2.0
log = logging.getLogger(__name__)


async def end_closed_sessions(
    is_uploading: Callable[[str], bool], every: float = LOOK_SECONDS
) -> None:
    """End expired sessions and remove unused uploads, every so many seconds.

    To be run on the event loop.

    Parameters
    ----------
    is_uploading : callable
        Return whether an upload of a session is under way.
    every : float
        Seconds.
    """
    unused = UnusedFiles(is_uploading)
    while True:
        await asyncio.sleep(every)
        report_left_out()
        with logged(log, "Closed sessions could not be ended"):
            if end_expired_sessions() + unused.release(_unused_seconds()):
                await asyncio.to_thread(_collect)


def _unused_seconds() -> float:
    try:
        return limits().gone_seconds
    except InputError:  # every page says what is wrong
        return Limits().gone_seconds


def _collect() -> None:
    gc.collect()
    release_freed_memory()
