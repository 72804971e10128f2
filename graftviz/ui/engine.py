"""Compilation of the engine for all pages."""

from __future__ import annotations

import gc
import logging
import math
import threading
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from graftviz.player.rehearsal import Rehearsal, first_jobs, later_jobs, page_jobs
from graftviz.player.warming import Workers, can_store, mark, missing_jobs
from graftviz.serving.logs import log_exception
from graftviz.serving.scheduler import foreground

_MEASURED_SHARE = 0.3  # of the work, after which the time left follows from the time so far alone
_MOST_SHARE = 0.98  # before the end
_DELAY = 3.0  # seconds since the start, in which pages that are drawn come first
_CALM = 0.8  # seconds after a page was drawn, in which its view asks for more
_LOADING = 0.03  # time to load stored kernels, as a part of the time to compile them
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
    first : iterable of Rehearsal
        Jobs required before the page opens.
    later : iterable of Rehearsal
        Jobs that run after the page has opened.
    workers : Workers, optional
        Processes that compile the kernels of the jobs; the thread waits for each job and loads
        what they have compiled. What they could not compile is compiled by the thread.

    Attributes
    ----------
    ready : threading.Event
        Set when the first jobs are done, or one has failed: the page opens in either case.
    finished : threading.Event
        Set when all jobs are done; one that fails does not keep the others from being done.
    failure : str
        Sentence for pages about a failed job; empty if none has failed.
    workers : Workers or None
    """

    def __init__(
        self,
        first: Iterable[Rehearsal],
        later: Iterable[Rehearsal] = (),
        workers: Workers | None = None,
    ) -> None:
        self._first, self._later = tuple(first), tuple(later)
        self._began = time.monotonic()
        self._done = 0
        self.workers = workers
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
        """Progress of the first jobs, and after these of all jobs."""
        is_ready = self.ready.is_set()
        jobs = (*self._first, *self._later) if is_ready else self._first
        if self._done >= len(jobs):
            return Progress(1.0, 0.0)
        expected = sum(job.seconds for job in jobs)
        done = sum(job.seconds for job in jobs[: self._done])
        if self.workers is not None:
            rate = 1 / self.workers.count
            stored = sum(self.workers.seconds_stored(job) for job in jobs)
            done = max(done, self.workers.seconds_done if is_ready else stored)
        else:
            rate = _LOADING if can_store() else 1.0
        share = min(_MOST_SHARE, done / expected)
        # At first, the machine is taken to be as fast as that of the measurements.
        left = max(1.0, rate * expected * (1 - share))
        if share > 0:
            trust = min(1.0, share / _MEASURED_SHARE)
            left += trust * (self.seconds * (1 - share) / share - left)
        elif self.workers is None:
            left = max(1.0, left - self.seconds)
            share = min(_MOST_SHARE, self.seconds / (self.seconds + left))
        return Progress(share, max(1.0, left))

    def _do_all(self) -> None:
        for jobs, done in ((self._first, self.ready), (self._later, self.finished)):
            for job in jobs:
                self._await_pages()
                self._do(job)
                self._done += 1
            _freeze()
            done.set()

    def _await_pages(self) -> None:
        """Wait while a page is drawn, for a limited time: it does not need the engine at first."""
        drawn = time.monotonic() if foreground.at_work else -math.inf
        while self.seconds < _DELAY and time.monotonic() - drawn < _CALM:
            time.sleep(0.02)
            if foreground.at_work:
                drawn = time.monotonic()

    def _do(self, job: Rehearsal) -> None:
        if self.workers is not None:
            self.workers.wait(job.name)
        try:
            job()
        except Exception:  # noqa: BLE001 (logged with a reference)
            # The first run that needs the kernel reports the error as well.
            reference = log_exception(log, "Compiling ahead failed")
            self.failure = self.failure or (
                "A part of the engine could not be compiled in advance. It will be compiled at its "
                f"first use; the server's log has the details under reference {reference}."
            )
        else:
            mark(job)


@lru_cache(maxsize=1)
def _freeze() -> None:
    """Exclude all current objects from later garbage collections.

    Collections are a tenth of a second shorter without them. This is done only once, before any
    run, since frozen objects are never freed.
    """
    gc.collect()
    gc.freeze()


@st.cache_resource(show_spinner=False)
def warm_up(page: str = "") -> WarmUp:
    """Return the compilation of the engine, or of the kernels of one page.

    It begins with the first call.
    """
    pages = page_jobs()
    if page:
        return WarmUp([pages[page]], workers=warm_up().workers)
    jobs = missing_jobs()
    workers = Workers(jobs) if jobs and can_store() else None
    return WarmUp(first_jobs(), [*later_jobs(), *pages.values()], workers)


def enter_page(page: str) -> WarmUp:
    """Return the compilation that a page waits for; it begins with the first visit."""
    engine = warm_up()
    return warm_up(page) if page in page_jobs() else engine
