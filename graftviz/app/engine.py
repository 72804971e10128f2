"""Compilation of the engine for all pages, and notices while it goes on."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from graftviz.app.boundary import bounded
from graftviz.app.jobs import log_exception
from graftviz.app.session import begin_with_app
from graftviz.app.warming import KernelJob, first_jobs, later_jobs, page_jobs
from graftviz.reports.texts import page_text
from graftviz.utils.cold_start import is_compiled
from graftviz.utils.wording import plain

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


# --------------------------------------------------------------------------------- notices of pages


LONG_SECONDS = 20.0  # a start from the cache is faster
QUIET_SECONDS = 1.2  # a start from the cache ends before, without a notice
PATIENCE = 300.0  # seconds after which a page can be opened without waiting
_GOES_ON = "engine.goes_on"


def engine_is_ready(engine: WarmUp, page: str, *, is_needed: bool = True) -> bool:
    """Return whether the engine is compiled; until then show the progress.

    Data must be loaded after this: drawing rows needs compiled kernels as well.

    Parameters
    ----------
    engine : WarmUp
    page : str
    is_needed : bool
        Whether the page has nothing to show without the engine. It then shows its explanation.
    """
    # The container comes first: a later notice must not move the view, or the browser reloads it.
    above = st.container()
    is_ready = engine.ready.is_set()
    if is_needed and not is_ready:
        is_ready = engine.ready.wait(QUIET_SECONDS)
    if is_ready or st.session_state.get(_GOES_ON):
        if engine.failure:
            above.warning(plain(engine.failure))
        return True
    if is_needed:
        with above:
            _show_compiling(engine)
        st.markdown(page_text(page).explanation)
    return False


def show_engine(engine: WarmUp, note: str, least: float = 0.0) -> None:
    """Show a note while the rest of the engine is compiled in the background.

    Parameters
    ----------
    engine : WarmUp
    note : str
        Sentence, in which ``{seconds}`` stands for the seconds so far.
    least : float
        Seconds after which the note is shown also if nothing has to be compiled.
    """
    is_compiling = engine.compiles or engine.seconds > least
    if is_compiling and not engine.finished.is_set():
        _show_rest(engine, note)


@st.fragment(run_every=3.0)
@bounded
def _show_rest(engine: WarmUp, note: str) -> None:
    if engine.finished.is_set():
        st.rerun()
    st.caption(note.format(seconds=f"{engine.seconds:.0f} s"))


@st.fragment(run_every=0.5)
@bounded
def show_recorded(engine: WarmUp) -> None:
    """Show a line while a recorded run is shown, until the engine is compiled."""
    if engine.ready.is_set():
        st.rerun()
    if engine.seconds > QUIET_SECONDS:
        progress = engine.progress
        st.caption(
            f"Recorded run · engine {100 * progress.share:.0f} % compiled, "
            f"{progress.seconds_left:.0f} s left"
        )


@st.fragment(run_every=0.5)
@bounded
def _show_compiling(engine: WarmUp) -> None:
    if engine.ready.is_set():
        st.rerun()
    progress = engine.progress
    st.progress(
        progress.share,
        f"Compiling the engine, once per installation: {100 * progress.share:.0f} %, "
        f"about {progress.seconds_left:.0f} s left.",
    )
    if engine.seconds > PATIENCE:
        st.caption(
            "This takes unusually long. The page can be opened without waiting: then the first "
            "run waits for the compiler instead."
        )
        if st.button("Open the page now", key="engine.open"):
            st.session_state[_GOES_ON] = True
            st.rerun()
