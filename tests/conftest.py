"""What all tests share: a deterministic hypothesis profile, and the browser."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

try:
    from playwright.sync_api import sync_playwright
except ImportError:  # everything but the browser tests runs without it
    sync_playwright = None

# The same examples in every run. `--hypothesis-profile=explore` looks further.
settings.register_profile("certain", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("certain")

BROWSER_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRE_BROWSER = "GRAFTVIZ_REQUIRE_BROWSER"


BROWSER_TESTS = "tests/browser/"


class FilesAndBrowser(LoadFileScheduling):
    """Every file to one process, and all files that drive a browser to the same one.

    Two browsers at a time would only wait for each other, and what waits fails on slow machines.
    """

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER_TESTS if nodeid.startswith(BROWSER_TESTS) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesAndBrowser:
    """Say what goes to which process of ``-n 2``, in the order of collection."""
    config.option.loadscopereorder = False
    return FilesAndBrowser(config, log)


def _no_browser(reason: str) -> None:
    if os.environ.get(REQUIRE_BROWSER, "0") not in ("", "0"):
        pytest.fail(f"{reason}, and {REQUIRE_BROWSER} is set")
    pytest.skip(f"{reason}: install Chromium to run the browser tests")


@pytest.fixture(scope="module")
def browser_arguments() -> list[str]:
    """What the browser of a test file is started with besides; a file may say it otherwise."""
    return []


@pytest.fixture(scope="module")
def browser(browser_arguments: list[str]) -> Iterator[Any]:
    """A headless Chromium for one test file: the system's own, or else Playwright's.

    It ends with the file, because Playwright keeps an event loop running in this thread and
    other tests may want to start one.
    """
    if sync_playwright is None:
        _no_browser("Playwright is not installed")
    with sync_playwright() as driver:
        path = next(filter(None, map(shutil.which, BROWSER_COMMANDS)), None)
        path = path or driver.chromium.executable_path
        if not Path(path).exists():
            _no_browser("no Chromium found")
        chromium = driver.chromium.launch(
            executable_path=path,
            # Containers offer /dev/shm in thimblefuls and root cannot use the sandbox. Without a
            # graphics card, imitating one takes a fifth longer than doing without.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", *browser_arguments],
        )
        yield chromium
        chromium.close()


class _References(logging.Handler):
    """Keeps what the app's boundary logs."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def references() -> list[logging.LogRecord]:
    """What the app logged with a reference in this test; a test that expects it clears it."""
    return []


@pytest.fixture(autouse=True)
def _no_unexpected_errors(references: list[logging.LogRecord]) -> Iterator[None]:
    """Fail a test in which a page met an unexpected error: the page itself stays calm."""
    handler = _References()
    handler.records = references
    boundary = logging.getLogger("graftviz.ui.boundary")
    boundary.addHandler(handler)
    yield
    boundary.removeHandler(handler)
    assert not references, [logging.Formatter().format(record) for record in references]


@pytest.fixture(autouse=True)
def _main_module_restored() -> Iterator[None]:
    """Restore the main module, which a page run in this process replaces by app.py.

    Processes started later would import it.
    """
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
