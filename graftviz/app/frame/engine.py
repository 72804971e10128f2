"""Compilation of the engine for all pages."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from graftviz.app.references import log_exception
from graftviz.app.session import begin_with_app
from graftviz.app.warming import KernelJob, first_jobs, later_jobs, page_jobs
from graftviz.utils.cold_start import is_compiled

_MOST_SHARE = 0.98  # before the end
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
    first : iterable of KernelJob
        Jobs required before the page opens.
    later : iterable of KernelJob
        Jobs that run after the page has opened.

    Attributes
    ----------
    ready : threading.Event
        Set when the first jobs are done, or one has failed: the page opens in either case.
    finished : threading.Event
        Set when all jobs are done; one that fails does not keep the others from being done.
    compiles : bool
        Whether a job had not been done before; otherwise stored kernels are only loaded.
    failure : str
        Sentence for pages about a failed job; empty if none has failed.
    """

    def __init__(self, first: Iterable[KernelJob], later: Iterable[KernelJob] = ()) -> None:
        self._first, self._later = tuple(first), tuple(later)
        jobs = (*self._first, *self._later)
        stored = [is_compiled(job.name) for job in jobs]
        self._expected = [
            job.seconds * (_LOADING if is_stored else 1.0)
            for job, is_stored in zip(jobs, stored, strict=True)
        ]
        self._began = self._job_began = time.monotonic()
        self._done = 0
        self.compiles = not all(stored)
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
        n = len(self._expected) if self.ready.is_set() else len(self._first)
        if self._done >= n:
            return Progress(1.0, 0.0)
        expected = sum(self._expected[:n])
        current = min(time.monotonic() - self._job_began, self._expected[self._done])
        done = sum(self._expected[: self._done]) + current
        return Progress(min(_MOST_SHARE, done / expected), max(1.0, expected - done))

    def _do_all(self) -> None:
        for jobs, done in ((self._first, self.ready), (self._later, self.finished)):
            for job in jobs:
                self._job_began = time.monotonic()
                self._do(job)
                self._done += 1
            _freeze()
            done.set()

    def _do(self, job: KernelJob) -> None:
        try:
            job()
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


@st.cache_resource(show_spinner=False)
def warm_up(page: str = "") -> WarmUp:
    """Return the compilation of the engine, or of the kernels of one page.

    It begins with the first call.
    """
    pages = page_jobs()
    if page:
        return WarmUp([pages[page]])
    return WarmUp(first_jobs(), [*later_jobs(), *pages.values()])


def enter_page(page: str) -> WarmUp:
    """Return the compilation that a page waits for; it begins with the first visit.

    Call it first: the page is restarted if Streamlit has opened it without ``app.py``.
    """
    begin_with_app(page)
    engine = warm_up()
    return warm_up(page) if page in page_jobs() else engine
