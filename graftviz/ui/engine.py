"""Compilation of the engine for all pages."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from graftviz.errors import InputError
from graftviz.player.rehearsal import (
    Job,
    first_jobs,
    later_jobs,
    rehearse_budget,
    rehearse_dynamics,
    rehearse_inspection,
    rehearse_pruning,
    rehearse_regions,
    rehearse_reservoir,
)
from graftviz.serving.logs import log_exception

_PAGES = {
    "regions": rehearse_regions,
    "prune": rehearse_pruning,
    "budget": rehearse_budget,
    "dynamics": rehearse_dynamics,
    "reservoir": rehearse_reservoir,
    "inspect": rehearse_inspection,
}
COMPILE_SECONDS = 50.0
log = logging.getLogger(__name__)


class Progress(NamedTuple):
    """How much is compiled.

    Attributes
    ----------
    share : float
        0 … 1.
    seconds_left : float
    """

    share: float
    seconds_left: float


class WarmUp:
    """Jobs that run one after the other in a background thread.

    Parameters
    ----------
    first : iterable of callable
        Jobs required before the page opens.
    later : iterable of callable
        Jobs that run after the page has opened.

    Attributes
    ----------
    ready : threading.Event
        Set when the first jobs are done, or one has failed: the page opens in either case.
    finished : threading.Event
        Set when all jobs are done; one that fails does not keep the others from being done.
    failure : str
        Sentence for pages about a failed job; empty if none has failed.
    """

    def __init__(
        self, first: Iterable[Callable[[], object]], later: Iterable[Callable[[], object]] = ()
    ) -> None:
        self._first, self._later = tuple(first), tuple(later)
        self._began = time.monotonic()
        self.failure = ""
        self.ready = threading.Event()
        self.finished = threading.Event()
        threading.Thread(target=self._do_all, name="graftviz-warm-up", daemon=True).start()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._began

    @property
    def progress(self) -> Progress:
        """How much of what the page waits for is compiled."""
        share = 1.0 if self.ready.is_set() else min(0.98, self.seconds / COMPILE_SECONDS)
        return Progress(share, COMPILE_SECONDS * (1 - share))

    def _do_all(self) -> None:
        for jobs, done in ((self._first, self.ready), (self._later, self.finished)):
            for job in jobs:
                self._do(job)
            _freeze()
            done.set()

    def _do(self, job: Callable[[], object]) -> None:
        try:
            job()
        except InputError:
            pass  # options that do not go together: nothing to compile
        except Exception:  # noqa: BLE001 (logged with a reference)
            # The first run that needs the kernel reports the error as well.
            reference = log_exception(log, "Compiling ahead failed")
            self.failure = self.failure or (
                "A part of the engine could not be compiled in advance. It will be compiled at its "
                f"first use; the server's log has the details under reference {reference}."
            )


@lru_cache(maxsize=1)
def _freeze() -> None:
    """Exclude all current objects from later garbage collections.

    Collections are a tenth of a second shorter without them. This is done only once, before any
    run, since frozen objects are never freed.
    """
    gc.collect()
    gc.freeze()


def every_job() -> list[Job]:
    """Return the jobs that compile the kernels of all pages."""
    return [*first_jobs(), *later_jobs(), *_PAGES.values()]


@st.cache_resource(show_spinner=False)
def warm_up(page: str = "") -> WarmUp:
    """Return the compilation of the engine, or of the kernels of one page.

    It begins with the first call.
    """
    if page:
        return WarmUp([_PAGES[page]])
    return WarmUp(first_jobs(), [*later_jobs(), *_PAGES.values()])


def enter_page(page: str) -> WarmUp:
    """Return the compilation that a page waits for; it begins with the first visit."""
    engine = warm_up()
    return warm_up(page) if page in _PAGES else engine
