"""Access to Streamlit's sessions and uploaded files, which needs private names of Streamlit.

Everything here is for the thread of the event loop, where sessions come and go.
`tests/test_ui_closed_sessions.py` fails when a name is no longer there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

import streamlit as st
from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from graftviz.ui.plain import plain
from graftviz.ui.upload_accounting import LEAST_FILE

REPEAT_SECONDS = 1.0  # at least, between two runs of a page that show why uploads were refused
_refusals: dict[str, str] = {}


class StreamlitFiles:
    """Uploaded files, as :class:`~graftviz.ui.upload_accounting.UploadAccounts` sees them."""

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
        """Let the session's page run, which calls :func:`show_upload_refusal`.

        The page's uploader shows the status only. A client that repeats refused uploads causes at
        most one run in `REPEAT_SECONDS`.
        """
        found = get_instance().get_app_session(session)
        now = time.monotonic()
        self._shown = {one: at for one, at in self._shown.items() if now - at < REPEAT_SECONDS}
        if found is None or session in self._shown:
            return
        self._shown[session] = now
        _refusals[session] = sentence
        for closed in [one for one in _refusals if not self.is_connected(one)]:
            del _refusals[closed]
        found.request_rerun(found._client_state)


def show_upload_refusal() -> None:
    """Show why the last upload of this session was refused, once.

    The place for it is there in every run: otherwise uploaders below would move, and their uploads
    under way be lost.
    """
    place = st.empty()
    context = get_script_run_ctx()
    sentence = _refusals.pop(context.session_id, "") if context else ""
    if sentence:
        place.error(plain(sentence))


def share_uploaded_bytes() -> None:
    """Let copies of an uploaded file share its bytes.

    Streamlit copies the value of every widget in every run of a page, uploaded files included.
    """
    UploadedFile.__deepcopy__ = _shared_copy  # type: ignore[attr-defined]


def _shared_copy(file: UploadedFile, _memo: object) -> UploadedFile:
    record = UploadedFileRec(file.file_id, file.name, file.type, file.getvalue())
    return UploadedFile(record, file._file_urls)


def end_expired_sessions() -> int:
    """End the sessions that Streamlit keeps beyond their time; return how many those were.

    Streamlit itself looks for them only when another page is closed, and then drops them without
    ending them.
    """
    expired = get_instance()._session_mgr._session_storage._cache.expire()  # type: ignore[attr-defined]
    for _, info in expired:
        info.session.shutdown()
        _clear(info.session)
    return len(expired)


def _clear(session: AppSession) -> None:
    """Replace the state of an ended session: clearing it would keep the callbacks of widgets."""
    for name in ("_session_state", "_fragment_storage"):
        setattr(session, name, type(getattr(session, name))())


class UnusedFiles:
    """Uploaded files that no widget of their session refers to, and since when.

    These are files sent to the endpoint by other clients than the page, files of widgets that are
    gone, and files of sessions that have ended.

    Parameters
    ----------
    is_uploading : callable
        Return whether an upload of a session is under way: widgets for several files refer to them
        when the last has arrived.
    clock : callable
        Return the time in seconds.
    """

    def __init__(
        self, is_uploading: Callable[[str], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_uploading = is_uploading
        self._clock = clock
        self._since: dict[tuple[str, str], float] = {}

    def release(self, seconds: float) -> int:
        """Remove files that have been unused for so long; return how many those were.

        Files of sessions that no longer exist are removed at once. Others must have been found
        unused by an earlier call: a page refers to a file only after it was stored.
        """
        files = _files()
        sessions = {info.session.id: info.session for info in _session_infos()}
        now = self._clock()
        since: dict[tuple[str, str], float] = {}
        removed = 0
        for session, stored in list(files.file_storage.items()):
            if session not in sessions:
                files.remove_session_files(session)
                removed += len(stored)
                continue
            if not stored or self._is_uploading(session):
                continue
            used = _used_files(sessions[session])
            if used is None:
                continue
            for file in [file for file in stored if file not in used]:
                first = self._since.get((session, file))
                if first is not None and now - first >= seconds:
                    files.remove_file(session, file)
                    removed += 1
                else:
                    since[session, file] = now if first is None else first
        self._since = since
        return removed


def _used_files(session: AppSession) -> set[str] | None:
    """Return the ids of files that widgets refer to; None while a script changes the widgets."""
    try:
        states = session.session_state.get_widget_states()
    except RuntimeError:
        return None
    return {
        info.file_id
        for state in states
        for info in state.file_uploader_state_value.uploaded_file_info
    }


def _session_infos() -> Iterable[SessionInfo]:
    """Return what Streamlit keeps of connected sessions, and of those that may come back."""
    return get_instance()._session_mgr.list_sessions()


def _files() -> MemoryUploadedFileManager:
    return get_instance().uploaded_file_mgr  # type: ignore[return-value]


def _size(file: UploadedFileRec) -> int:
    """Return the bytes of a record; names and kinds come from clients, too, and may be long."""
    return max(LEAST_FILE, sum(map(sys.getsizeof, file)))
