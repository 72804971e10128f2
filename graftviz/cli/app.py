"""``graftviz app``: serve the pages to a browser."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys

from graftviz.cli.arguments import integer
from graftviz.utils.errors import InputError
from graftviz.utils.installed import beside_package
from graftviz.utils.wording import quoted

_ADDRESS = re.compile(r"[A-Za-z0-9.:-]{1,253}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the place where the server listens."""
    parser.add_argument("--port", type=integer, default=8501, metavar="N", help="default: 8501")
    parser.add_argument(
        "--address",
        default="127.0.0.1",
        help="address to listen on; the default, 127.0.0.1, is this machine only",
    )
    parser.add_argument("--headless", action="store_true", help="open no browser")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; return the exit code."""
    if not 1 <= arguments.port <= 65535:
        raise InputError(f"--port must be a number from 1 to 65535; got {arguments.port}.")
    if importlib.util.find_spec("streamlit") is None:
        raise InputError('The app needs Streamlit: install it with pip install "graftviz[app]".')
    if not _ADDRESS.fullmatch(arguments.address):
        raise InputError(
            f"--address must be an address or a host name, not {quoted(arguments.address)}."
        )
    command = [sys.executable, "-m", "streamlit", "run", str(beside_package("app.py"))]
    command += [f"--server.port={arguments.port}", f"--server.address={arguments.address}"]
    command += [f"--server.headless={str(arguments.headless).lower()}"]
    return serve(command)


def serve(command: list[str]) -> int:
    """Replace this process by the server, so that signals reach it; on Windows, wait for it."""
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode
