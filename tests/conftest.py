"""Shared set-up of all tests: a deterministic hypothesis profile and the order in processes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

# The same examples in every run. `--hypothesis-profile=explore` looks further.
settings.register_profile("certain", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("certain")

BROWSER_TESTS = "tests/browser/"


class FilesAndBrowser(LoadFileScheduling):
    """Scheduler that runs each file in one process, and all browser tests in the same one.

    Two browsers at a time slow each other down, and tests time out on slow machines.
    """

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER_TESTS if nodeid.startswith(BROWSER_TESTS) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesAndBrowser:
    """Return the scheduler of ``-n 2``; files run in the order of collection."""
    config.option.loadscopereorder = False
    return FilesAndBrowser(config, log)


class _References(logging.Handler):
    """Logging handler that stores the records of the app's error boundary."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def references() -> list[logging.LogRecord]:
    """Log records of the app with a reference; a test that expects records clears them."""
    return []


@pytest.fixture(autouse=True)
def _no_unexpected_errors(references: list[logging.LogRecord]) -> Iterator[None]:
    """Fail a test in which a page caught an unexpected error, as the page only shows a sentence."""
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
