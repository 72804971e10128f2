"""A restarted server: the page reconnects and shows the same step."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served_app import free_port, start_server, wait_until_healthy
from waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOST = re.compile(
    r"WebSocket|ERR_CONNECTION|Failed to load resource|Failed to fetch|timed out"
    r"|reaching server endpoint|server is not responding|when disconnected from server"
)


class Server:
    """Server of the app that can be killed and started again."""

    def __init__(self, log: Path) -> None:
        self.port, self.log = free_port(), log
        self.address = f"http://127.0.0.1:{self.port}/"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = start_server(self.port, self.log)
        wait_until_healthy(self.process, self.port, self.log)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "server.log")
    yield server
    server.kill()
    assert "Traceback" not in server.log.read_text(errors="replace")


def step(page: Any) -> int:
    slider = page.get_by_role("slider", name="Step", exact=True)
    return int(slider.get_attribute("aria-valuenow"))


def shown(page: Any) -> tuple[str, str, str]:
    """Return the texts of the run, of the shown step, and its description."""
    return (
        page.locator(".gv-head").inner_text(),
        re.sub(r" of \d+\+?", "", " ".join(page.locator(".gv-position").inner_text().split())),
        page.locator(".gv-words").inner_text(),
    )


def test_page_shows_same_step_after_restart_of_server(
    server: Server, open_page: Callable[..., Any]
) -> None:
    server.start()
    page = open_page()
    page.goto(f"{server.address}?alpha=0.5&seed=2")
    page.locator(".gv-player .gv-body:not([hidden])").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    eventually(page, lambda: step(page) >= 4)
    page.get_by_role("button", name="Pause", exact=True).click()
    at = step(page)
    eventually(page, lambda: f"step={at}" in page.evaluate("location.search"))
    before, address = shown(page), page.evaluate("location.search")
    server.kill()
    page.wait_for_timeout(300)
    assert shown(page) == before, "loaded steps are not shown without the server"
    app = page.locator("[data-testid=stApp]")
    eventually(page, lambda: app.get_attribute("data-test-connection-state") != "CONNECTED")
    server.start()
    page.locator("[data-test-connection-state=CONNECTED]").wait_for(timeout=60_000)
    page.locator(".gv-player .gv-body:not([hidden])").wait_for()
    eventually(page, lambda: step(page) == at and shown(page) == before)
    assert page.evaluate("location.search") == address
    # The new server computes the following steps of the run.
    page.get_by_role("button", name="Play", exact=True).click()
    eventually(page, lambda: step(page) >= at + 10)
    assert page.get_by_test_id("stAlert").count() == 0
    # Failed connections are expected.
    open_page.troubles[:] = [text for text in open_page.troubles if not LOST.search(text)]
