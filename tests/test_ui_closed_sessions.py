"""Closed sessions end when their time is over, though nobody else comes or goes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import Mock
from weakref import ReferenceType, ref

import pytest
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from graftviz.ui import closed_sessions, server
from graftviz.ui.closed_sessions import end_closed_sessions, end_those_whose_time_is_over
from graftviz.ui.server import announced

KEPT = 0.2  # seconds


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
            session_storage=MemorySessionStorage(ttl_seconds=KEPT),  # type: ignore[arg-type]
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
        assert end_those_whose_time_is_over() == 0
        assert uploads.get_files(one, ["1"]), "a page may come back"
        ending = asyncio.create_task(end_closed_sessions(0.05))
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
        assert end_those_whose_time_is_over() == 1
        return [ref(table), ref(model)]

    async def serve() -> None:
        brought = await visit()
        gc.collect()
        assert [one() for one in brought] == [None, None]
        runtime.stop()
        await runtime.stopped

    asyncio.run(serve())


def test_without_the_names_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_sessions, "get_instance", SimpleNamespace)
    assert end_those_whose_time_is_over() == 0


def test_the_server_looks_for_them_as_long_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    async def looking() -> None:
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
    monkeypatch.setattr(server, "warm_up", lambda: told.append("threads"))
    monkeypatch.setattr(server, "return_what_is_freed", lambda: told.append("memory"))
    monkeypatch.setattr(server.config, "get_option", {"server.headless": True}.get)
    monkeypatch.setattr(server, "where", lambda *_: "http://here")
    asyncio.run(serve())
    assert told == ["memory", "threads", "looking", "serving", "over"]
