"""The app in a frame of another site: allowed on listed origins, blocked on others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from open_pages import Pages
from served_app import served_app
from waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMPILING = 400_000  # ms of the first start, which compiles the engine


class CoursePage(BaseHTTPRequestHandler):
    """Page with a frame whose address is the query."""

    def do_GET(self) -> None:
        """Answer every path with the page."""
        body = f"<!doctype html><iframe src='{self.path[2:]}' width=1300 height=850></iframe>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[int]:
    """Return the port of a server of course pages; ``localhost`` is another site than 127.0.0.1."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), CoursePage)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_app_works_in_frames_of_listed_origins_only(
    driver: Any, site: int, tmp_path: Path
) -> None:
    limits, log = tmp_path / "limits.toml", tmp_path / "server.log"
    limits.write_text(f"embed_origins = ['http://localhost:{site}']\n", encoding="utf-8")
    pages = Pages(driver)
    refused: list[str] = []
    with served_app(log, environment={"GRAFTVIZ_LIMITS": str(limits)}) as app:
        query = f"/?{app}grow?data=karate&learner=chow-liu"
        page = pages.new(viewport={"width": 1340, "height": 900})
        page.on("console", lambda message: refused.append(message.text))
        page.goto(f"http://localhost:{site}{query}")
        frame = page.frame_locator("iframe")
        frame.locator(".gv-player .gv-body:not([hidden])").wait_for(timeout=COMPILING)
        frame.get_by_role("slider", name="Step", exact=True).wait_for()
        assert not any("frame-ancestors" in text for text in refused)
        page.goto(f"http://127.0.0.1:{site}{query}")
        eventually(page, lambda: any("frame-ancestors" in text for text in refused))
        assert page.frame_locator("iframe").locator(".stApp").count() == 0
    pages.browser.close()
