"""The wheel: it contains the app, its pages and the sample data, and needs no checkout."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from installed_wheel import ROOT, unpacked_wheel

from graftviz.cli import app
from graftviz.utils.errors import InputError

WAIT = 120.0  # seconds a server may take to answer


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the content of the wheel."""
    return unpacked_wheel(tmp_path_factory.mktemp("wheel"))


def python(installed: Path, code: str) -> str:
    """Return the output of Python code with the installed package in an empty folder."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed.parent,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_every_file_of_the_package_is_in_the_wheel(installed: Path) -> None:
    made = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "graftviz"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("not a git checkout: the files of the project are unknown")
    missing = [name for name in made.stdout.splitlines() if not (installed / name).exists()]
    assert missing == []
    assert (installed / "graftviz" / "py.typed").exists()


def test_top_level_files_are_in_the_wheel(installed: Path) -> None:
    inside = installed / "graftviz" / "_app"
    for name in ("app.py", "pages", "sample_data", ".streamlit"):
        source = ROOT / name
        for path in [source] if source.is_file() else source.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                copy = inside / path.relative_to(ROOT)
                assert copy.read_bytes() == path.read_bytes()


def test_sample_data_are_read_without_a_checkout(installed: Path) -> None:
    code = (
        "from graftviz.data.sets.registry import load_dataset; import graftviz; "
        "print(graftviz.__file__, len(load_dataset('survey').table.names))"
    )
    place, variables = python(installed, code).split()
    assert Path(place).is_relative_to(installed)
    assert int(variables) > 2


@pytest.fixture
def port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_the_command_serves_the_pages_of_the_wheel(installed: Path, port: int) -> None:
    command = [sys.executable, "-m", "graftviz", "app", "--headless", "--port", str(port)]
    server = subprocess.Popen(
        command,
        cwd=installed.parent,
        env=os.environ | {"PYTHONPATH": str(installed)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        answer, until = b"", time.monotonic() + WAIT
        while not answer and server.poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health") as health:
                    answer = health.read()
            except OSError:
                time.sleep(0.2)
        assert answer == b"ok", server.stderr and server.stderr.read()
    finally:
        server.terminate()
        server.wait(30)


def test_missing_streamlit_error_names_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app.importlib.util, "find_spec", lambda _: None)
    arguments = app.argparse.Namespace(port=8501, address="127.0.0.1", headless=True)
    with pytest.raises(InputError, match=r"pip install \"graftviz\[app\]\""):
        app.run(arguments)
    with pytest.raises(InputError, match="--port must be a number from 1 to 65535; got 0"):
        app.run(app.argparse.Namespace(**{**vars(arguments), "port": 0}))
