"""Server of the app: Streamlit's server behind a guard, and the message at its start."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
from starlette.middleware import Middleware
from streamlit import config
from streamlit.file_util import get_static_dir

from graftviz.errors import InputError
from graftviz.memory import configure_allocator
from graftviz.serving.following import Following, leaders
from graftviz.serving.guard import Guard, UploadAccounting, UploadAccounts
from graftviz.serving.limits import limits
from graftviz.serving.logs import filter_foreign_text, numeric_address
from graftviz.ui.streamlit_runtime import (
    StreamlitFiles,
    end_closed_sessions,
    leave_pages_to_app,
    replace_nul_in_names,
    share_uploaded_bytes,
    skip_use_warning,
)

# Time for which a thread may hold the interpreter while others wait, 5 ms by default; with less,
# short requests interrupt long ones sooner.
SWITCH_SECONDS = 0.001
_HOSTS = "server.allowedHosts"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
_importing = threading.Lock()
_accounts = UploadAccounts(StreamlitFiles(), limits)


def middleware() -> list[Middleware]:
    """Return the middleware in front of Streamlit.

    The allowed hosts are removed from Streamlit's options: its websocket would check them too, and
    refuse numeric addresses, ``localhost`` and the machine's own name. If the limits are invalid,
    no other site may embed the app, and every page shows the error.
    """
    page = Path(get_static_dir(), "index.html").read_text(encoding="utf-8")
    hosts = list(config.get_option(_HOSTS))
    _leave_names_to_the_guard()
    # A change of config.toml lets Streamlit read all its options again.
    config.on_config_parsed(_leave_names_to_the_guard, force_connect=True)
    embed_origins: tuple[str, ...] = ()
    with suppress(InputError):
        embed_origins = limits().embed_origins
    return [
        Middleware(Guard, page, hosts, embed_origins),
        Middleware(UploadAccounting, _accounts),
        Middleware(Following, leaders),
    ]


def _leave_names_to_the_guard() -> None:
    config.set_option(_HOSTS, [])


@asynccontextmanager
async def announced(_app: Any) -> AsyncIterator[None]:
    """Print the URL of the app, and open it if there is a screen, as Streamlit does.

    A thread imports what pages need and starts the compilation of the engine, while the browser
    loads its scripts. From now on, expired sessions are ended.

    Streamlit's message is disabled in ``config.toml``: for a server that listens on all
    addresses it would request its external address from a server on the internet.
    """
    address, port = config.get_option("server.address"), config.get_option("server.port")
    url = where(address, port)
    sys.stdout.write(greeting(address, url))
    sys.stdout.flush()
    leave_pages_to_app()
    skip_use_warning()
    share_uploaded_bytes()
    replace_nul_in_names()
    sys.setswitchinterval(SWITCH_SECONDS)
    send_at_once()
    configure_allocator()  # before threads exist, which would use separate memory arenas
    filter_foreign_text()
    threading.Thread(target=_start, name="graftviz-start", daemon=True).start()
    ending = asyncio.create_task(end_closed_sessions(_accounts.is_uploading))
    if not config.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    try:
        yield
    finally:
        ending.cancel()
        pages_start().close()


def send_at_once() -> None:
    """Send every message at once, also while the client has not acknowledged the one before.

    asyncio does this for sockets whose protocol is given explicitly, which Streamlit's is not.
    Clients delay acknowledgements by 40 ms and more, and an answer consists of several messages.
    Connections inherit the option from the socket that listens. No effect on Windows, where the
    socket cannot be found.
    """
    with suppress(psutil.Error, OSError):
        for connection in psutil.Process().net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.fd >= 0:
                with socket.socket(fileno=os.dup(connection.fd)) as listening:
                    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def pages_start() -> ModuleType:
    """Return :mod:`graftviz.ui.start`; a page that is opened while it is imported waits.

    Two threads that import at the same time can get modules that are not complete.
    """
    with _importing:
        return import_module("graftviz.ui.start")


def _start() -> None:
    pages_start().start()


def where(address: str | None, port: int) -> str:
    """Return the URL of a server that listens at `address`, for a browser of the same machine.

    Whether it speaks TLS, and below which path the app is, say Streamlit's options.
    """
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    path = config.get_option("server.baseUrlPath").strip("/")
    host = _EVERYWHERE.get(address or "::") or str(address)
    is_plain_ipv6 = ":" in host and not host.startswith("[")
    url = f"{scheme}://{f'[{host}]' if is_plain_ipv6 else host}:{port}"
    return f"{url}/{path}" if path else url


def greeting(address: str | None, url: str) -> str:
    """Return the text that is written to the terminal when the server starts."""
    lines = ["", f"  graftviz is at {url}"]
    if address is None or address in _EVERYWHERE:
        lines.append("  and at every other address of this machine.")
    own = numeric_address(address or "::")
    if not (address == "localhost" or (own is not None and own.is_loopback)):
        lines.append(
            "  It has no password: all clients that can connect can use it (docs/serving.md)."
        )
    return "\n".join([*lines, "", ""])
