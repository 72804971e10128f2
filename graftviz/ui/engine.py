"""Compilation of the engine for all pages, with its notices."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import lru_cache

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
from graftviz.ui.boundary import bounded
from graftviz.wording import plain

_PAGES = {
    "regions": rehearse_regions,
    "prune": rehearse_pruning,
    "budget": rehearse_budget,
    "dynamics": rehearse_dynamics,
    "reservoir": rehearse_reservoir,
    "inspect": rehearse_inspection,
}
COMPILE_SECONDS = 110  # until the page opens, measured on two busy cores
LONG_SECONDS = 20.0  # a start from the cache is faster
QUIET_SECONDS = 1.2  # a start from the cache ends before, without a notice
PATIENCE = 3 * COMPILE_SECONDS  # seconds after which the page can be opened without waiting
_GOES_ON = "engine.goes_on"
log = logging.getLogger(__name__)


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


def engine_is_ready(engine: WarmUp) -> bool:
    """Return whether the engine is compiled; until then show the progress.

    Data must be loaded after this: drawing rows needs compiled kernels as well.
    """
    # The container comes first: a later notice must not move the view, or the browser reloads it.
    above = st.container()
    if st.session_state.get(_GOES_ON) or engine.ready.wait(QUIET_SECONDS):
        if engine.failure:
            above.warning(plain(engine.failure))
        return True
    _show_compiling(engine)
    return False


def show_engine(engine: WarmUp, note: str, least: float = 0.0) -> None:
    """Show a note while the rest of the engine is compiled in the background.

    Parameters
    ----------
    engine : WarmUp
    note : str
        Sentence, which replaces ``{}`` by the seconds so far.
    least : float
        Seconds of compilation after which the note is shown.
    """
    if not engine.finished.is_set() and engine.seconds > least:
        _show_rest(engine, note)


@st.fragment(run_every=3.0)
@bounded
def _show_rest(engine: WarmUp, note: str) -> None:
    if engine.finished.is_set():
        st.rerun()
    st.caption(note.format(f"{engine.seconds:.0f} s"))


@st.fragment(run_every=0.5)
@bounded
def _show_compiling(engine: WarmUp) -> None:
    if engine.ready.is_set():
        st.rerun()
    st.progress(
        min(0.98, engine.seconds / COMPILE_SECONDS),
        f"Compiling the engine, about {COMPILE_SECONDS} s, once per installation · "
        f"{engine.seconds:.0f} s so far",
    )
    st.caption("The page opens automatically. Later starts take seconds.")
    if engine.seconds > PATIENCE:
        st.caption(
            "This takes unusually long. The page can be opened without waiting: then the first "
            "run waits for the compiler instead."
        )
        if st.button("Open the page now", key="engine.open"):
            st.session_state[_GOES_ON] = True
            st.rerun()
