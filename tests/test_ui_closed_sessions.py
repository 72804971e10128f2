"""Expiry of closed sessions and removal of unused uploads."""

from __future__ import annotations

import asyncio
import copy
import gc
import socket
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from unittest.mock import Mock
from weakref import ReferenceType, ref

import pytest
from streamlit import delta_generator
from streamlit.elements.lib.file_uploader_utils import enforce_filename_restriction
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from graftviz.serving.guard import LEAST_FILE
from graftviz.ui import boundary, server
from graftviz.ui.server import announced
from graftviz.ui.streamlit_runtime import (
    StreamlitFiles,
    UnusedFiles,
    end_closed_sessions,
    end_expired_sessions,
    replace_nul_in_names,
    share_uploaded_bytes,
    skip_use_warning,
)

EXPIRY = 0.2  # seconds


def never(_session: str) -> bool:
    """Return False: no upload is in progress."""
    return False


@pytest.fixture
def uploads() -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/uploads")


@pytest.fixture
def runtime(uploads: MemoryUploadedFileManager) -> Iterator[Runtime]:
    """Runtime of Streamlit with a short expiry of sessions."""
    yield Runtime(
        RuntimeConfig(
            script_path="app.py",
            media_file_storage=MemoryMediaFileStorage("/media"),
            uploaded_file_manager=uploads,
            session_storage=MemorySessionStorage(ttl_seconds=EXPIRY),
        )
    )
    Runtime._instance = None


def test_closed_session_ends_without_another_closing(
    runtime: Runtime, uploads: MemoryUploadedFileManager
) -> None:
    async def visit() -> None:
        await runtime.start()
        one, other = (runtime.connect_session(Mock(), {}) for _ in range(2))
        for session in (one, other):
            uploads.add_file(session, UploadedFileRec("1", "table.csv", "text/csv", b"a,b"))
        runtime.disconnect_session(one)
        assert end_expired_sessions() == 0
        assert uploads.get_files(one, ["1"]), "the session ended before its expiry"
        ending = asyncio.create_task(end_closed_sessions(never, 0.05))
        async with asyncio.timeout(20):
            while uploads.get_files(one, ["1"]):
                await asyncio.sleep(0.05)
        assert runtime.is_active_session(other)
        assert uploads.get_files(other, ["1"])
        ending.cancel()
        runtime.stop()
        await runtime.stopped

    asyncio.run(visit())


def test_ended_session_releases_its_objects(runtime: Runtime) -> None:
    class Payload:
        """Table or a result computed from it."""

    async def visit() -> list[ReferenceType[Payload]]:
        await runtime.start()
        session = runtime.connect_session(Mock(), {})
        inside = runtime.get_app_session(session)
        assert inside is not None
        runtime._enqueued_some_message()
        await asyncio.sleep(0.1)  # the loop that sends messages reaches the session
        table, model = Payload(), Payload()
        inside.session_state["table"] = table
        inside._fragment_storage.register("player", lambda: model)
        del inside
        runtime.disconnect_session(session)
        await asyncio.sleep(2 * EXPIRY)
        assert end_expired_sessions() == 1
        return [ref(table), ref(model)]

    async def serve() -> None:
        references = await visit()
        gc.collect()
        assert [reference() for reference in references] == [None, None]
        runtime.stop()
        await runtime.stopped

    asyncio.run(serve())


def record(name: str, size: int = 3) -> UploadedFileRec:
    return UploadedFileRec(name, f"{name}.csv", "text/csv", bytes(size))


def show(runtime: Runtime, session: str, file: str) -> None:
    """Let a widget of the session refer to a file, as by a message of its page."""
    inside = runtime.get_app_session(session)
    assert inside is not None
    states = WidgetStates()
    state = states.widgets.add(id="uploader")
    state.file_uploader_state_value.uploaded_file_info.add(file_id=file)
    inside.session_state.set_widgets_from_proto(states)


def with_runtime(runtime: Runtime, test: Callable[[], None]) -> None:
    async def serve() -> None:
        await runtime.start()
        test()
        runtime.stop()
        await runtime.stopped

    asyncio.run(serve())


def test_only_files_without_widget_are_removed(
    runtime: Runtime, uploads: MemoryUploadedFileManager
) -> None:
    def test() -> None:
        now = 0.0
        unused = UnusedFiles(never, lambda: now)
        session = runtime.connect_session(Mock(), {})
        for name in ("shown", "sent"):
            uploads.add_file(session, record(name))
        show(runtime, session, "shown")
        removed = {}
        for now in (0.0, 30.0, 59.0, 60.0, 500.0):
            removed[now] = unused.release(60.0)
        assert removed == {0.0: 0, 30.0: 0, 59.0: 0, 60.0: 1, 500.0: 0}
        assert [file.file_id for file in uploads.get_files(session, ["shown", "sent"])] == ["shown"]
        show(runtime, session, "another")
        assert unused.release(0.0) == 0, "removed although it may be shown again"
        assert unused.release(0.0) == 1
        assert StreamlitFiles().stored_bytes() == {session: 0}

    with_runtime(runtime, test)


def test_files_are_kept_during_uploads_of_their_session(
    runtime: Runtime, uploads: MemoryUploadedFileManager
) -> None:
    def test() -> None:
        under_way: set[str] = set()
        unused = UnusedFiles(under_way.__contains__, lambda: 0.0)
        session = runtime.connect_session(Mock(), {})
        under_way.add(session)
        uploads.add_file(session, record("first"))
        assert [unused.release(0.0) for _ in range(3)] == [0, 0, 0]
        under_way.clear()
        assert [unused.release(0.0) for _ in range(3)] == [0, 1, 0]

    with_runtime(runtime, test)


def test_files_of_sessions_that_no_longer_exist_are_removed_at_once(
    runtime: Runtime, uploads: MemoryUploadedFileManager
) -> None:
    def test() -> None:
        uploads.add_file("gone", record("one"))
        uploads.add_file("gone", record("other"))
        assert not StreamlitFiles().is_connected("gone")
        assert StreamlitFiles().stored_bytes() == {"gone": 2 * LEAST_FILE}
        assert UnusedFiles(never).release(60.0) == 2
        assert StreamlitFiles().stored_bytes() == {}

    with_runtime(runtime, test)


def test_refusal_reruns_page_once_and_becomes_its_notice(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[object] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda _, state: runs.append(state))
    pending: list[str] = []

    def test() -> None:
        files = StreamlitFiles()
        files.show_refusal("gone", "Too late.")
        session = runtime.connect_session(Mock(), {})
        inside = runtime.get_app_session(session)
        notices = inside.session_state[boundary._NOTICES] = boundary._Notices()
        for _ in range(5):
            files.show_refusal(session, "Too *large*.")
        pending.extend(notices.take_pending())

    with_runtime(runtime, test)
    assert len(runs) == 1
    assert isinstance(runs[0], ClientState), "the rerun loses the address of the page"
    assert pending == ["Too *large*."]


def test_server_checks_sessions_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    async def looking(_is_uploading: object) -> None:
        events.append("looking")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("over")

    async def serve() -> None:
        async with announced(None):
            await asyncio.sleep(0)
            events.append("serving")
        await asyncio.sleep(0)

    monkeypatch.setattr(server, "end_closed_sessions", looking)
    threads = SimpleNamespace(
        start=lambda: events.append("threads"), close=lambda: events.append("closed")
    )
    monkeypatch.setattr(server, "pages_start", lambda: threads)
    monkeypatch.setattr(server.sys, "setswitchinterval", lambda _: None)
    monkeypatch.setattr(server, "configure_allocator", lambda: events.append("memory"))
    monkeypatch.setattr(server.config, "get_option", {"server.headless": True}.get)
    monkeypatch.setattr(server, "where", lambda *_: "http://here")
    asyncio.run(serve())
    assert events[0] == "memory"
    assert events[2:] == ["looking", "serving", "closed", "over"]
    assert events[1] == "threads", "no thread of its own was started"


@pytest.mark.skipif(sys.platform == "win32", reason="the listening socket cannot be found")
def test_sockets_send_without_delay() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server.send_at_once()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_streamlit_does_not_check_for_interactive_python(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(delta_generator, "_use_warning_has_been_displayed", False)
    monkeypatch.setattr(delta_generator.env_util, "is_repl", lambda: bool(looks.append("looks")))
    skip_use_warning()
    delta_generator._maybe_print_use_warning()
    assert not looks
    delta_generator._use_warning_has_been_displayed = False
    delta_generator._maybe_print_use_warning()
    assert looks, "the patched names are not used by Streamlit"


# Copies of uploaded files, made by Streamlit in every run of a page.


def test_copies_of_an_uploaded_file_share_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UploadedFile, "__deepcopy__", None, raising=False)
    share_uploaded_bytes()
    record = UploadedFileRec("id", "a.csv", "text/csv", b"a,b\n0,1\n")
    file = UploadedFile(record, FileURLs(upload_url="u", delete_url="d"))
    file.seek(3)
    copied = copy.deepcopy(file)
    assert copied.getvalue() is record.data
    assert copied == file
    assert (copied.name, copied.type, copied.size) == (file.name, file.type, file.size)
    assert copied._file_urls == file._file_urls
    assert copied.read() == record.data, "the copy is not at its start"


def test_nul_in_the_name_of_an_uploaded_file_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    replace_nul_in_names()
    files = MemoryUploadedFileManager("upload")
    files.add_file("session", UploadedFileRec("id", "a\0b.csv", "text/csv", b"a,b\n0,1\n"))
    (stored,) = files.get_files("session", ["id"])
    enforce_filename_restriction(stored.name, [".csv"])
    assert stored.name == "a\ufffdb.csv"
