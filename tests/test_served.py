"""The server of the container files: served pages and refused requests."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from containerfile import read_recipe
from waiting import wait_until

from graftviz.serving.guard import headers
from tests.browser.served_app import START, foreign_hosts, free_port, served_app
from tests.load.wire import Wire

HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
WANTED = "--server.address 0.0.0.0"
ELSEWHERE = "http://elsewhere.example"
SENTENCE = re.compile(rb"[A-Z][^.\n]*\.\n")
LISTED = "class.example.org"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Served(NamedTuple):
    """Address, folder and log of the server of this file."""

    host: str
    folder: Path
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


def files_of(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Server of the container's files with its options, run by this interpreter.

    Its address is omitted: all addresses within a container, the default here. The name of the host
    is set as in the container.
    """
    recipe = read_recipe()
    folder = tmp_path_factory.mktemp("graftviz")
    recipe.copy_to(folder)
    before = files_of(folder)
    k = recipe.server_options.index("--server.address")
    options = recipe.server_options[:k] + recipe.server_options[k + 2 :]
    home, log = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("log") / "log"
    environment = {**recipe.environment, "HOME": str(home)}
    environment["STREAMLIT_SERVER_ALLOWED_HOSTS"] = LISTED
    with served_app(log, folder=folder, options=options, environment=environment) as url:
        yield Served(urlsplit(url).netloc, folder, log)
    assert files_of(folder) == before, "the server wrote to its folder"
    text = log.read_text(errors="replace")
    assert "Traceback" not in text
    assert text.count("graftviz is at http://127.0.0.1:") == 1


def test_page_is_served_with_its_headers(served: Served) -> None:
    assert served.ask("/_stcore/health").body == b"ok"
    page = served.ask("/race?x=1")
    assert page.status == 200
    assert b"<title>" in page.body
    promised = headers(page.body.decode())
    policy = promised["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"script-src[^;]*(unsafe|\*|http)", policy)
    script = re.search(rb'src="\.(/static/js/[^"]+)"', page.body)
    assert script
    paths = ("/", script[1].decode(), "/nothing/here.js", "/_stcore/health", "/media/nothing")
    for answer in map(served.ask, paths):
        assert promised.items() <= answer.headers.items()
    assert promised.items() <= served.ask("/", Host="elsewhere.example").headers.items()


def test_pages_of_listed_origins_may_embed_the_app(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("embedded")
    origins = ("https://learn.example.org", "https://*.school.example:8443")
    (folder / "limits.toml").write_text(f"embed_origins = {list(origins)}\n", encoding="utf-8")
    environment = {"GRAFTVIZ_LIMITS": str(folder / "limits.toml")}
    with served_app(folder / "log", environment=environment) as url:
        server = Served(urlsplit(url).netloc, folder, folder / "log")
        page = server.ask("/")
        promised = headers(page.body.decode(), origins)
        for answer in (page, *map(server.ask, ("/race", "/_stcore/health", "/media/nothing"))):
            assert promised.items() <= answer.headers.items()
            assert "x-frame-options" not in answer.headers
        policy = page.headers["content-security-policy"]
        assert policy.endswith(f"frame-ancestors {' '.join(origins)}")
        # Listed origins may embed the app, but not connect.
        foreign = server.ask("/_stcore/stream", **HANDSHAKE, Origin=origins[0])
        assert foreign.status == 403
        assert b'"allowedOrigins":[]' in server.ask("/_stcore/host-config").body


def test_server_listens_on_this_machine_only(served: Served) -> None:
    tables = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]
    if not tables[0].exists():
        pytest.skip("only Linux lists its sockets in /proc")
    port = f":{int(served.host.rpartition(':')[2]):04X}"
    lines = [line.split() for table in tables if table.exists() for line in table.open()]
    listening = {fields[1] for fields in lines if fields[3] == "0A" and fields[1].endswith(port)}
    assert listening == {"0100007F" + port}


@pytest.mark.parametrize("name", [LISTED, LISTED.upper() + ".", "localhost", "192.0.2.20", "[::1]"])
def test_page_loads_and_connects_under_each_name_of_host(served: Served, name: str) -> None:
    host = f"{name}:{served.host.rpartition(':')[2]}"
    assert served.ask("/", Host=host).status == 200
    named = {**HANDSHAKE, "Host": host, "Origin": f"http://{host}"}
    assert served.ask("/_stcore/stream", **named).status == 101


def test_refused_request_sends_no_other_request(served: Served) -> None:
    assert served.ask("/_stcore/stream", **HANDSHAKE, Origin=ELSEWHERE).status == 403
    assert foreign_hosts(served.log) == []


def token_of(served: Served) -> dict[str, str]:
    """Return the headers that prove that a page of this server is open."""
    cookie = served.ask("/_stcore/health").headers["set-cookie"]
    assert "samesite=strict" in cookie.lower()
    token = cookie.split(";")[0].split("=", 1)[1]
    return {"Cookie": f"_streamlit_xsrf={token}", "X_Xsrftoken": token}


def test_upload_requires_session_and_token_of_own_page(served: Served) -> None:
    path, own, token = "/_stcore/upload_file/session/file", served.host, token_of(served)
    assert served.ask(path, "DELETE").status == 403
    assert served.ask(path, "PUT", **token, Origin=ELSEWHERE).status == 403
    assert served.ask(path, "PUT").status == 404
    unknown = served.ask(path, "PUT", **token, Origin=f"http://{own}")
    assert unknown.status == 404
    assert SENTENCE.fullmatch(unknown.body)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "2|",
        "2|zz|zz|1",
        "\xff\xfe",
        "2|ab|ab|" + "9" * 5000,
        "x" * 9000,
        "%00",
        "2|\x1b[31m|a|1",
    ],
)
def test_a_bad_token_is_refused_without_a_traceback(served: Served, token: str) -> None:
    async def upload() -> None:
        wire = Wire(f"http://{served.host}/", {})
        await wire.open()
        async with asyncio.timeout(60):
            while not wire.session:
                await asyncio.sleep(0.05)
        path = f"/_stcore/upload_file/{wire.session}/file"
        for cookie, header in ((token, token), ("", token), (token, "")):
            named = {"Cookie": f"_streamlit_xsrf={cookie}", "X_Xsrftoken": header}
            answer = await asyncio.to_thread(served.ask, path, "PUT", **named)
            assert answer.status in (400, 403)
            assert len(answer.body) < 200
        await wire.close()

    asyncio.run(upload())
    assert "Traceback" not in served.log.read_text(errors="replace")


LONG = "a" * 60_000


@pytest.mark.parametrize(
    ("path", "named", "statuses"),
    [
        (f"/{LONG}", {}, {200, 404}),
        (f"/?{LONG}", {}, {200}),
        (f"/_stcore/upload_file/{LONG}/x", {}, {404}),
        (f"/media/{LONG}", {}, {404}),
        (f"/static/{LONG}", {}, {200, 404}),
        ("/static/%1b[31m%0aforged%e2%80%ae", {}, {404}),
        ("/", {"Host": LONG}, {400}),
        ("/_stcore/stream", {**HANDSHAKE, "Origin": f"http://{LONG[:4000]}"}, {403}),
        ("/", {"Cookie": LONG}, {200}),
        ("/", {"X-Forwarded-For": LONG, "Host": "elsewhere.example"}, {400}),
        ("/" + "a" * 200_000, {}, {400}),
    ],
)
def test_long_and_malformed_requests_are_answered_in_one_sentence(
    served: Served, path: str, named: dict[str, str], statuses: set[int]
) -> None:
    before = served.log.stat().st_size
    method = "PUT" if "upload_file" in path else "GET"
    try:
        answer = served.ask(path, method, **named)
    except ConnectionError:  # the server closes the connection before all is sent
        assert len(path) > 100_000
    else:
        assert answer.status in statuses
        assert answer.status == 200 or len(answer.body) < 200
    written = served.log.read_bytes()[before:].decode(errors="replace")
    assert len(written) < 600
    assert "Traceback" not in written
    assert all(line.isprintable() for line in written.splitlines())


def test_many_foreign_hosts_are_logged_in_few_short_lines(served: Served) -> None:
    before = served.log.stat().st_size
    for k in range(300):
        assert served.ask("/", Host=f"{k}\x9b31m{LONG}").status == 400
        named = {**HANDSHAKE, "Origin": f"http://{k}{LONG[:4000]}"}
        assert served.ask("/_stcore/stream", **named).status == 403
    written = served.log.read_bytes()[before:].decode(errors="replace")
    assert len(written) < 10_000
    assert len(written.splitlines()) <= 30
    assert all(line.isprintable() for line in written.splitlines())


def test_no_session_id_is_logged(served: Served) -> None:
    """Check sessions opened while the first page is connected, which Streamlit logs."""

    async def visit() -> str:
        one, other = (Wire(f"http://{served.host}/", {}) for _ in range(2))
        await one.open()
        async with asyncio.timeout(60):
            while not one.session:
                await asyncio.sleep(0.05)
        other.session = one.session
        await other.open(again=True)
        await other.finished()
        await other.close()
        await one.close()
        return one.session

    session = asyncio.run(visit())
    written = served.log.read_text(errors="replace")
    assert "is already connected" in written
    assert session not in written


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/static/js/", "/_stcore/stream"])
def test_foreign_host_name_is_refused(served: Served, path: str) -> None:
    for name in ("elsewhere.example", "127.0.0.1.elsewhere.example", "", "[", "a@b"):
        answer = served.ask(path, Host=name)
        assert answer.status == 400, name
    assert served.ask(path, Host="elsewhere.example", **HANDSHAKE).status in (400, 403)


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
        *("/_stcore/agent/interact", "/_stcore/agent/mcp", "/static/\x7f".replace("\x7f", "%00")),
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
            assert not re.search(
                rb"Traceback|File \"|\.py|root:|Streamlit v|\d+\.\d+\.\d", answer.body
            )
        assert "version" not in str(answer.headers).lower()


def test_metrics_and_host_config_disclose_little(served: Served) -> None:
    metrics = served.ask("/_stcore/metrics").body.decode()
    families = set(re.findall(r"^# TYPE (\w+)", metrics, re.MULTILINE))
    assert families <= {
        *("session_events", "session_duration_seconds", "active_sessions"),
        *("cache_memory_bytes", "cache_lookups", "cache_evictions"),
        "cache_compute_duration_seconds",
    }
    assert served.ask("/_stcore/metrics", X_Forwarded_For="192.0.2.7").status == 404
    assert b'"allowedOrigins":[]' in served.ask("/_stcore/host-config").body


@pytest.mark.nightly
def test_container_recipe_builds_and_serves(tmp_path: Path) -> None:
    """Run every step in a new environment: takes minutes and a package index."""
    recipe = read_recipe()
    folder = tmp_path / "graftviz"
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "image"], check=True)
    programs = f"{tmp_path / 'image' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {**recipe.environment, "PATH": programs, "HOME": str(tmp_path)}
    recipe.copy_to(folder)
    for step in recipe.all_of("RUN"):
        subprocess.run(["sh", "-ec", step], cwd=folder, env=environment, check=True)
    compiled = list((folder / "kernels").rglob("*.nbc"))
    assert len(compiled) > 100
    port = free_port()
    assert WANTED in recipe.command
    command = recipe.command.replace(WANTED, "").replace("8501", str(port))
    server = subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment)
    try:
        place = Served(f"127.0.0.1:{port}", folder, tmp_path / "log")

        def is_healthy() -> bool:
            assert server.poll() is None
            try:
                return place.ask("/_stcore/health").body == b"ok"
            except OSError:
                return False

        wait_until(is_healthy, START)
        assert b"<title>" in place.ask("/").body
        words = recipe.all_of("HEALTHCHECK")[0].split(" CMD ")[1].replace("8501", str(port))
        program, *rest = json.loads(words)
        assert subprocess.run([sys.executable, *rest], check=False).returncode == 0, program
    finally:
        server.terminate()
        server.wait(20)
