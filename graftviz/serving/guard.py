"""Middleware before the app: refuses foreign hosts and origins, and uploads beyond a limit.

Streamlit checks origins, too, but before it refuses a connection it requests this machine's
address from a server on the internet, and blocks all sessions meanwhile.

This module uses the ASGI protocol only, without Streamlit.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import math
import re
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from graftviz.errors import InputError
from graftviz.serving.limits import Limits
from graftviz.serving.logs import client_address, client_of, numeric_address, warn

PRIVATE = "/_stcore/metrics"  # the number of sessions is available on this machine only
POLICY_VIOLATION = 1008  # before a websocket has been accepted, it is answered by 403
MB = 10**6
FRAME = 100_000  # bytes that a request may have beyond its file: boundary, name, kind
LEAST_FILE = 100_000  # bytes that a file counts at least, so that their number is bounded too
PATIENCE = 30.0  # seconds an upload may rest, in total
LEAST_RATE = 10_000.0  # bytes per second; slower uploads would hold their reservation for ever
# Bytes per second of all uploads together, and the time for which they may be faster. To receive
# ten large files at once would occupy both cores, and the engine would wait.
MOST_RATE = 40_000_000.0
LEAD_SECONDS = 0.3
log = logging.getLogger(__name__)
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_UPLOADS = "/_stcore/upload_file/"
_UPLOAD = re.compile(rf".*{_UPLOADS}([^/]{{1,100}})/[^/]{{1,100}}")


def headers(page: str, embed_origins: Sequence[str] = ()) -> dict[str, str]:
    """Return the headers that every answer carries, by their names in lower case.

    Everything comes from the server itself. Views are modules at ``blob:`` addresses, made by the
    page from what the server sent; figures draw with inline styles and are saved from ``data:``.

    Parameters
    ----------
    page : str
        Streamlit's HTML. The few inline scripts are allowed by their hashes.
    embed_origins : sequence of str
        Origins whose pages may embed the app. ``X-Frame-Options`` cannot list origins, so it is
        left out if there are any.
    """
    digests = [hashlib.sha256(text.encode()).digest() for text in _INLINE_SCRIPT.findall(page)]
    allowed = "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    policy = (
        "default-src 'none'",
        f"script-src 'self' blob:{allowed}",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'self'",
        "form-action 'none'",
        "frame-ancestors " + (" ".join(embed_origins) or "'none'"),
    )
    return {
        "content-security-policy": "; ".join(policy),
        "x-content-type-options": "nosniff",
        **({} if embed_origins else {"x-frame-options": "DENY"}),
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }


class Guard:
    """ASGI middleware that refuses foreign hosts and origins, and adds headers to every answer.

    It refuses requests for a host that is not this server's (a page of another host whose name
    resolves to this machine's address could read everything), and websockets and uploads of pages
    of other origins.

    Parameters
    ----------
    app : ASGI application
    page : str
        Streamlit's HTML.
    hosts : iterable of str
        Names of this server, ``*.example.org`` for all below one and ``*`` for any. Numeric
        addresses, ``localhost`` and the machine's own name need not be listed.
    embed_origins : sequence of str
        Origins whose pages may embed the app.
    """

    def __init__(
        self,
        app: ASGIApp,
        page: str,
        hosts: Iterable[str] = (),
        embed_origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._headers = headers(page, embed_origins)
        own = socket.gethostname().lower()
        self._hosts = {"localhost", own, own.partition(".")[0] + ".local"}
        self._hosts |= {host.strip().lower().rstrip(".") for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        answer = self._app
        if scope["type"] == "websocket" and self._refusal(scope):
            answer = WebSocketClose(POLICY_VIOLATION)
        elif scope["type"] == "http":
            answer = self._refusal(scope) or self._app

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    own.setdefault(name, value)
            await send(message)

        await answer(scope, receive, send_with_headers if scope["type"] == "http" else send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Return the answer to a request that is refused."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        client = client_of(scope)
        if not self._is_allowed(host):
            warn(log, client, "Refused the host '%s'; --server.allowedHosts lists names.", host)
            sentence = "This is not a name of this server; see --server.allowedHosts."
            return PlainTextResponse(f"{sentence}\n", 400)
        reads = scope["type"] == "http" and scope["method"] in ("GET", "HEAD", "OPTIONS")
        if not reads and origin is not None and origin.partition("://")[2] != host:
            warn(log, client, "Refused the origin '%s', which is not '%s'.", origin, host)
            return PlainTextResponse("Only pages of this server may do that.\n", 403)
        address = client_address(scope)
        is_own = address is not None and address.is_loopback
        if scope["path"].endswith(PRIVATE) and not is_own:
            return PlainTextResponse("Not Found\n", 404)
        return None

    def _is_allowed(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if not name or numeric_address(name):
            return bool(name)
        return any(fnmatchcase(name, allowed) for allowed in self._hosts)


class FileStore(Protocol):
    """Store of uploaded files."""

    def is_connected(self, session: str) -> bool:
        """Return whether a page is connected to the session."""

    def stored_bytes(self) -> Mapping[str, int]:
        """Return the bytes of stored files by session; a file counts at least `LEAST_FILE`."""

    def show_refusal(self, session: str, sentence: str) -> None:
        """Show on the session's page why an upload was refused."""


class Refused(Exception):
    """An upload that is refused; the arguments are the status and one sentence."""


class UploadAccounts:
    """Bytes of uploads that are stored or under way.

    Stored files are counted where they are stored: however one is removed, its bytes are free. It
    is used from the event loop only.

    Parameters
    ----------
    store : FileStore
    limits : callable
        Return the limits of the server.
    """

    def __init__(self, store: FileStore, limits: Callable[[], Limits]) -> None:
        self.store = store
        self._limits = limits
        self._reserved: Counter[str] = Counter()
        self._due = -math.inf  # time at which what was received would be due at the highest rate

    def is_uploading(self, session: str) -> bool:
        """Return whether an upload of the session is under way."""
        return session in self._reserved

    def reserve(self, session: str, size: int, reserved: int) -> None:
        """Reserve `size` bytes for an upload, of which `reserved` are reserved already.

        Raises
        ------
        Refused
            With status 413 if the file is too large or the session has too few bytes left, 507 if
            the server has too few, and 503 if its limits are invalid.
        """
        try:
            limits = self._limits()
        except InputError as error:
            raise Refused(
                503, "The limits of this server are invalid; its pages show the error."
            ) from error
        most = min(limits.upload_memory, limits.session_uploads)
        if size > most * MB + FRAME:
            raise Refused(413, f"The file is larger than {most} MB; upload a smaller one.")
        stored = self.store.stored_bytes()
        more = size - reserved
        own = stored.get(session, 0) + self._reserved[session]
        if own + more > limits.session_uploads * MB + FRAME:
            raise Refused(
                413,
                f"This page holds {own / MB:.0f} MB of uploaded files, and a page may hold "
                f"{limits.session_uploads} MB; remove a file, then upload again.",
            )
        total = sum(stored.values()) + self._reserved.total()
        if total + more > limits.server_uploads * MB + FRAME:
            raise Refused(
                507, "The server has no room for more uploaded files; try again in a few minutes."
            )
        self._reserved[session] += more

    def pause(self, size: int, now: float) -> float:
        """Return for how many seconds to pause after `size` received bytes."""
        self._due = max(self._due, now - LEAD_SECONDS) + size / MOST_RATE
        return max(0.0, self._due - now)

    def release(self, session: str, size: int) -> None:
        """Give back reserved bytes."""
        self._reserved -= Counter({session: size})  # sessions without a reservation are removed


@dataclass(eq=False)
class UploadAccounting:
    """ASGI middleware that refuses uploads beyond a limit, before and while they are read.

    The page refuses files that are too large before they are sent, but any client with a session
    may send requests to the endpoint. So each upload reserves its bytes before its body is read,
    and gives the reservation back when the file is stored or the request has ended.

    Parameters
    ----------
    app : ASGI application
    accounts : UploadAccounts
    clock : callable
        Return the time in seconds.
    sleep : callable
        Sleep for some seconds.
    """

    app: ASGIApp
    accounts: UploadAccounts
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_put = scope["type"] == "http" and scope["method"] == "PUT"
        if not is_put or _UPLOADS not in scope["path"]:
            await self.app(scope, receive, send)
            return
        path = _UPLOAD.fullmatch(scope["path"])
        session = path[1] if path else ""
        upload = _Upload(self, session, receive, send, self.clock())
        try:
            if not self.accounts.store.is_connected(session):
                raise Refused(
                    404, "No open page belongs to this upload; reload the page, then upload again."
                )
            upload.reserve(max(_declared_length(scope), LEAST_FILE))
            await self.app(scope, upload.receive, upload.send)
        except Refused as refusal:
            status, sentence = refusal.args
            warn(log, client_of(scope), f"Refused an upload with status {status}.")
            if not upload.is_answered:
                await PlainTextResponse(f"{sentence}\n", status)(scope, receive, send)
            if status != 404:
                self.accounts.store.show_refusal(session, sentence)
        except ClientDisconnect:
            return
        finally:
            upload.close()


@dataclass(eq=False)
class _Upload:
    """One upload that is under way, and its reservation."""

    gate: UploadAccounting
    session: str
    source: Receive
    answer: Send
    began: float
    is_answered: bool = False
    reserved: int = 0
    received: int = 0

    def reserve(self, size: int) -> None:
        """Reserve this many bytes in total."""
        self.gate.accounts.reserve(self.session, size, self.reserved)
        self.reserved = size

    async def receive(self) -> Message:
        """Return the next part of the body, counted.

        Raises
        ------
        Refused
            If a limit is exceeded, or the client sends too slowly (408).
        ClientDisconnect
            If the request ends before the upload is complete.
        """
        elapsed = self.gate.clock() - self.began
        allowed = PATIENCE + self.received / LEAST_RATE - elapsed
        try:
            message = await asyncio.wait_for(self.source(), max(allowed, 0.0))
        except TimeoutError:
            raise Refused(408, "The upload was too slow; try again.") from None
        if self.is_answered:
            return message
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        size = len(message.get("body", b""))
        self.received += size
        if self.received > self.reserved:
            self.reserve(self.received)
        await self.gate.sleep(self.gate.accounts.pause(size, self.gate.clock()))
        return message

    async def send(self, message: Message) -> None:
        """Send a message on; when the answer begins, the file is stored or refused."""
        if message["type"] == "http.response.start":
            self.is_answered = True
            self.close()
        await self.answer(message)

    def close(self) -> None:
        """Give the reservation back."""
        self.gate.accounts.release(self.session, self.reserved)
        self.reserved = 0


def _declared_length(scope: Scope) -> int:
    """Return the declared length of a request's body; 0 if there is none that can be read."""
    text = Headers(scope=scope).get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0
