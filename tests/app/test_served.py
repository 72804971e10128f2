"""The served app: where it listens, whom it answers, and what it discloses."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.browser.served_app import foreign_hosts, served_app

HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
ELSEWHERE = "http://elsewhere.example"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Served(NamedTuple):
    """Address and log of the server of this file."""

    host: str
    log: Path

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Request a path as written; underscores in names of headers become hyphens."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        body = b"" if answer.status == 101 else answer.read()
        connection.close()
        return Answer(answer.status, found, body)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("log") / "log"
    with served_app(log) as url:
        yield Served(urlsplit(url).netloc, log)
    assert "Traceback" not in log.read_text(errors="replace")


def test_server_listens_on_this_machine_only(served: Served) -> None:
    tables = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]
    if not tables[0].exists():
        pytest.skip("only Linux lists its sockets in /proc")
    port = f":{int(served.host.rpartition(':')[2]):04X}"
    lines = [line.split() for table in tables if table.exists() for line in table.open()]
    listening = {fields[1] for fields in lines if fields[3] == "0A" and fields[1].endswith(port)}
    assert listening == {"0100007F" + port}
    assert foreign_hosts(served.log) == []


def test_pages_of_another_origin_cannot_connect(served: Served) -> None:
    own = f"http://{served.host}"
    assert served.ask("/_stcore/stream", **HANDSHAKE, Origin=own).status == 101
    assert served.ask("/_stcore/stream", **HANDSHAKE, Origin=ELSEWHERE).status == 403
    assert b'"allowedOrigins":[]' in served.ask("/_stcore/host-config").body


def test_upload_requires_session_and_token(served: Served) -> None:
    path, cookie = "/_stcore/upload_file/session/file", served.ask("/_stcore/health").headers
    token = cookie["set-cookie"].split(";")[0].split("=", 1)[1]
    assert "samesite=strict" in cookie["set-cookie"].lower()
    assert served.ask(path, "PUT").status in (400, 403)
    assert served.ask(path, "DELETE").status in (400, 403)
    named = {"Cookie": f"_streamlit_xsrf={token}", "X_Xsrftoken": token}
    assert served.ask(path, "PUT", **named).status == 400  # no such session


@pytest.mark.parametrize(
    "path",
    [
        *("/app.py", "/.streamlit/config.toml", "/pages/grow.py", "/static/", "/static/js/"),
        *("/static/../index.html", "/static/../../../app.py", "/static/%2e%2e/%2e%2e/x.py"),
        *("/static/..%2f..%2f..%2fetc%2fpasswd", "/static/..\\..\\x.py", "//etc/passwd"),
        *("/media/", "/media/../app.py", "/media/%2e%2e%2fapp.py", "/component/", "/component/x"),
        *("/component/graftviz_player/../../app.py", "/_stcore/bidi-components/x/../../app.py"),
        *("/_stcore/bidi-components/x/%2e%2e/app.py", "/app/static/app.py", "/_stcore/"),
        *("/_stcore/upload_file/", "/_stcore/upload_file/a/b", "/_stcore/script-health-check"),
        *("/_stcore/agent/interact", "/_stcore/agent/mcp", "/static/%00"),
    ],
)
def test_no_path_serves_files_listings_or_internals(served: Served, path: str) -> None:
    front = served.ask("/").body
    for method in ("GET", "POST"):
        answer = served.ask(path, method)
        if answer.status == 200:
            assert answer.body == front, "unknown paths should serve the page"
        else:
            assert len(answer.body) < 400
            assert not re.search(rb"Traceback|File \"|\.py|root:|Streamlit v", answer.body)
