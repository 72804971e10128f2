"""Server of the app on a free port of this machine."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
AUDITED = Path(__file__).resolve().parent / "audited"
START = 60.0  # seconds the server may take to answer
HEADLESS = ("--server.headless", "true")
_ITSELF = re.compile(r"""\t(None|b?['"].*|\(['"](127\.[\d.]+|::1|localhost)['"].*)$""")
_NAME = re.compile(r"""^socket\.get\w+\tb?['"](?!127\.|::1|localhost|0\.0\.0\.0|['"])""")


@contextmanager
def served_app(
    log: Path,
    *,
    folder: Path = ROOT,
    options: Sequence[str] = HEADLESS,
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Serve the app of `folder` and yield its address.

    Its output goes to `log`, and its connections are recorded for `foreign_hosts`.
    """
    port = free_port()
    server = start_server(port, log, folder=folder, options=options, environment=environment)
    try:
        wait_until_healthy(server, port, log)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def start_server(
    port: int,
    log: Path,
    *,
    folder: Path = ROOT,
    options: Sequence[str] = HEADLESS,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a server of the app of `folder`; its output is appended to `log`."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    command += ["--server.port", str(port)]
    paths = [str(AUDITED), *filter(None, [os.environ.get("PYTHONPATH")])]
    watched = {"PYTHONPATH": os.pathsep.join(paths), "GRAFTVIZ_CONNECTIONS": str(_record(log))}
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **watched, **(environment or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def foreign_hosts(log: Path) -> list[str]:
    """Return the hosts that the server with this log connected to or resolved, except its own."""
    record = _record(log)
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return [line for line in lines if _NAME.search(line) or not _ITSELF.search(line)]


def _record(log: Path) -> Path:
    return log.with_suffix(".connections")


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server answers; fail with its log if it ends or takes too long."""
    deadline = time.monotonic() + START
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the server ended:\n{log.read_text(errors='replace')}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"no answer after {START} s:\n{log.read_text(errors='replace')}")
