"""``python -m docs.making.screenshots [NAME …]``: take the README's pictures of the app anew.

The app is served on this machine and shown in Chromium (which has to be installed; Playwright comes
with the extra ``test``). What is shown is decided by addresses and seeds; only measured times, and
how a platform draws letters, differ from one taking to the next.
"""

from __future__ import annotations

import io
import os
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
from typing import Any, NamedTuple

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
MOST_BYTES = 300_000
_START, _COMPILING, _SETTLING = 60.0, 600.0, 90.0  # seconds each may take at most
_REST = 1.5  # seconds in which nothing may change
_COLOURS = (256, 128, 64)  # as many as fit into `MOST_BYTES`


class Scene(NamedTuple):
    """A page in a state worth a picture.

    Attributes
    ----------
    address : str
    shown : str
        CSS selector of what has to be there.
    width, height : int
        Of the window, in CSS pixels.
    click : str
        CSS selector of what is clicked once it is there; empty: nothing.
    """

    address: str
    shown: str
    width: int = 1400
    height: int = 900
    click: str = ""


_BODY = ".gv-player .gv-body:not([hidden])"
SCENES: dict[str, Scene] = {
    "grow.png": Scene("?step=41", _BODY),
    "race.png": Scene("race?at=end&axis=tests", ".gv-race-table", height=1000),
    "reservoir.png": Scene("reservoir", ".st-key-reservoir_scores .js-plotly-plot", height=960),
    "regions.png": Scene("regions", ".gv-region-body", height=1010),
    "prune.png": Scene("prune?step=3", ".gv-prune-body"),
    "budget.png": Scene("budget?step=20", ".gv-budget-body"),
    "dynamics.png": Scene("dynamics?data=city&node=0", ".gv-dynamics-body", 1000, 1165),
    "inspect.png": Scene("inspect?data=survey&evidence=0:1,5:0&node=3", ".gi canvas", height=880),
    "lessons.png": Scene("lessons", ".st-key-lesson_alpha", height=760),
    "tour.png": Scene("?step=41&tour=1", ".card", height=760, click=".card .next"),
}


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
    """Return the picture once it no longer changes, and no page says that it compiles."""
    give_up = time.monotonic() + _SETTLING
    before = b""
    while time.monotonic() < give_up:
        now = page.screenshot()
        if now == before:
            return now
        before = now
        page.wait_for_timeout(1000 * _REST)
    raise SystemExit(f"{page.url} does not come to rest.")


def _without_compiling(page: Page) -> None:
    """Wait until nothing is compiled behind the page: it would say so in the picture."""
    give_up = time.monotonic() + _COMPILING
    page.wait_for_timeout(2000)
    while time.monotonic() < give_up:
        told = page.locator("body").inner_text()
        if "ompiling" not in told and "being compiled" not in told:
            return
        page.wait_for_timeout(3000)
        page.reload()
        page.wait_for_timeout(3000)


def small(picture: bytes) -> bytes:
    """Return a PNG of at most 256 colours, fewer where it would be too large."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for colours in _COLOURS:
        out = io.BytesIO()
        image.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if out.tell() <= MOST_BYTES:
            break
    return out.getvalue()


def _take(browser: Any, address: str, scene: Scene) -> bytes:
    context = browser.new_context(
        viewport={"width": scene.width, "height": scene.height},
        color_scheme="light",
        reduced_motion="reduce",
    )
    try:
        page = context.new_page()
        page.set_default_timeout(1000 * _COMPILING)
        page.goto(address + scene.address)
        page.locator(scene.shown).first.wait_for()
        _without_compiling(page)
        page.locator(scene.shown).first.wait_for()
        if scene.click:
            page.locator(scene.click).first.click()
        return small(_settled(page))
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
