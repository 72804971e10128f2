"""Closed sessions end when their time is over, and uploads that nothing refers to are removed."""

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

KEPT = 0.2  # seconds


def never(_session: str) -> bool:
    """Answer that no upload is under way."""
    return False


@pytest.fixture
def uploads() -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/uploads")


@pytest.fixture
def runtime(uploads: MemoryUploadedFileManager) -> Iterator[Runtime]:
    """Streamlit as its server makes it, but for how long it keeps a session."""
    yield Runtime(
        RuntimeConfig(
            script_path="app.py",
            media_file_storage=MemoryMediaFileStorage("/media"),
            uploaded_file_manager=uploads,
            session_storage=MemorySessionStorage(ttl_seconds=KEPT),
        )
    )
    Runtime._instance = None


def test_the_last_one_ends_though_nobody_else_leaves(
    runtime: Runtime, uploads: MemoryUploadedFileManager
) -> None:
    async def visit() -> None:
        await runtime.start()
        one, other = (runtime.connect_session(Mock(), {}) for _ in range(2))
        for session in (one, other):
            uploads.add_file(session, UploadedFileRec("1", "table.csv", "text/csv", b"a,b"))
        runtime.disconnect_session(one)
        assert end_expired_sessions() == 0
        assert uploads.get_files(one, ["1"]), "a page may come back"
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


def test_the_last_one_leaves_nothing_behind(runtime: Runtime) -> None:
    class Brought:
        """A table, say, or what is computed of it."""

    async def visit() -> list[ReferenceType[Brought]]:
        await runtime.start()
        session = runtime.connect_session(Mock(), {})
        inside = runtime.get_app_session(session)
        assert inside is not None
        runtime._enqueued_some_message()
        await asyncio.sleep(0.1)  # the loop that sends messages comes to it
        table, model = Brought(), Brought()
        inside.session_state["table"] = table
        inside._fragment_storage.register("player", lambda: model)
        del inside
        runtime.disconnect_session(session)
        await asyncio.sleep(2 * KEPT)
        assert end_expired_sessions() == 1
        return [ref(table), ref(model)]

    async def serve() -> None:
        brought = await visit()
        gc.collect()
        assert [one() for one in brought] == [None, None]
        runtime.stop()
        await runtime.stopped

    asyncio.run(serve())


def record(name: str, size: int = 3) -> UploadedFileRec:
    return UploadedFileRec(name, f"{name}.csv", "text/csv", bytes(size))


def show(runtime: Runtime, session: str, file: str) -> None:
    """Let a widget of the session refer to a file, as a message of its page does."""
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


def test_only_files_that_no_widget_refers_to_are_removed(
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
        assert unused.release(0.0) == 0, "the next look may find it shown again"
        assert unused.release(0.0) == 1
        assert StreamlitFiles().stored_bytes() == {session: 0}

    with_runtime(runtime, test)


def test_files_wait_for_others_that_are_under_way(
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


def test_a_refusal_lets_the_page_run_once_and_is_its_notice(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[object] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda _, state: runs.append(state))
    taken: list[str] = []

    def test() -> None:
        files = StreamlitFiles()
        files.show_refusal("gone", "Too late.")
        session = runtime.connect_session(Mock(), {})
        inside = runtime.get_app_session(session)
        notices = inside.session_state[boundary._NOTICES] = boundary._Notices()
        for _ in range(5):
            files.show_refusal(session, "Too *large*.")
        taken.extend(notices.take_pending())

    with_runtime(runtime, test)
    assert len(runs) == 1
    assert isinstance(runs[0], ClientState), "the page keeps its address"
    assert taken == ["Too *large*."]


def test_the_server_looks_for_them_as_long_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    async def looking(_is_uploading: object) -> None:
        told.append("looking")
        try:
            await asyncio.Event().wait()
        finally:
            told.append("over")

    async def serve() -> None:
        async with announced(None):
            await asyncio.sleep(0)
            told.append("serving")
        await asyncio.sleep(0)

    monkeypatch.setattr(server, "end_closed_sessions", looking)
    threads = SimpleNamespace(
        start=lambda: told.append("threads"), close=lambda: told.append("closed")
    )
    monkeypatch.setattr(server, "pages_start", lambda: threads)
    monkeypatch.setattr(server.sys, "setswitchinterval", lambda _: None)
    monkeypatch.setattr(server, "configure_allocator", lambda: told.append("memory"))
    monkeypatch.setattr(server.config, "get_option", {"server.headless": True}.get)
    monkeypatch.setattr(server, "where", lambda *_: "http://here")
    asyncio.run(serve())
    assert told[0] == "memory"
    assert told[2:] == ["looking", "serving", "closed", "over"]
    assert told[1] == "threads", "in a thread of its own"


@pytest.mark.skipif(sys.platform == "win32", reason="the listening socket cannot be found")
def test_answers_do_not_wait_for_acknowledgements_of_earlier_ones() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server.send_at_once()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_streamlit_does_not_look_for_an_interactive_python(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(delta_generator, "_use_warning_has_been_displayed", False)
    monkeypatch.setattr(delta_generator.env_util, "is_repl", lambda: bool(looks.append("looks")))
    skip_use_warning()
    delta_generator._maybe_print_use_warning()
    assert not looks
    delta_generator._use_warning_has_been_displayed = False
    delta_generator._maybe_print_use_warning()
    assert looks, "the names are those that Streamlit uses"


# Copies of uploaded files, which Streamlit makes in every run of a page.


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
    assert copied.read() == record.data, "a copy is read from its beginning"


def test_nul_in_the_name_of_an_uploaded_file_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    replace_nul_in_names()
    files = MemoryUploadedFileManager("upload")
    files.add_file("session", UploadedFileRec("id", "a\0b.csv", "text/csv", b"a,b\n0,1\n"))
    (stored,) = files.get_files("session", ["id"])
    enforce_filename_restriction(stored.name, [".csv"])
    assert stored.name == "a\ufffdb.csv"
