"""Uploads sent directly to the endpoint of a served app: counted, refused, and released."""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from waiting import wait_until

from tests.browser.served_app import HEADLESS, served_app
from tests.load.server import listening_process, memory_bytes, processor_seconds
from tests.load.wire import Wire

MB = 10**6
UNUSED, EXPIRY = 3, 8  # seconds: gone_seconds, and server.disconnectedSessionTTL
LOOK = 2  # seconds between two checks of the server, see ui/streamlit_runtime.py
COUNT = 5  # seconds between updates of Streamlit's metrics
LIMITS = (
    f"gone_seconds = {UNUSED}\nupload_memory = 60\nsession_uploads = 120\nserver_uploads = 200\n"
)
SENTENCE = rb"[A-Z][^.\n]*\.\n"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
_HELD = re.compile(r'cache_memory_bytes\{[^}]*"UploadedFileManager"[^}]*\} (\d+)')


class Answer(NamedTuple):
    """Status and body of a response."""

    status: int
    body: bytes


class Endpoint(NamedTuple):
    """The upload endpoint of a served app."""

    host: str
    log: Path

    @property
    def address(self) -> str:
        """Address of the app."""
        return f"http://{self.host}/"

    @property
    def server(self) -> int:
        """Process of the server."""
        return listening_process(int(self.host.rpartition(":")[2]))

    @property
    def memory(self) -> int:
        """Bytes of memory of the server and its workers."""
        return memory_bytes(self.server)

    @property
    def held(self) -> int:
        """Bytes of stored uploads, which Streamlit counts every five seconds."""
        found = _HELD.search(self.ask("GET", "/_stcore/metrics").body.decode())
        return int(found[1]) if found else 0

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request; an iterable body is sent in chunks, without its length."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        chunked = body is not None and not isinstance(body, bytes)
        connection.request(method, path, body, headers or {}, encode_chunked=chunked)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.read())
        connection.close()
        return found

    def token(self) -> dict[str, str]:
        """Return the headers that prove that a page of this server is open."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.request("GET", "/_stcore/health")
        answer = connection.getresponse()
        cookie = str(answer.getheader("set-cookie")).split(";")[0]
        connection.close()
        return {"Cookie": cookie, "X-Xsrftoken": cookie.split("=", 1)[1]}

    def put(self, session: str, size: int, file: str = "", chunked: bool = False) -> Answer:
        """Upload a file of any size in the way of a page."""
        path = f"/_stcore/upload_file/{session}/{file or uuid4()}"
        head = (
            b'--edge\r\nContent-Disposition: form-data; name="t"; filename="t.csv"\r\n'
            b"Content-Type: text/csv\r\n\r\n"
        )
        kind = {"Content-Type": "multipart/form-data; boundary=edge"}
        parts = [head, *[bytes(MB)] * (size // MB), b"\r\n--edge--\r\n"]
        if not chunked:
            kind["Content-Length"] = str(sum(map(len, parts)))
        else:
            kind["Transfer-Encoding"] = "chunked"
        return self.ask("PUT", path, iter(parts), {**self.token(), **kind})

    def delete(self, session: str, file: str) -> Answer:
        """Remove a file."""
        return self.ask("DELETE", f"/_stcore/upload_file/{session}/{file}", None, self.token())


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Served app with short times and small limits; its log has no ids and no tracebacks."""
    folder = tmp_path_factory.mktemp("served")
    limits, log = folder / "limits.toml", folder / "log"
    limits.write_text(LIMITS)
    options = (*HEADLESS, "--server.disconnectedSessionTTL", str(EXPIRY))
    environment = {"GRAFTVIZ_LIMITS": str(limits), "PYTHONMALLOC": "malloc"}
    with served_app(log, options=options, environment=environment) as url:
        endpoint = Endpoint(urlsplit(url).netloc, log)
        _wait_until_warm(endpoint)
        yield endpoint
    written = log.read_text(errors="replace")
    assert "Traceback" not in written
    assert not _UUID.search(written)
    assert len(written) < 20_000


def _wait_until_warm(endpoint: Endpoint) -> None:
    """Wait until the engine is loaded: the server is idle and its memory is constant."""

    async def visit() -> None:
        wire = Wire(endpoint.address, {})
        await wire.open()
        await wire.first_message()
        await wire.close()

    asyncio.run(visit())
    server, quiet = endpoint.server, 0
    while quiet < 2:
        memory, worked = endpoint.memory, processor_seconds(server)
        time.sleep(2.0)
        is_quiet = endpoint.memory < memory + 2 * MB and processor_seconds(server) < worked + 0.2
        quiet = quiet + 1 if is_quiet else 0


@asynccontextmanager
async def opened(endpoint: Endpoint, query: dict[str, str] | None = None) -> AsyncIterator[Wire]:
    """Open a page and wait until its session is known."""
    wire = Wire(endpoint.address, query or {})
    await wire.open()
    try:
        async with asyncio.timeout(60):
            while not wire.session:
                await asyncio.sleep(0.05)
        yield wire
    finally:
        await wire.close()


def wait_until_released(endpoint: Endpoint) -> None:
    """Wait until no upload is stored."""
    time.sleep(COUNT)  # the metrics may be older than the uploads
    wait_until(lambda: endpoint.held == 0, UNUSED + 2 * LOOK + COUNT + 60)


def in_session(
    endpoint: Endpoint, test: Callable[[str], None], query: dict[str, str] | None = None
) -> None:
    """Run a test in a thread while a page is open; its session is the argument."""

    async def run() -> None:
        async with opened(endpoint, query) as wire:
            await asyncio.to_thread(test, wire.session)

    asyncio.run(run())


@pytest.mark.parametrize("chunked", [False, True])
def test_files_above_the_limit_are_refused_and_use_no_memory(
    endpoint: Endpoint, chunked: bool
) -> None:
    def test(session: str) -> None:
        before = endpoint.memory
        for _ in range(2):
            status, body = endpoint.put(session, 180 * MB, chunked=chunked)
            assert status == 413
            assert re.fullmatch(SENTENCE, body)
            assert b"larger than 60 MB" in body
            assert endpoint.memory < before + 30 * MB

    in_session(endpoint, test)


def test_concurrent_files_of_session_are_bounded_and_released(
    endpoint: Endpoint,
) -> None:
    def test(session: str) -> None:
        before = endpoint.memory
        with ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(lambda _: endpoint.put(session, 55 * MB), range(5)))
        assert sorted(answer.status for answer in answers) == [204, 204, 413, 413, 413]
        assert all(re.fullmatch(SENTENCE, a.body) for a in answers if a.status == 413)
        assert endpoint.memory < before + 160 * MB
        # Unused files: no widget of the page refers to them.
        wait_until(lambda: endpoint.memory < before + 30 * MB, 60)
        assert endpoint.put(session, 55 * MB).status == 204

    in_session(endpoint, test)
    wait_until_released(endpoint)


def test_removed_file_frees_space_at_once(endpoint: Endpoint) -> None:
    def test(session: str) -> None:
        before = endpoint.memory
        for _ in range(2):
            first, second = str(uuid4()), str(uuid4())
            assert endpoint.put(session, 58 * MB, first).status == 204
            assert endpoint.put(session, 58 * MB, second).status == 204
            assert endpoint.put(session, 58 * MB).status == 413
            assert endpoint.delete(session, first).status == 204
            assert endpoint.delete(session, second).status == 204
        wait_until(lambda: endpoint.memory < before + 30 * MB, 30)

    in_session(endpoint, test)


def test_all_sessions_together_have_a_limit(endpoint: Endpoint) -> None:
    async def run() -> None:
        async with opened(endpoint) as one, opened(endpoint) as other:
            sessions = (one.session, one.session, other.session)
            for file, session in enumerate(sessions):
                answer = await asyncio.to_thread(endpoint.put, session, 58 * MB, str(file))
                assert answer.status == 204
            answer = await asyncio.to_thread(endpoint.put, other.session, 30 * MB)
            assert answer.status == 507
            assert re.fullmatch(SENTENCE, answer.body)
            for file, session in enumerate(sessions):
                await asyncio.to_thread(endpoint.delete, session, str(file))

    asyncio.run(run())


def test_unknown_sessions_and_lost_connections_hold_no_memory(endpoint: Endpoint) -> None:
    answer = endpoint.put(str(uuid4()), 30 * MB)
    assert answer.status == 404
    assert re.fullmatch(SENTENCE, answer.body)

    def test(session: str) -> None:
        token = "".join(f"{name}: {value}\r\n" for name, value in endpoint.token().items())
        for attempt in range(2):
            with socket.create_connection(tuple(endpoint.host.split(":"))) as wire:
                wire.sendall(
                    f"PUT /_stcore/upload_file/{session}/x HTTP/1.1\r\nHost: {endpoint.host}\r\n"
                    f"{token}Content-Length: {58 * MB}\r\n"
                    "Content-Type: multipart/form-data; boundary=edge\r\n\r\n--edge\r\n".encode()
                )
                time.sleep(0.3)
                if attempt == 0:
                    assert endpoint.put(session, 58 * MB, "y").status == 204
                    assert endpoint.put(session, 58 * MB).status == 413, "no upload is in progress"
                    assert endpoint.delete(session, "y").status == 204
        wait_until(lambda: endpoint.put(session, 58 * MB, "z").status == 204, 60)
        assert endpoint.delete(session, "z").status == 204

    in_session(endpoint, test)


def test_shown_file_is_stored_until_its_session_expires(endpoint: Endpoint) -> None:
    table = b"a,b,c\n" + b"0,1,0\n1,0,1\n1,1,0\n0,0,1\n" * 50_000

    async def run() -> None:
        wire = Wire(endpoint.address, {})
        await wire.open()
        await wire.first_message()
        await wire.set("choose.data", string_value="Your own data…")
        await wire.finished()
        await wire.upload("upload.table", "table.csv", table)
        await wire.finished()
        await asyncio.sleep(max(UNUSED + 2 * LOOK, COUNT))
        assert endpoint.held == len(table), "a shown file was removed"
        await wire.close()
        await asyncio.sleep(EXPIRY / 2)
        await wire.open(again=True)
        await wire.finished()
        await asyncio.sleep(max(UNUSED + 2 * LOOK, COUNT))
        assert endpoint.held == len(table), "the file of a reconnected page was removed"
        await wire.close()

    asyncio.run(run())
    time.sleep(EXPIRY / 2)
    assert endpoint.held == len(table), "the file was removed before its session expired"
    wait_until(lambda: endpoint.held == 0, EXPIRY / 2 + 60)
