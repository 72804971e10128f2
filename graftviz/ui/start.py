"""Start of what pages need beside the server: the engine, and a process that reads uploads.

Importing this module imports the modules of the first page too. It takes longer than the rest of
the server's start, and is done while browsers load their scripts.
"""

from __future__ import annotations

import time
from contextlib import suppress

from graftviz.errors import InputError
from graftviz.player.warming import missing_jobs
from graftviz.serving.scheduler import foreground
from graftviz.ui import run_files, upload  # noqa: F401 (of the first page)
from graftviz.ui.engine import warm_up
from graftviz.ui.grow import panels  # noqa: F401 (of the first page)
from graftviz.ui.inspect import state  # noqa: F401 (of the first page)
from graftviz.ui.reading import worker_pool

_FIRST_PAGE = 2.0  # seconds in which a browser asks for the first page


def start() -> None:
    """Begin to compile the engine, and start a process that reads uploads.

    If the engine is compiled already, the first page comes first: it is drawn without it.
    """
    until = time.monotonic() + _FIRST_PAGE
    while not missing_jobs() and not foreground.at_work and time.monotonic() < until:
        time.sleep(0.05)
    warm_up()
    with suppress(InputError):  # limits that cannot be used are reported on every page
        worker_pool().start()


def close() -> None:
    """End the processes that read uploads."""
    with suppress(InputError):
        worker_pool().close()
