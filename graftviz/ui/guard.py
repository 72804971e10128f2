"""Middleware before the app: it refuses foreign hosts and origins, and adds security headers.

Streamlit checks origins, too, but before it refuses a connection it requests this machine's
address from a server on the internet, and blocks all sessions meanwhile.

This module knows the ASGI protocol and nothing of Streamlit.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from graftviz.ui.foreign_log import client_of, warn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
PRIVATE = "/_stcore/metrics"  # how many sessions there are is the concern of this machine
POLICY_VIOLATION = 1008  # before a websocket has been accepted, it is answered by 403
log = logging.getLogger(__name__)
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def content_policy(page: str) -> str:
    """Return the content security policy under which the app works, and nothing else does.

    Everything comes from the server itself. Views are modules at ``blob:`` addresses, made by the
    page from what the server sent; figures draw with inline styles and are saved from ``data:``.

    Parameters
    ----------
    page : str
        Streamlit's HTML. The few scripts that stand in it are allowed by their hashes.
    """
    digests = [hashlib.sha256(text.encode()).digest() for text in _INLINE_SCRIPT.findall(page)]
    allowed = "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return "; ".join(
        (
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
            "frame-ancestors 'none'",
        )
    )


def headers(page: str) -> dict[str, str]:
    """Return the headers that every answer carries, by their names in lower case."""
    return {
        "content-security-policy": content_policy(page),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
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
        What answers those who may speak to it.
    page : str
        Streamlit's HTML.
    hosts : iterable of str
        Names of this server, ``*.example.org`` for all below one and ``*`` for any. Numeric
        addresses, ``localhost`` and the machine's own name need not be listed.
    """

    def __init__(self, app: Application, page: str, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._headers = [(n.encode(), value.encode()) for n, value in headers(page).items()]
        own = socket.gethostname().lower()
        self._hosts = {"localhost", own, own.partition(".")[0] + ".local"}
        self._hosts |= {host.strip().lower().rstrip(".") for host in hosts}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers.get(b"host", ""), headers.get(b"origin"))
        if scope["type"] == "websocket":
            if refusal:
                await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            else:
                await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                extra = [pair for pair in self._headers if pair[0] not in there]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        if refusal:
            status, sentence = refusal
            plain = [(b"content-type", b"text/plain; charset=utf-8")]
            start = {"type": "http.response.start", "status": status, "headers": plain}
            await send_with_headers(start)
            await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})
        else:
            await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Message, host: str, origin: str | None) -> tuple[int, str] | None:
        """Return status and sentence for a request that is refused."""
        client = client_of(scope)
        if not self._is_allowed(host):
            warn(log, client, "Refused the host '%s'; --server.allowedHosts lists names.", host)
            return 400, "This server does not go by that name; see --server.allowedHosts."
        reads = scope["type"] == "http" and scope["method"] in ("GET", "HEAD", "OPTIONS")
        if not reads and origin is not None and not _is_of(origin, host):
            warn(log, client, "Refused the origin '%s', which is not '%s'.", origin, host)
            return 403, "Only pages of this server may do that."
        if scope["path"].endswith(PRIVATE) and not _is_loopback(scope.get("client")):
            return 404, "Not Found"
        return None

    def _is_allowed(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if not name or _address(name):
            return bool(name)
        above = {"*." + part for part in _endings(name)}
        return not self._hosts.isdisjoint({"*", name, *above})


def _is_of(origin: str, host: str) -> bool:
    """Whether an origin is that of a page under `host`; one that cannot be parsed is foreign."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def _endings(name: str) -> list[str]:
    """Return what stands behind each dot of a name."""
    parts = name.split(".")
    return [".".join(parts[k:]) for k in range(1, len(parts))]


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_loopback(client: tuple[str, int] | None) -> bool:
    address = _address(client[0]) if client else None
    return address is not None and address.is_loopback
