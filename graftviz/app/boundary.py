"""Handling of unexpected errors: a sentence with a reference on the page, the traceback in the log.

Streamlit calls four kinds of code of this package, and each has a wrapper here: a page
(:func:`page_boundary`), a fragment or dialog (:func:`bounded`), the callback of a control
(:func:`guarded`), and the builder of a file (:func:`file_builder`). An error in one of them leaves
the others, and the runs of the session, unchanged. ``st.rerun`` and ``st.stop`` pass through, as
they are no ``Exception``.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.app.jobs import log_exception
from graftviz.utils.errors import InputError
from graftviz.utils.wording import plain

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
_NOTICES = "boundary.notices"
_READING = 10.0  # seconds for which a fragment shows a sentence, however often it is drawn
_drawn_part: ContextVar[str] = ContextVar("drawn_part", default="")  # empty: the page itself


class _Notices:
    """Notices of one session.

    Attributes
    ----------
    pending : list of str
        Not shown yet; a thread that builds a file adds to it, too.
    shown : dict
        Part of the page → notice → end of its display (``time.monotonic``).
    """

    def __init__(self) -> None:
        self.pending: list[str] = []
        self.shown: dict[str, dict[str, float]] = {}

    def take_pending(self) -> list[str]:
        """Return the pending notices and remove them."""
        return [self.pending.pop(0) for _ in range(len(self.pending))]

    def shown_in(self, part: str) -> list[str]:
        """Return the notices that a part of the page still shows."""
        now = monotonic()
        return [text for text, until in self.shown.get(part, {}).items() if until > now]

    def sentence(self, error: Exception, what: str, advice: str) -> str:
        """Return the sentence about the error that is being handled."""
        if isinstance(error, InputError):
            return str(error)
        reference = log_exception(log, f"{what} stopped with an unexpected error")
        return (
            f"{what} stopped with an unexpected error; the server's log has the details under "
            f"reference {reference}. {advice}"
        )

    @contextmanager
    def catching(self, what: str, advice: str, show: Callable[[str], object]) -> Iterator[None]:
        """Pass the sentence about an error in the enclosed block to `show`."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 (where they end)
            show(self.sentence(error, what, advice))


def _notices() -> _Notices:
    """Return the notices of this session."""
    notices: _Notices = st.session_state.setdefault(_NOTICES, _Notices())
    return notices


@contextmanager
def page_boundary() -> Iterator[None]:
    """Run a page; if it raises, its elements remain and the error is shown below them.

    The place for notices is there in every run: otherwise uploaders below would move, and their
    uploads under way be lost.
    """
    place = st.container()
    notices = _notices()
    current = [text for part in notices.shown for text in notices.shown_in(part)]
    notices.shown.clear()
    for sentence in dict.fromkeys(current + notices.take_pending()):
        place.error(plain(sentence))
    with notices.catching("The rest of this page", "Reload it to continue.", _show):
        yield


def _show(sentence: str) -> None:
    st.error(plain(sentence))


def bounded(draw: Callable[P, T]) -> Callable[P, T | None]:
    """Decorate a function for ``st.fragment`` or ``st.dialog``: errors become notices.

    Use directly below the decorator of Streamlit. Notices are shown below the elements of this
    part of the page, for long enough to be read, because some parts are drawn again every second.
    """
    part = f"{draw.__module__}.{draw.__qualname__}"

    @functools.wraps(draw)
    def run(*args: P.args, **kwargs: P.kwargs) -> T | None:
        notices, drawn = _notices(), None
        around = _drawn_part.set(part)
        advice = "Reload the page to try again."
        try:
            with notices.catching("This part of the page", advice, _show):
                drawn = draw(*args, **kwargs)
        finally:
            _drawn_part.reset(around)
        until = dict.fromkeys(notices.take_pending(), monotonic() + _READING)
        notices.shown.setdefault(part, {}).update(until)
        for sentence in notices.shown_in(part):
            _show(sentence)
        return drawn

    return run


def guarded(callback: Callable[..., object]) -> Callable[..., None]:
    """Wrap the callback of a control: an error becomes a notice, and the page is drawn.

    A change of a control of the page reruns the whole page. When only a fragment runs, the browser
    sends its values of all controls, which may be older than those that the page has just set.
    Streamlit then takes them for changes by the user, and a choice made in a view would be undone.
    Such calls are ignored.
    """
    is_of_page = not _drawn_part.get()

    @functools.wraps(callback)
    def call(*args: Any, **kwargs: Any) -> None:
        context = get_script_run_ctx()
        if is_of_page and context is not None and context.fragment_ids_this_run:
            return
        notices = _notices()
        with notices.catching("The last action", "The page is as before.", notices.pending.append):
            callback(*args, **kwargs)

    return call


def file_builder(build: Callable[[], T]) -> Callable[[], T]:
    """Wrap the builder of a file for a download button.

    The builder is called on a thread without a session, and Streamlit shows beside the button that
    there is no file; the next run of the page shows the sentence with the reference.
    """
    notices = _notices()

    def call() -> T:
        try:
            return build()
        except Exception as error:
            sentence = notices.sentence(error, "The requested file", "Nothing else changed.")
            notices.pending.append(sentence)
            raise

    return call
