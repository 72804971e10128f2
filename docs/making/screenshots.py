"""``python -m docs.making.screenshots [NAME …]``: take the screenshots of the app.

The app is served on this machine and shown in Chromium (which has to be installed; Playwright comes
with the extra ``test``). What is shown is decided by addresses and seeds; only measured times, and
how a platform draws letters, differ from one taking to the next.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from docs.making.scenes import MOST_BYTES, SCENES, Scene

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
_START, _COMPILING, _SETTLING = 60.0, 600.0, 90.0  # seconds each may take at most
_REST = 1.5  # seconds in which nothing may change
_BUSY = re.compile(
    r"[Cc]ompil(ing|ed)|Computing|Running exact|Comparing the rules|learning…|Waiting for"
)
_COLOURS = (256, 128, 64)  # as many as fit into `MOST_BYTES`


@contextmanager
def _served() -> Iterator[str]:
    """Serve the app on a free port and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += ["--server.port", str(port), "--server.headless", "true"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        give_up = time.monotonic() + _START
        while not _answers(address):
            if server.poll() is not None or time.monotonic() > give_up:
                raise SystemExit("The app did not start.")
            time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}_stcore/health", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _settled(page: Page) -> bytes:
    """Return the picture once it no longer changes."""
    give_up = time.monotonic() + _SETTLING
    before = b""
    while time.monotonic() < give_up:
        now = page.screenshot()
        if now == before:
            return now
        before = now
        page.wait_for_timeout(1000 * _REST)
    raise SystemExit(f"{page.url} does not come to rest.")


def _words(page: Page) -> str:
    """Return the visible text of the page, including that of views, which have shadow roots."""
    parts = ("body", ".gv-player")
    return "\n".join(text for part in parts for text in page.locator(part).all_inner_texts())


def small(picture: bytes) -> bytes:
    """Return a PNG in all its colours, or in fewer where it would be too large."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    versions = (image, *(image.quantize(colours, dither=Image.Dither.NONE) for colours in _COLOURS))
    for version in versions:
        out = io.BytesIO()
        version.save(out, "PNG", optimize=True)
        if out.tell() <= MOST_BYTES:
            break
    return out.getvalue()


def _take(browser: Any, address: str, scene: Scene) -> bytes:
    """Open a page again and again, until nothing is worked out behind it any more."""
    context = browser.new_context(
        viewport={"width": scene.width, "height": scene.height},
        color_scheme="light",
        reduced_motion="reduce",
    )
    give_up = time.monotonic() + _COMPILING
    try:
        page = context.new_page()
        page.set_default_timeout(1000 * _COMPILING)
        while True:
            page.goto(address + scene.address)
            page.locator(scene.shown).first.wait_for()
            if scene.click:
                page.locator(scene.click).first.click()
            picture = _settled(page)
            if not _BUSY.search(_words(page)):
                return small(picture)
            if time.monotonic() > give_up:
                raise SystemExit(f"{page.url} does not finish.")
    finally:
        context.close()


def main(names: list[str]) -> None:
    """Take the pictures of these names, or all."""
    unknown = [name for name in names if name not in SCENES]
    if unknown:
        raise SystemExit(f"There is no scene {unknown[0]}; there are {', '.join(SCENES)}.")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with _served() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        for name in names or SCENES:
            (IMAGES / name).write_bytes(_take(browser, address, SCENES[name]))
            sys.stdout.write(f"{name}\n")  # it takes minutes: say how far it is
            sys.stdout.flush()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
