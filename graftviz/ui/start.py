"""Start of what pages need beside the server: the engine, and a process that reads uploads.

Importing this module imports the modules of the first page too. It takes longer than the rest of
the server's start, and is done while browsers load their scripts.
"""

from __future__ import annotations

from contextlib import suppress

from graftviz.errors import InputError
from graftviz.ui import run_files, upload  # noqa: F401 (of the first page)
from graftviz.ui.engine import warm_up
from graftviz.ui.grow import panels  # noqa: F401 (of the first page)
from graftviz.ui.inspect import state  # noqa: F401 (of the first page)
from graftviz.ui.reading import worker_pool


def start() -> None:
    """Begin to compile the engine, and start a process that reads uploads."""
    warm_up()
    with suppress(InputError):  # limits that cannot be used are reported on every page
        worker_pool().start()


def close() -> None:
    """End the processes that read uploads."""
    with suppress(InputError):
        worker_pool().close()
