"""Access to Streamlit's sessions and uploaded files, which needs private names of Streamlit.

Everything here is for the thread of the event loop, where sessions come and go.
`tests/test_ui_closed_sessions.py` fails when a name is no longer there.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from streamlit import delta_generator
from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from graftviz.errors import InputError
from graftviz.serving.guard import LEAST_FILE
from graftviz.serving.limits import limits
from graftviz.serving.logs import logged, report_left_out
from graftviz.ui.boundary import add_notice
from graftviz.ui.visits import free_memory, visits

LOOK_SECONDS = 2.0
log = logging.getLogger(__name__)

REPEAT_SECONDS = 1.0  # at least, between two runs of a page that show why uploads were refused


class StreamlitFiles:
    """Uploaded files, as :class:`~graftviz.serving.guard.UploadAccounts` sees them."""

    def __init__(self) -> None:
        self._shown: dict[str, float] = {}

    def is_connected(self, session: str) -> bool:
        """Return whether a page is connected to the session."""
        return get_instance().is_active_session(session)

    def stored_bytes(self) -> dict[str, int]:
        """Return the bytes of stored files by session."""
        stored = list(_files().file_storage.items())
        return {session: sum(map(_size, list(files.values()))) for session, files in stored}

    def show_refusal(self, session: str, sentence: str) -> None:
        """Show a notice with a run of the session's page, whose uploader shows the status only.

        A client that repeats refused uploads causes at most one run in `REPEAT_SECONDS`.
        """
        now = time.monotonic()
        self._shown = {one: at for one, at in self._shown.items() if now - at < REPEAT_SECONDS}
        found = get_instance().get_app_session(session)
        if found is not None and session not in self._shown:
            self._shown[session] = now
            add_notice(found.session_state, sentence)
            found.request_rerun(found._client_state)


def share_uploaded_bytes() -> None:
    """Let copies of an uploaded file share its bytes.

    Streamlit copies the value of every widget in every run of a page, uploaded files included.
    """
    UploadedFile.__deepcopy__ = _shared_copy  # type: ignore[attr-defined]


def replace_nul_in_names() -> None:
    """Replace NUL in the names of uploaded files, for which Streamlit would end the page."""
    add = MemoryUploadedFileManager.add_file

    def add_file(self: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
        add(self, session_id, file._replace(name=file.name.replace("\0", "\ufffd")))

    MemoryUploadedFileManager.add_file = add_file  # type: ignore[method-assign]


def _shared_copy(file: UploadedFile, _memo: object) -> UploadedFile:
    record = UploadedFileRec(file.file_id, file.name, file.type, file.getvalue())
    return UploadedFile(record, file._file_urls)


def end_expired_sessions() -> int:
    """End the expired sessions that Streamlit still keeps; return their number.

    Streamlit itself looks for them only when another page is closed, and then drops them without
    ending them.
    """
    expired = _sessions()._session_storage._cache.expire()
    for _, info in expired:
        info.session.shutdown()
        # Replaced, as clearing them would keep the callbacks of widgets.
        for name in ("_session_state", "_fragment_storage"):
            setattr(info.session, name, type(getattr(info.session, name))())
    return len(expired)


@dataclass
class UnusedFiles:
    """Uploaded files that no widget of their session refers to, and since when.

    These are files sent to the endpoint by other clients than the page, files of removed
    widgets, and files of sessions that have ended.

    Parameters
    ----------
    is_uploading : callable
        Return whether an upload of a session is under way: widgets for several files refer to them
        when the last has arrived.
    clock : callable
        Return the time in seconds.
    since : dict
        Session and file → when the file was first found unused.
    """

    is_uploading: Callable[[str], bool]
    clock: Callable[[], float] = time.monotonic
    since: dict[tuple[str, str], float] = field(default_factory=dict)

    def release(self, seconds: float) -> int:
        """Remove files that have been unused for `seconds`; return their number.

        Files of sessions that no longer exist are removed at once. Others must have been found
        unused by an earlier call: a page refers to a file only after it was stored.
        """
        files = _files()
        sessions = {info.session.id: info.session for info in _sessions().list_sessions()}
        now = self.clock()
        since: dict[tuple[str, str], float] = {}
        removed = 0
        for session, stored in list(files.file_storage.items()):
            if session not in sessions:
                files.remove_session_files(session)
                removed += len(stored)
            elif not self.is_uploading(session):
                unused = [(session, file) for file in _unused_files(sessions[session], stored)]
                since |= {file: self.since.get(file, now) for file in unused}
        due = [file for file in self.since.keys() & since if now - since[file] >= seconds]
        for session, file in due:
            files.remove_file(session, file)
            del since[session, file]
        self.since = since
        return removed + len(due)


def _unused_files(session: AppSession, files: Collection[str]) -> set[str]:
    """Return the files to which no widget refers; none while a script changes the widgets."""
    try:
        states = session.session_state.get_widget_states()
    except RuntimeError:
        return set()
    infos = (state.file_uploader_state_value.uploaded_file_info for state in states)
    return set(files) - {info.file_id for uploaded in infos for info in uploaded}


def _sessions() -> Any:
    """Return Streamlit's manager of connected sessions, and of those that may come back."""
    return get_instance()._session_mgr


def _files() -> MemoryUploadedFileManager:
    return get_instance().uploaded_file_mgr  # type: ignore[return-value]


def _size(file: UploadedFileRec) -> int:
    """Return the bytes of a record; names and kinds come from clients, too, and may be long."""
    return max(LEAST_FILE, sum(map(sys.getsizeof, file)))


def leave_pages_to_app() -> None:
    """Let only app.py define the pages, also when another page is opened first.

    Without this, Streamlit takes the files in the folder `pages` for the pages of the app.
    """
    PagesManager.uses_pages_directory = False


def skip_use_warning() -> None:
    """Skip Streamlit's check for an interactive Python, half of the time of the first page.

    It reads the source of every function that is running.
    """
    delta_generator._use_warning_has_been_displayed = True


async def end_closed_sessions(
    is_uploading: Callable[[str], bool], every: float = LOOK_SECONDS
) -> None:
    """End expired sessions, and remove unused uploads and runs, every so many seconds.

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
        # If the limits are invalid, every page shows the error, and runs and uploads are disabled.
        with logged(log, "Closed sessions could not be ended"), suppress(InputError):
            if end_expired_sessions() + unused.release(limits().gone_seconds):
                await asyncio.to_thread(free_memory)
            await asyncio.to_thread(visits().forget)
