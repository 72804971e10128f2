"""Times of a clone of the project: of its app in a browser, of the library, of the command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, sync_playwright

from tests.browser.open_pages import Pages
from tests.browser.served_app import ROOT, free_port
from tests.waiting import wait_until

Times = dict[str, float]
LONGEST = 900.0  # seconds
SHOTS = (5, 10, 20, 40)  # seconds at which screenshots are taken
LEARN = """
import graftviz as gv
table = gv.read_table("sample_data/scale-free-60/table.csv")
gv.learn(table, gv.BestChoice(preset={preset!r}))
"""
APP = ("plays", "moved", "compiled")  # times of the app, one after the other
PLAYER = ".gv-player .gv-body:not([hidden])"
NOTE = "Still compiling"


def clone(folder: Path) -> Path:
    """Return a clone of what is committed, which has no compiled kernels."""
    path = folder / "graftviz"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(path)], check=True)
    return path


def app_times(folder: Path, *, until: str, shots: Path | None = None) -> Times:
    """Start the app and return seconds from the command to what is seen in a browser.

    Parameters
    ----------
    folder : Path
        Clone of the project.
    until : str
        Last time of `APP` that is needed.
    shots : Path, optional
        Folder for screenshots.

    Returns
    -------
    dict
        "plays": the player has left its first step; "moved": it shows a run with another α;
        "compiled": the note about compiling has gone.
    """
    with sync_playwright() as driver:
        page = Pages(driver).new(viewport={"width": 1400, "height": 900})
        port = free_port()
        command = ["streamlit", "run", "app.py", "--server.headless", "true"]
        began = time.monotonic()
        server = subprocess.Popen(
            [sys.executable, "-m", *command, "--server.port", str(port)],
            cwd=folder,
            env=_environment(folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        watch = _Watch(page, began, shots)
        try:
            return _times(watch, f"http://127.0.0.1:{port}/", until)
        finally:
            server.terminate()
            server.wait(30)


class _Watch:
    """Time since the command, and a page that is photographed at certain times."""

    def __init__(self, page: Any, began: float, shots: Path | None) -> None:
        self.page = page
        self._began = began
        self._shots = shots
        self._due = list(SHOTS if shots else ())

    def seconds(self, condition: Callable[[], object]) -> float:
        """Wait until a condition holds, and return the seconds since the command."""
        wait_until(condition, LONGEST, pause=self._pause, state=lambda: self.page.url)
        return time.monotonic() - self._began

    def _pause(self) -> None:
        self.page.wait_for_timeout(20)
        if self._due and time.monotonic() - self._began >= self._due[0]:
            assert self._shots is not None
            self._shots.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=self._shots / f"{self._due.pop(0)}.png")


def _times(watch: _Watch, url: str, until: str) -> Times:
    page, times = watch.page, {}

    def opens() -> bool:
        with suppress(Error):
            page.goto(url)
            return True
        return False

    watch.seconds(opens)
    watch.seconds(lambda: page.locator(PLAYER).count())
    step = page.get_by_role("slider", name="Step", exact=True)
    times["plays"] = watch.seconds(lambda: int(step.get_attribute("aria-valuenow") or 0) > 0)
    # Drawing without a graphics card would take most of a core from the compiler.
    page.get_by_role("button", name="Pause", exact=True).click()
    if until == "plays":
        return times
    page.get_by_role("slider", name=re.compile("^α")).first.press("ArrowLeft")
    times["moved"] = watch.seconds(lambda: "α 0.7 " in page.locator(".gv-head").inner_text() + " ")
    if until == "moved":
        return times
    # The note comes back when the page is drawn again, and is not there in between.
    watch.seconds(lambda: page.get_by_text(NOTE).count())
    times["compiled"] = watch.seconds(lambda: not page.get_by_text(NOTE).count())
    return times


def learning_seconds(folder: Path, preset: str) -> float:
    """Return the seconds of a process that learns from the sample of 60 variables."""
    return _seconds(folder, "-c", LEARN.format(preset=preset))


def warm_up_seconds(folder: Path) -> float:
    """Return the seconds of the command that compiles everything."""
    return _seconds(folder, "-m", "graftviz", "warm-up")


def _seconds(folder: Path, *arguments: str) -> float:
    began = time.monotonic()
    command = [sys.executable, *arguments]
    subprocess.run(
        command,
        cwd=folder,
        env=_environment(folder),
        check=True,
        capture_output=True,
        timeout=LONGEST,
    )
    return time.monotonic() - began


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment in which the clone is imported, and its kernels are its own."""
    plain = {name: text for name, text in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return {**plain, "PYTHONPATH": str(folder)}
