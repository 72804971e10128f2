"""Accounting of uploads in the ASGI middleware: before, during and after reading of a body."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from graftviz import InputError
from graftviz.serving import logs
from graftviz.serving.guard import (
    FRAME,
    LEAD_SECONDS,
    LEAST_FILE,
    LEAST_RATE,
    MB,
    MOST_RATE,
    PATIENCE,
    UploadAccounting,
    UploadAccounts,
)
from graftviz.serving.limits import Limits
from graftviz.serving.logs import LineLimit

PART = MB // 2
LIMITS = Limits(upload_memory=10, session_uploads=20, server_uploads=30)
OPEN = ("one", "other", "third")


class Store:
    """Files in memory, as stored by the app after their body is read."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], int] = {}
        self.shown: list[tuple[str, str]] = []

    def is_connected(self, session: str) -> bool:
        return session in OPEN

    def stored_bytes(self) -> dict[str, int]:
        stored = dict.fromkeys(OPEN, 0)
        for (session, _), size in self.files.items():
            stored[session] += max(size, LEAST_FILE)
        return stored

    def show_refusal(self, session: str, sentence: str) -> None:
        self.shown.append((session, sentence))


class Server:
    """The middleware in front of an app that stores the bodies that it reads."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.store = Store()
        self.accounts = UploadAccounts(self.store, lambda: limits)
        self.now = 0.0
        self.gate = UploadAccounting(
            self._store_body, self.accounts, lambda: self.now, lambda _: asyncio.sleep(0)
        )
        self.read = 0
        self.passed = 0

    async def _store_body(self, scope: Any, receive: Any, send: Any) -> None:
        self.passed += 1
        size, more = 0, True
        while more and scope["method"] == "PUT":
            message = await receive()
            size += len(message.get("body", b""))
            self.read = max(self.read, size)
            more = message.get("more_body", False)
        if scope["method"] == "PUT":
            session, file = scope["path"].split("/")[-2:]
            self.store.files[session, file] = size
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def put(
        self,
        session: str,
        size: int,
        *,
        declared: int | str | None = -1,
        file: str = "file",
        base: str = "",
        lost: bool = False,
        seconds: float = 0.0,
        gate: asyncio.Event | None = None,
    ) -> tuple[int, str]:
        """Upload in parts; return status and text of the response, 0 if there is none.

        `declared`: length in the header, −1 for the true one, None for none; `lost`: the connection
        is lost before the end; `seconds`: time per part; `gate`: event before the second part.
        """
        length = size if declared == -1 else declared
        headers = [] if length is None else [(b"content-length", str(length).encode())]
        path = f"{base}/_stcore/upload_file/{session}/{file}"
        scope = {"type": "http", "method": "PUT", "path": path, "headers": headers}
        scope["client"] = ("192.0.2.7", 1)
        left, sent = size, 0
        answer: list[Any] = [0, ""]

        async def receive() -> Any:
            nonlocal left, sent
            if gate is not None and sent:
                await gate.wait()
            self.now += seconds
            if lost and left < size:
                return {"type": "http.disconnect"}
            part = min(PART, left)
            left, sent = left - part, sent + part
            return {"type": "http.request", "body": bytes(part), "more_body": left > 0}

        async def send(message: Any) -> None:
            await asyncio.sleep(0)
            if message["type"] == "http.response.start":
                answer[0] = message["status"]
            else:
                answer[1] += message["body"].decode()

        await self.gate(scope, receive, send)
        return answer[0], answer[1]

    def is_free(self) -> bool:
        """Return whether no reservation is left."""
        return not self.accounts._reserved and not any(map(self.accounts.is_uploading, OPEN))


def is_one_sentence(text: str) -> bool:
    return text.endswith(".\n") and text.count(".") == 1 and text[0].isupper()


def run(doing: Any) -> Any:
    return asyncio.run(doing)


@pytest.mark.parametrize("size", [0, 1, PART, 10 * MB])
@pytest.mark.parametrize("declared", [-1, None])
def test_file_up_to_the_limit_is_accepted(size: int, declared: int | None) -> None:
    server = Server()
    assert run(server.put("one", size, declared=declared)) == (204, "")
    assert server.store.files == {("one", "file"): size}
    assert server.is_free()


@pytest.mark.parametrize("base", ["", "/class", "/class/room"])
@pytest.mark.parametrize(
    ("declared", "most_read"),
    [(-1, 0), (None, 10 * MB + FRAME), (100, 10 * MB + FRAME), ("+1", 10 * MB + FRAME)],
)
def test_file_above_the_limit_is_refused_before_or_during_reading(
    base: str, declared: Any, most_read: int
) -> None:
    server = Server()
    status, text = run(server.put("one", 180 * MB, declared=declared, base=base))
    assert status == 413
    assert is_one_sentence(text)
    assert "10 MB" in text
    assert server.read <= most_read
    assert not server.store.files
    assert server.is_free()
    assert server.store.shown == [("one", text.strip())]


def test_limit_of_file_is_at_most_that_of_its_session() -> None:
    server = Server(Limits(upload_memory=10, session_uploads=5))
    assert run(server.put("one", 6 * MB))[0] == 413


def test_a_session_and_the_server_have_limits() -> None:
    server = Server()

    async def upload() -> list[tuple[int, str]]:
        chosen = ("one", "one", "one", "other", "other")
        return [await server.put(s, 9 * MB, file=f"{k}") for k, s in enumerate(chosen)]

    answers = run(upload())
    assert [status for status, _ in answers] == [204, 204, 413, 204, 507]
    assert all(is_one_sentence(text) for status, text in answers if status != 204)
    assert "18 MB" in answers[2][1]
    assert "20 MB" in answers[2][1]
    del server.store.files["one", "0"]
    assert run(server.put("other", 9 * MB))[0] == 204, "a removed file still counts"


@pytest.mark.parametrize("declared", [-1, None])
def test_uploads_in_progress_count(declared: int | None) -> None:
    server = Server()

    async def upload() -> list[int]:
        gate = asyncio.Event()
        begun = [
            asyncio.create_task(
                server.put("one", 9 * MB, declared=declared, file=f"{k}", gate=gate)
            )
            for k in range(5)
        ]
        await asyncio.sleep(0.05)
        assert server.accounts.is_uploading("one")
        assert not server.accounts.is_uploading("other")
        gate.set()
        return [status for status, _ in await asyncio.gather(*begun)]

    statuses = run(upload())
    assert sum(status == 204 for status in statuses) <= 2
    assert {*statuses} <= {204, 413}
    assert sum(server.store.files.values()) <= 20 * MB
    assert server.is_free()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(OPEN),
            st.integers(0, 11 * MB),
            st.sampled_from([-1, None, 0, 5 * MB]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_any_sequence_of_uploads_stays_within_limits(
    uploads: Iterable[tuple[str, int, int | None, bool]],
) -> None:
    server = Server()

    async def upload() -> None:
        await asyncio.gather(
            *(
                server.put(session, size, declared=declared, file=f"{k}", lost=lost)
                for k, (session, size, declared, lost) in enumerate(uploads)
            )
        )

    run(upload())
    stored = server.store.stored_bytes()
    assert max(stored.values()) <= 20 * MB + FRAME
    assert sum(stored.values()) <= 30 * MB + FRAME
    assert server.is_free()


@pytest.mark.parametrize(
    ("session", "file"),
    [("unknown", "file"), ("one", "x" * 101), ("one", ""), ("", "file"), ("one/two", "file")],
)
def test_an_unknown_session_or_path_is_refused(session: str, file: str) -> None:
    server = Server()
    status, text = run(server.put(session, MB, file=file))
    assert status == 404
    assert is_one_sentence(text)
    assert (server.passed, server.store.shown) == (0, [])
    assert server.is_free()


def test_lost_connection_is_not_an_error_and_stores_nothing() -> None:
    server = Server()
    assert run(server.put("one", 9 * MB, lost=True)) == (0, "")
    assert not server.store.files
    assert server.is_free()


@pytest.mark.parametrize(
    ("seconds", "status"),
    [(0.5 * PART / LEAST_RATE, 204), (2 * PART / LEAST_RATE, 408), (PATIENCE + 1, 204)],
)
def test_slow_uploads_are_accepted_and_slower_ones_refused(seconds: float, status: int) -> None:
    server = Server()
    answer, text = run(server.put("one", 9 * MB, seconds=seconds))
    assert answer == status
    assert status == 204 or is_one_sentence(text)
    assert server.is_free()


@given(st.lists(st.tuples(st.integers(0, 5 * MB), st.floats(0.0, 0.2)), min_size=1, max_size=60))
def test_uploads_together_are_received_at_a_limited_rate(parts: list[tuple[int, float]]) -> None:
    accounts = UploadAccounts(Store(), lambda: LIMITS)
    now, received = 0.0, 0
    for size, seconds in parts:
        now += seconds
        received += size
        pause = accounts.pause(size, now)
        now += pause
        assert received <= MOST_RATE * (now + LEAD_SECONDS) + 1.0
        # Uploads slower than the rate are not delayed.
        assert pause == 0.0 or received > MOST_RATE * LEAD_SECONDS


def test_a_client_that_sends_nothing_is_refused() -> None:
    server = Server()
    server.gate = UploadAccounting(server._store_body, server.accounts, ExpiringClock())
    assert run(server.put("one", MB, gate=asyncio.Event()))[0] == 408


class ExpiringClock:
    """Clock that jumps beyond the patience after the first reading."""

    now = -PATIENCE - PART / LEAST_RATE + 0.01

    def __call__(self) -> float:
        self.now, now = self.now + PATIENCE + PART / LEAST_RATE - 0.01, self.now
        return min(now, 0.0)


def test_number_of_empty_files_is_bounded() -> None:
    server = Server()

    async def upload() -> list[int]:
        return [(await server.put("one", 0, file=f"{k}"))[0] for k in range(250)]

    statuses = run(upload())
    assert {*statuses} == {204, 413}
    assert len(server.store.files) <= 20 * MB / LEAST_FILE + 1


def test_invalid_limits_are_reported_in_a_sentence() -> None:
    server = Server()

    def limits() -> Limits:
        raise InputError("no such limit")

    server.accounts = UploadAccounts(server.store, limits)
    server.gate = UploadAccounting(server._store_body, server.accounts)
    status, text = run(server.put("one", 1))
    assert status == 503
    assert is_one_sentence(text)


@pytest.mark.parametrize(
    "scope",
    [
        {"type": "http", "method": "DELETE", "path": "/_stcore/upload_file/one/file"},
        {"type": "http", "method": "GET", "path": "/_stcore/upload_file/unknown/file"},
        {"type": "http", "method": "PUT", "path": "/elsewhere"},
    ],
)
def test_other_requests_are_passed_on(scope: dict[str, Any]) -> None:
    server = Server()

    async def nothing(*_: Any) -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    run(server.gate(scope, nothing, nothing))
    assert server.passed == 1


def test_refusals_are_logged_without_ids(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_limit", LineLimit())
    server = Server()
    with caplog.at_level(logging.WARNING):
        run(server.put("one", 180 * MB, file="secret"))
    assert "status 413" in caplog.text
    assert "192.0.2.7" in caplog.text
    assert "secret" not in caplog.text
