"""The guard of the app: host names, origins, headers, and the greeting."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from graftviz.serving.guard import Guard, headers
from graftviz.serving.limits import VARIABLE, limits
from graftviz.ui.server import greeting, middleware, where

PAGE = "<html><script>let a = 1</script><script src='x.js'></script></html>"
OWN = "class.example.org"


async def answers(message: dict[str, Any], _receive: Any, send: Any) -> None:
    if message["type"] == "websocket":
        await send({"type": "websocket.accept"})
    elif message["type"] == "http":
        own = [(b"referrer-policy", b"same-origin")]
        await send({"type": "http.response.start", "status": 200, "headers": own})


def ask(
    host: str | None,
    *,
    kind: str = "http",
    method: str = "GET",
    origin: str | None = None,
    path: str = "/",
    client: tuple[str, int] | None = ("127.0.0.1", 1),
    hosts: tuple[str, ...] = (OWN, "*.school.example"),
) -> dict[str, Any]:
    """Return the first message of the response."""
    request_headers = [(b"host", host)] if host is not None else []
    request_headers += [(b"origin", origin)] if origin is not None else []
    scope = {"type": kind, "method": method, "path": path, "client": client}
    scope["headers"] = [(name, value.encode()) for name, value in request_headers]
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def receive() -> Any:
        raise AssertionError("the guard read the body")

    asyncio.run(Guard(answers, PAGE, hosts)(scope, receive, send))
    return sent[0]


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        *((OWN, True), (OWN.upper() + ":8501", True), (OWN + ".", True)),
        *(("a.school.example", True), ("a.b.school.example", True), ("school.example", False)),
        *(("localhost:8501", True), ("127.0.0.1", True), ("192.0.2.7:8501", True)),
        *(("[::1]:8501", True), ("[2001:db8::1]", True), ("x." + OWN, False)),
        *(("elsewhere.example", False), ("127.0.0.1.elsewhere.example", False)),
        *((None, False), ("", False), (":80", False), ("[", False), ("[::1", False)),
    ],
)
def test_only_own_host_names_are_allowed(host: str | None, is_own: bool) -> None:
    assert ask(host)["status"] == (200 if is_own else 400)
    opened = ask(host, kind="websocket")["type"]
    assert opened == ("websocket.accept" if is_own else "websocket.close")


@pytest.fixture
def start_with() -> Iterator[Callable[[dict[str, Any]], None]]:
    """Return a function that lets Streamlit read options as of a command line."""

    def start(flags: dict[str, Any]) -> None:
        config.get_config_options(force_reparse=True, options_from_flags=flags)

    yield start
    config.get_config_options(force_reparse=True)


def test_host_names_are_checked_by_the_guard_only(
    start_with: Callable[[dict[str, Any]], None],
) -> None:
    start_with({"server.allowedHosts": [OWN]})
    assert middleware()[0].args[1] == [OWN]
    assert is_host_allowed("127.0.0.1:8501")
    start_with({"server.allowedHosts": [OWN]})
    assert is_host_allowed("127.0.0.1:8501"), "refused after a change of config.toml"


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        *((None, True), (f"http://{OWN}:8501", True), (f"https://{OWN}:8501", True)),
        *((f"http://{OWN}", False), (f"http://{OWN}:8502", False), ("null", False)),
        *(("http://localhost:8501", False), ("", False), (f"http://{OWN}:8501.x.example", False)),
        *(("http://[", False), ("http://[::1", False), ("http://[x]", False)),
    ],
)
def test_only_own_pages_connect_and_send_changes(origin: str | None, is_own: bool) -> None:
    host = f"{OWN}:8501"
    opened = ask(host, kind="websocket", origin=origin)["type"]
    assert opened == ("websocket.accept" if is_own else "websocket.close")
    for method in ("PUT", "DELETE", "POST"):
        assert ask(host, method=method, origin=origin)["status"] == (200 if is_own else 403)
    assert ask(host, origin=origin)["status"] == 200, "reads are restricted by browsers"


def test_metrics_are_served_to_this_machine_only() -> None:
    for path in ("/_stcore/metrics", "/below/_stcore/metrics"):
        assert ask(OWN, path=path)["status"] == 200
        assert ask(OWN, path=path, client=("::1", 1))["status"] == 200
        assert ask(OWN, path=path, client=("192.0.2.7", 1))["status"] == 404
        assert ask(OWN, path=path, client=None)["status"] == 404


def test_every_response_has_the_headers_once() -> None:
    for host in (OWN, "elsewhere.example"):
        names = [name.decode().lower() for name, _ in ask(host)["headers"]]
        assert set(headers(PAGE)) <= set(names)
        assert len(names) == len(set(names)), "a header of the app was repeated"


def test_only_listed_origins_may_embed_the_app() -> None:
    alone = headers(PAGE)
    assert "frame-ancestors 'none'" in alone["content-security-policy"].split("; ")
    assert alone["x-frame-options"] == "DENY"
    listed = headers(PAGE, ("https://a.example", "https://*.b.example:8443"))
    allowed = "frame-ancestors https://a.example https://*.b.example:8443"
    assert allowed in listed["content-security-policy"].split("; ")
    changed = {"content-security-policy", "x-frame-options"}
    assert {name for name in alone if alone[name] != listed.get(name)} == changed
    assert listed.keys() == alone.keys() - {"x-frame-options"}, (
        "x-frame-options cannot list origins"
    )


@pytest.mark.parametrize(
    ("text", "origins"), [("['https://a.example']", ("https://a.example",)), ("['*']", ())]
)
def test_limits_file_lists_origins_that_may_embed_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, origins: tuple[str, ...]
) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(f"embed_origins = {text}", encoding="utf-8")
    monkeypatch.setenv(VARIABLE, str(path))
    limits.cache_clear()
    try:
        assert middleware()[0].args[2] == origins, "an invalid file lists no origin"
    finally:
        limits.cache_clear()


def test_inline_scripts_are_allowed_by_their_hash() -> None:
    digest = base64.b64encode(hashlib.sha256(b"let a = 1").digest()).decode()
    policy = headers(PAGE)["content-security-policy"]
    assert f"script-src 'self' blob: 'sha256-{digest}';" in policy
    assert policy.count("sha256-") == 1
    assert digest not in str(headers(PAGE.replace("1", "2")))


@pytest.mark.parametrize(
    ("address", "url", "warns"),
    [
        ("127.0.0.1", "http://127.0.0.1:8501", False),
        ("localhost", "http://localhost:8501", False),
        ("::1", "http://[::1]:8501", False),
        ("192.0.2.7", "http://192.0.2.7:8501", True),
        ("0.0.0.0", "http://127.0.0.1:8501", True),
        ("::", "http://[::1]:8501", True),
        (None, "http://[::1]:8501", True),
    ],
)
def test_greeting_has_address_and_warnings(address: str | None, url: str, warns: bool) -> None:
    assert where(address, 8501) == url
    text = greeting(address, url)
    assert url in text
    assert ("no password" in text) is warns
    assert ("every other address" in text) is (address in (None, "0.0.0.0", "::"))


def test_address_includes_tls_and_path(
    start_with: Callable[[dict[str, Any]], None],
) -> None:
    start_with({"server.sslCertFile": "class.crt", "server.baseUrlPath": "/class/room/"})
    assert where("192.0.2.7", 8501) == "https://192.0.2.7:8501/class/room"
    start_with({"server.baseUrlPath": "class"})
    assert where("::1", 8501) == "http://[::1]:8501/class"
