"""Shared set-up of all tests: a deterministic hypothesis profile and the order in processes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).resolve().parent.parent
MANY = 300  # tests; fewer compile only what they need
# One directory of compiled kernels, which servers of copies of the package share.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "kernels"))

# The same examples in every run. `--hypothesis-profile=explore` looks further.
settings.register_profile("certain", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("certain")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile the engine before many tests, so that neither pages nor processes wait for it.

    The first of several test processes does it; no test runs before all have collected theirs.
    """
    is_first = getattr(session.config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0"
    if session.config.option.collectonly or not is_first:
        return
    has_browser = any("browser" in item.path.parts for item in session.items)
    if has_browser or len(session.items) > MANY:
        command = [sys.executable, "-m", "graftviz", "warm-up"]
        subprocess.run(command, cwd=ROOT, check=True, timeout=1200)


class FilesFromBothEnds(LoadFileScheduling):
    """Scheduler that runs each file in one process, taking files from both ends of the list.

    The first process begins with the browser tests, the others at the end of the list. So two
    browsers run at a time only after all other tests, which balances the processes: browsers slow
    each other down, and tests time out on slow machines.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node is not self.nodes[0]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesFromBothEnds:
    """Return the scheduler of ``-n 2``."""
    config.option.loadscopereorder = False
    return FilesFromBothEnds(config, log)


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
    if (module := sys.modules.get("graftviz.app.jobs")) is not None:
        module._logged.clear()  # an error of an earlier test would not be logged again
    handler = _References()
    handler.records = references
    boundary = logging.getLogger("graftviz.app.boundary")
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
