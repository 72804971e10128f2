"""The app, served on a free port of this machine for as long as it is needed."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
START = 60.0  # seconds the server may take to answer


@contextmanager
def served_app(log: Path) -> Iterator[str]:
    """Serve the app and yield its address; what it prints goes to `log`."""
    port = free_port()
    server = start_server(port, log)
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


def start_server(port: int, log: Path) -> subprocess.Popen[bytes]:
    """Start to serve the app; what it prints is added to `log`."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += ["--server.port", str(port), "--server.headless", "true"]
    with log.open("ab") as output:
        return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)


def free_port() -> int:
    """Return a port of this machine that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_healthy(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server answers; fail with its log when it ends or takes too long."""
    give_up = time.monotonic() + START
    while time.monotonic() < give_up:
        assert server.poll() is None, f"the server ended:\n{log.read_text(errors='replace')}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"no answer after {START} s:\n{log.read_text(errors='replace')}")
