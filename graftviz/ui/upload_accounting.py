"""Accounting of uploaded bytes, per session and per server, at the upload endpoint itself.

The page refuses files that are too large before they are sent, but any client with a session may
send requests to the endpoint. So each upload reserves its bytes before its body is read, and gives
the reservation back when the file is stored or the request has ended. Stored files are counted
where they are stored: however one is removed, its bytes are free.

This module knows the ASGI protocol and nothing of Streamlit. It is used from the event loop only.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from graftviz.errors import InputError
from graftviz.ui.foreign_log import client_of, warn
from graftviz.ui.guard import Application, Message, Receive, Send
from graftviz.ui.limits import Limits

MB = 10**6
FRAME = 100_000  # bytes that a request may have beyond its file: boundary, name, kind
LEAST_FILE = 100_000  # bytes that a file counts at least, so that their number is bounded too
PATIENCE = 30.0  # seconds an upload may rest, in total
LEAST_RATE = 10_000.0  # bytes per second; slower uploads would hold their reservation for ever
_PATH = re.compile(r".*/_stcore/upload_file/([^/]{1,100})/([^/]{1,100})")
_PREFIX = "/_stcore/upload_file/"
log = logging.getLogger(__name__)


class Refused(Exception):
    """An upload that is refused: status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class ConnectionLost(Exception):
    """The client has closed the connection of an upload that is under way."""


class FileStore(Protocol):
    """Store of uploaded files."""

    def is_connected(self, session: str) -> bool:
        """Return whether a page is connected to the session."""

    def stored_bytes(self) -> Mapping[str, int]:
        """Return the bytes of stored files by session; a file counts at least `LEAST_FILE`."""

    def show_refusal(self, session: str, sentence: str) -> None:
        """Show on the session's page why an upload was refused."""


class UploadAccounts:
    """Bytes of uploads that are stored or under way.

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

    def is_uploading(self, session: str) -> bool:
        """Return whether an upload of the session is under way."""
        return session in self._reserved

    def check_size(self, size: int) -> None:
        """Raise :class:`Refused` (413) for a request that is larger than any file may be."""
        most = min(self._read_limits().upload_memory, self._read_limits().session_uploads)
        if size > most * MB + FRAME:
            raise Refused(413, f"The file is larger than {most} MB; upload a smaller one.")

    def reserve(self, session: str, size: int) -> None:
        """Reserve bytes for an upload.

        Raises
        ------
        Refused
            With status 413 if the session, or 507 if the server has too few bytes left.
        """
        limits = self._read_limits()
        stored = self.store.stored_bytes()
        own = stored.get(session, 0) + self._reserved[session]
        if own + size > limits.session_uploads * MB + FRAME:
            raise Refused(
                413,
                f"This page holds {own / MB:.0f} MB of uploaded files, and a page may hold "
                f"{limits.session_uploads} MB; remove a file, then upload again.",
            )
        total = sum(stored.values()) + self._reserved.total()
        if total + size > limits.server_uploads * MB + FRAME:
            raise Refused(
                507, "The server has no room for more uploaded files; try again in a few minutes."
            )
        self._reserved[session] += size

    def release(self, session: str, size: int) -> None:
        """Give back reserved bytes."""
        self._reserved[session] -= size

    def end(self, session: str) -> None:
        """Forget a session that has no reservation left."""
        if not self._reserved[session]:
            del self._reserved[session]

    def _read_limits(self) -> Limits:
        try:
            return self._limits()
        except InputError as error:
            raise Refused(503, "The limits of this server are wrong; its pages say how.") from error


class UploadAccounting:
    """ASGI middleware: refuses uploads that exceed a limit, before and while they are read.

    Parameters
    ----------
    app : ASGI application
        Streamlit's.
    accounts : UploadAccounts
    clock : callable
        Return the time in seconds.
    """

    def __init__(
        self,
        app: Application,
        accounts: UploadAccounts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._accounts = accounts
        self._clock = clock

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_put = scope["type"] == "http" and scope["method"] == "PUT"
        if not is_put or _PREFIX not in scope["path"]:
            await self._app(scope, receive, send)
            return
        path = _PATH.fullmatch(scope["path"])
        session = path[1] if path else ""
        upload = _Upload(self._accounts, session, receive, send, self._clock)
        try:
            if not session or not self._accounts.store.is_connected(session):
                raise Refused(
                    404, "No open page belongs to this upload; reload the page, then upload again."
                )
            upload.expect(_declared_length(scope))
            await self._app(scope, upload.receive, upload.send)
        except Refused as refusal:
            upload.close()
            warn(log, client_of(scope), f"Refused an upload with status {refusal.status}.")
            if not upload.is_answered:
                await _answer(send, refusal)
            if refusal.status != 404:
                self._accounts.store.show_refusal(session, refusal.sentence)
        except ConnectionLost:
            return
        finally:
            upload.close()


class _Upload:
    """One upload that is under way, and its reservation."""

    def __init__(
        self,
        accounts: UploadAccounts,
        session: str,
        receive: Receive,
        send: Send,
        clock: Callable[[], float],
    ) -> None:
        self.is_answered = False
        self._accounts = accounts
        self._session = session
        self._receive = receive
        self._send = send
        self._clock = clock
        self._began = clock()
        self._reserved = 0
        self._received = 0

    def expect(self, size: int) -> None:
        """Reserve what the request declares, or what a file counts at least."""
        self._reserve(max(size, LEAST_FILE))

    async def receive(self) -> Message:
        """Return the next part of the body, counted.

        Raises
        ------
        Refused
            If a limit is exceeded, or the client sends too slowly (408).
        ConnectionLost
            If there is no more to receive, and the upload is not complete.
        """
        allowed = PATIENCE + self._received / LEAST_RATE - (self._clock() - self._began)
        try:
            message = await asyncio.wait_for(self._receive(), max(allowed, 0.0))
        except TimeoutError:
            raise Refused(408, "The upload was too slow; try again.") from None
        if self.is_answered:
            return message
        if message["type"] == "http.disconnect":
            raise ConnectionLost
        self._received += len(message.get("body", b""))
        if self._received > self._reserved:
            self._reserve(self._received - self._reserved)
        return message

    async def send(self, message: Message) -> None:
        """Send a message on; when the answer begins, the file is stored or refused."""
        if message["type"] == "http.response.start":
            self.is_answered = True
            self.close()
        await self._send(message)

    def close(self) -> None:
        """Give the reservation back."""
        self._accounts.release(self._session, self._reserved)
        self._reserved = 0
        self._accounts.end(self._session)

    def _reserve(self, size: int) -> None:
        self._accounts.check_size(self._reserved + size)
        self._accounts.reserve(self._session, size)
        self._reserved += size


def _declared_length(scope: Message) -> int:
    """Return the declared length of a request's body; 0 if there is none that can be read."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return 0


async def _answer(send: Send, refusal: Refused) -> None:
    plain = [(b"content-type", b"text/plain; charset=utf-8")]
    start = {"type": "http.response.start", "status": refusal.status, "headers": plain}
    await send(start)
    await send({"type": "http.response.body", "body": f"{refusal.sentence}\n".encode()})
