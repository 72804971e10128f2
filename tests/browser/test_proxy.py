"""The documented proxy of the app: TLS, a password, a websocket, uploads and downloads."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import ssl
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pytest
from served_app import free_port
from waiting import eventually

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "docs" / "serving" / "nginx.conf"
PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
PASSWORD = "long and shared"
TOKEN = "0123456789abcdef" * 4
MAIN = """
{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    map '' $graftviz_token {{ default {token}; }}
    include {folder}/site.conf;
}}
"""
HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no nginx found: install it to test the proxy"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate"),
]


class Proxy(NamedTuple):
    """Ports and folder of a running proxy."""

    port: int
    plain_port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/"

    def ask(self, path: str, **named: str) -> http.client.HTTPResponse:
        """Send a request with the given headers."""
        trusting = ssl.create_default_context(cafile=str(self.folder / "tls.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=trusting)
        connection.request("GET", path, headers=named)
        return connection.getresponse()


def basic(password: str) -> str:
    return "Basic " + b64encode(f"class:{password}".encode()).decode()


def changed(text: str, changes: dict[str, str]) -> str:
    """Replace the site-specific parts of the site's file, each of which must be present."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def proxy(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Proxy of the app by the site's file, with ports, certificate and password of this test."""
    folder = tmp_path_factory.mktemp("nginx")
    key, certificate = folder / "tls.key", folder / "tls.crt"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
    command += " -addext subjectAltName=IP:127.0.0.1"
    arguments = [*command.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(arguments, check=True, capture_output=True)
    hashed = subprocess.run(
        ["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True
    )
    (folder / "htpasswd").write_text(f"class:{hashed.stdout}")
    proxy = Proxy(free_port(), free_port(), folder)
    changes = {
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{proxy.plain_port};",
        "listen 443 ": f"listen 127.0.0.1:{proxy.port} ",
        "class.example.org": "127.0.0.1",
        "/etc/nginx/tls/graftviz.crt": str(certificate),
        "/etc/nginx/tls/graftviz.key": str(key),
        "/etc/nginx/graftviz.htpasswd": str(folder / "htpasswd"),
        "http://127.0.0.1:8501": address.rstrip("/"),
    }
    site = SITE.read_text(encoding="utf-8")
    (folder / "site.conf").write_text(changed(site, changes))
    user = "user root;" if os.getuid() == 0 else ""  # user who can read the folder of this test
    main = folder / "main.conf"
    main.write_text(MAIN.format(user=user, folder=folder, token=TOKEN))
    run = [str(PROGRAM), "-c", str(main), "-p", str(folder), "-e", str(folder / "error.log")]
    tested = subprocess.run([*run, "-t"], check=False, capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    server = subprocess.Popen([*run, "-g", "daemon off;"])
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                proxy.ask("/")
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield proxy
    finally:
        server.terminate()
        server.wait(10)
    log = (folder / "error.log").read_text()
    assert not re.search(r"\[(emerg|alert|crit)\]|temporary file", log), log


def test_requests_without_password_are_refused(proxy: Proxy) -> None:
    for path in ("/", "/static/js/index.js", "/_stcore/health", "/_stcore/host-config"):
        for credentials in ({}, {"Authorization": basic("wrong")}, {"Cookie": "graftviz="}):
            answer = proxy.ask(path, **credentials)
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == 'Basic realm="graftviz"'
            assert answer.headers["Set-Cookie"] is None
    refused = proxy.ask("/_stcore/stream", **HANDSHAKE)
    assert refused.status == 401
    assert proxy.ask("/_stcore/stream", **HANDSHAKE, Cookie=f"graftviz={'0' * 64}").status == 401


def test_password_or_its_cookie_gives_access(proxy: Proxy) -> None:
    page = proxy.ask("/", Authorization=basic(PASSWORD))
    assert page.status == 200
    cookie = page.headers["Set-Cookie"]
    assert cookie == f"graftviz={TOKEN}; Path=/; Secure; HttpOnly; SameSite=Strict"
    assert page.headers["Strict-Transport-Security"]
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Server"] == "nginx"
    shown = {"Cookie": cookie.split(";")[0]}
    assert proxy.ask("/_stcore/health", **shown).status == 200
    assert proxy.ask("/_stcore/stream", **HANDSHAKE, **shown).status == 101
    own, other = f"https://127.0.0.1:{proxy.port}", "https://elsewhere.example"
    assert proxy.ask("/_stcore/stream", **HANDSHAKE, **shown, Origin=own).status == 101
    assert proxy.ask("/_stcore/stream", **HANDSHAKE, **shown, Origin=other).status == 403
    for path in ("/_stcore/metrics", "/_stcore/agent/mcp", "/_stcore/agent/openapi.json"):
        assert proxy.ask(path, **shown).status == 404


def test_plain_http_redirects_to_tls(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.plain_port)
    connection.request("GET", "/race?seed=1")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"]) == (308, "https://127.0.0.1/race?seed=1")


@pytest.mark.slow
def test_app_works_behind_proxy(proxy: Proxy, open_page: Any, tmp_path: Path) -> None:
    credentials = {"username": "class", "password": PASSWORD}
    page = open_page(http_credentials=credentials, ignore_https_errors=True)
    page.goto(f"{proxy.url}?data=karate")
    player = page.locator(".gv-player .gv-body:not([hidden])")
    player.wait_for(timeout=400_000)
    timeline = page.get_by_role("slider", name="Step", exact=True)
    page.get_by_role("button", name="Play", exact=True).click()
    eventually(page, lambda: int(timeline.get_attribute("aria-valuenow")) >= 2)
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role(
            "button", name="Web page of this run (needs no server)", exact=True
        ).click()
    download.value.save_as(tmp_path / "replay.html")
    assert b"Karate" in (tmp_path / "replay.html").read_bytes()
    page.keyboard.press("Escape")
    large = tmp_path / "large.csv"
    bits = np.random.default_rng(0).integers(0, 2, size=(250_000, 10))
    np.savetxt(large, bits, fmt="%d", delimiter=",", header=",".join("abcdefghij"), comments="")
    assert large.stat().st_size > 5_000_000
    page.get_by_role("combobox").first.click()
    page.get_by_text("Your own data…").click()
    page.locator("input[type=file]").first.set_input_files(large)
    head = page.locator(".gv-head")
    eventually(page, lambda: "large.csv" in head.inner_text())
    assert urlsplit(page.url).port == proxy.port
