"""HTTP requests to a served app: mutated methods, paths, headers, bodies, sessions and tokens."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import socket
import threading
import time
from pathlib import Path
from random import Random
from typing import NoReturn

from graftviz import InputError
from tests.fuzz.cases import Case, encoded, hostile_text, mutated_bytes
from tests.load.wire import Wire

PORT, LOG = "GRAFTVIZ_FUZZ_PORT", "GRAFTVIZ_FUZZ_LOG"
REQUESTS_PER_SECOND = 60.0
_ANSWER_SECONDS = 2.0  # a request that is cut off is not answered at all
_OPEN_SECONDS = 240.0  # until the first page of a server has run, on a busy machine
_HEALTH_SECONDS = 10.0
_CHECK_EVERY = 10  # requests
_MOST_LOGGED = 10_000  # characters
# uvicorn logs a traceback when a request is so malformed that it cannot be answered, and goes on.
_OF_THE_SERVER = ("h11._util.LocalProtocolError", "h11._util.RemoteProtocolError")
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
_RAISED = re.compile(r"[\w.]+(Error|Exception|Disconnect)")
_METHODS = (
    *("PUT", "PUT", "PUT", "DELETE", "POST", "GET", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT"),
    *("put", "", "X" * 5000, "PUT\0", "P\u00dcT"),
)
_PATHS = (
    *("/_stcore/upload_file/@SESSION@/@FILE@",) * 12,
    *("/_stcore/upload_file/@SESSION@/x", "/_stcore/upload_file/x/@FILE@", "/_stcore/upload_file"),
    *("/_stcore/upload_file/@SESSION@/../../health", "/_stcore/upload_file/%00/%ff", "//x/y"),
    *("/", "/grow?data=karate", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics"),
    *("/_stcore/stream", "/_stcore/allowed-message-origins", "/media/x", "/component/x/y.js", "*"),
    *(
        "/_stcore/bidi-components/x/y",
        "/app/static/x",
        "/static/../../etc/passwd",
        "/%2e%2e/%2e%2e",
    ),
    *("http://elsewhere.example/", "/_stcore/upload_file/" + "x" * 60_000, "/?" + "a=b&" * 3000),
)
_HOSTS = (
    *("@HOST@",) * 8,
    *("localhost", "elsewhere.example", "", "[::1", "[::1]", "a" * 60_000, "@HOST@, @HOST@", "::1"),
    *(
        "127.0.0.1:99999",
        "user@@HOST@",
        "127.1",
        "0x7f000001",
        "\u0661\u0662\u0667.0.0.1",
        "\0",
        "xn--a",
    ),
)
_ORIGINS = ("http://@HOST@", "null", "http://[", "http://elsewhere.example", "", "x" * 60_000, "\0")
_TYPES = (
    *("multipart/form-data; boundary=edge",) * 8,
    *("multipart/form-data", "multipart/form-data; boundary=", "text/csv", "application/json", ""),
    *(
        "multipart/form-data; boundary=" + "e" * 5000,
        "multipart/mixed; boundary=edge",
        "a/b;" * 500,
    ),
    *('multipart/form-data; boundary="edge', "multipart/form-data; boundary=\xff", "x" * 60_000),
    *("application/x-www-form-urlencoded", "multipart/form-data; boundary=edge; charset=utf-7"),
)
_LENGTHS = (
    "0",
    "1",
    "-1",
    "999999999",
    "9" * 25,
    "x",
    "",
    "1, 2",
    "+5",
    "0x10",
    "1_0",
    "209715201",
)
_TOKENS = ("@TOKEN@",) * 8 + ("", "x", "2|a|b|c", "1|", "@TOKEN@x", "\xff", "x" * 5000, "2|@TOKEN@")
_NAMES = (
    "t.csv",
    "t.csv",
    "t.csv",
    "",
    "x" * 300,
    "x" * 10_000,
    "a\0b",
    "../x",
    "t.csv; x=y",
    "\xff",
)
_NOISE = ("Range", "If-Range", "Cookie", "Expect", "Upgrade", "Connection", "X-Forwarded-For", "TE")
_VALUES = (
    *("bytes=0-", "bytes=9-1", "bytes=" + "0-1," * 2000, "100-continue", "websocket", "Upgrade"),
    *(
        "close",
        "keep-alive",
        "gzip",
        "chunked",
        "_streamlit_xsrf=x",
        "_streamlit_user=2|x",
        "trailers",
    ),
)


def request_case(rng: Random) -> Case:
    """Return the bytes of a request; words between @ stand for what the running server decides."""
    name = rng.choice(_NAMES) if rng.random() < 0.8 else hostile_text(rng)
    boundary = rng.choice(("edge",) * 8 + ("other", "", "edge--", "e" * 5000))
    content = rng.choice((b"a,b\n0,1\n", b"", b"x" * 70_000, b"--edge", b"\r\n--edge--\r\n" * 3))
    part = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        f"Content-Type: {rng.choice(('text/csv', '', 'x' * 5000))}\r\n\r\n"
    )
    body = encoded(part) * rng.choice((1, 1, 1, 1, 3, 1100)) + content
    body += encoded(f"\r\n--{boundary}--\r\n") if rng.random() < 0.9 else b""
    if rng.random() < 0.15:
        body = mutated_bytes(rng, body)
    length = str(len(body)) if rng.random() < 0.85 else rng.choice(_LENGTHS)
    token = rng.choice(_TOKENS)
    headers = [("Host", rng.choice(_HOSTS)), ("Content-Type", rng.choice(_TYPES))]
    headers += [("Content-Length", length), ("X-Xsrftoken", token)]
    headers.append(("Cookie", f"_streamlit_xsrf={rng.choice((token, token, rng.choice(_TOKENS)))}"))
    if rng.random() < 0.3:
        headers.append(("Origin", rng.choice(_ORIGINS)))
    if rng.random() < 0.1:
        headers.append(("Transfer-Encoding", rng.choice(("chunked", "x", "gzip, chunked"))))
    if rng.random() < 0.2:
        headers.append((rng.choice(_NOISE), rng.choice(_VALUES)))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        _mutate_headers(rng, headers)
    first = f"{rng.choice(_METHODS)} {rng.choice(_PATHS)} {rng.choice(('HTTP/1.1',) * 9 + ('X',))}"
    head = encoded("\r\n".join([first, *(f"{k}: {v}" for k, v in headers), "", ""]))
    if rng.random() < 0.05:
        head = mutated_bytes(rng, head)
    return Case("request", (("request", head + body),), {})


def _mutate_headers(rng: Random, headers: list[tuple[str, str]]) -> None:
    at = rng.randrange(len(headers))
    name, value = headers[at]
    match rng.randrange(4):
        case 0:
            del headers[at : at + (len(headers) > 1)]
        case 1:
            headers.append((name, rng.choice((value, hostile_text(rng)))))
        case 2:
            headers[at] = (name, hostile_text(rng))
        case _:
            headers[at] = (rng.choice((name.lower(), hostile_text(rng))), value)


# ---------------------------------------------------------------------------------------- sending


class Page:
    """An open page of the server, in a thread of its own, whose session takes uploads.

    Attributes
    ----------
    host, session, file, token : bytes
        What requests of this page carry.
    """

    def __init__(self, port: int, log: Path) -> None:
        self.port, self.log = port, log
        self.host = b"127.0.0.1:%d" % port
        self.session = self.file = self.token = b""
        self.requests = 0
        self._seen = log.stat().st_size
        opened = threading.Event()
        threading.Thread(target=self._run, args=(opened,), daemon=True).start()
        if not opened.wait(_OPEN_SECONDS):
            raise RuntimeError("The page of the server does not open.")

    def _run(self, opened: threading.Event) -> None:
        asyncio.run(self._stay(opened))

    async def _stay(self, opened: threading.Event) -> None:
        wire = Wire(f"http://127.0.0.1:{self.port}/", {}, "lessons")
        await wire.open()
        await wire.finished(_OPEN_SECONDS)
        urls = await wire.file_urls("t.csv")
        self.session, self.file = wire.session.encode(), urls.file_id.encode()
        self.token = (await asyncio.to_thread(wire.xsrf_token)).encode()
        opened.set()
        await asyncio.Event().wait()

    def send(self, data: bytes) -> int:
        """Send a request and return the status of the answer; 0 when there is none."""
        ready = time.monotonic() + 1.0 / REQUESTS_PER_SECOND
        for word in ("session", "file", "token", "host"):
            data = data.replace(b"@%s@" % word.upper().encode(), getattr(self, word))
        answer = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), _HEALTH_SECONDS) as wire:
                wire.settimeout(_ANSWER_SECONDS)
                wire.sendall(data)
                wire.shutdown(socket.SHUT_WR)
                answer = wire.recv(4096)
        except ConnectionRefusedError:
            raise
        except OSError:
            pass  # closed by the server, or not answered because the request is cut off
        # Bounds the rate, and what the server logs has arrived when the next request is sent.
        time.sleep(max(0.0, ready - time.monotonic()))
        found = _STATUS.match(answer)
        return int(found[1]) if found else 0

    def new_log(self) -> str:
        """Return what the server has logged since the last call."""
        size = self.log.stat().st_size
        if size == self._seen:
            return ""
        with self.log.open("rb") as file:
            file.seek(self._seen)
            text = file.read(1_000_000).decode("utf-8", "replace")
        self._seen = size
        return text

    def is_healthy(self) -> bool:
        """Whether the health check is answered within ten seconds."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), _HEALTH_SECONDS) as wire:
                wire.sendall(b"GET /_stcore/health HTTP/1.1\r\nHost: %s\r\n\r\n" % self.host)
                return _STATUS.match(wire.recv(4096)) is not None
        except OSError:
            return False


@functools.cache
def _page() -> Page:
    return Page(int(os.environ[PORT]), Path(os.environ[LOG]))


def send_request(case: Case) -> int:
    """Send the request of a case to the server under test.

    Raises
    ------
    InputError
        When the server refuses it.
    AssertionError
        When it fails: status 500 and above, a traceback in its log, no answer to a health check.
    """
    page = _page()
    status = page.send(case.files[0][1])
    assert status < 500 or status in (501, 505), f"status {status}"
    logged = page.new_log()
    if "Traceback" in logged and not (last := _last_line(logged)).startswith(_OF_THE_SERVER):
        raise AssertionError("traceback in the log: " + last)
    assert len(logged) < _MOST_LOGGED, f"a request adds {len(logged)} characters to the log"
    page.requests += 1
    if page.requests % _CHECK_EVERY == 0:
        assert page.is_healthy(), "the server does not answer"
    if status >= 400 or status == 0:
        refuse(status)
    return status


def refuse(status: int) -> NoReturn:
    """Raise the refusal that a status stands for."""
    raise InputError(f"The server answers with status {status}.")


def _last_line(text: str) -> str:
    # The server marks the further lines of a record by a bar.
    lines = [line.lstrip("| ").rstrip() for line in text.splitlines() if line.strip("| ")]
    starts = [k for k, line in enumerate(lines) if "Traceback" in line]
    after = [line for line in lines[starts[-1] :] if _RAISED.match(line)]
    return (after or lines[-1:])[0][:300]
