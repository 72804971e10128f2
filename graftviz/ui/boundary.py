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

from graftviz.errors import InputError
from graftviz.ui.frame.texts import plain
from graftviz.ui.logs import log_exception
from graftviz.ui.scheduler import foreground

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
_NOTICES = "boundary.notices"
_SHOWN = "boundary.shown"
_LOGGED = "boundary.logged"
_MAX_LOGGED = 50
_READING = 10.0  # seconds a fragment says something for, however often it is drawn meanwhile
_drawn_part: ContextVar[str] = ContextVar("drawn_part", default="")  # empty: the page itself


@contextmanager
def page_boundary() -> Iterator[None]:
    """Run a page; if it raises, its elements remain and the error is shown below them."""
    parts = _shown()
    just_shown = [sentence for part in parts for sentence in _still_shown(part)]
    parts.clear()
    for sentence in dict.fromkeys(just_shown + _taken_notices()):
        st.error(plain(sentence))
    try:
        with foreground.page():
            yield
    except Exception as error:  # noqa: BLE001 (where they end)
        st.error(
            plain(_logged_once(error, "The rest of this page", "Reload it to go on where it was."))
        )


def bounded(draw: Callable[P, T]) -> Callable[P, T | None]:
    """Decorate a function for ``st.fragment`` or ``st.dialog``: errors become notices.

    Use directly below the decorator of Streamlit. Notices are shown below the elements of this
    part of the page, for long enough to be read, because some parts are drawn again every second.
    """
    part = f"{draw.__module__}.{draw.__qualname__}"

    @functools.wraps(draw)
    def run(*args: P.args, **kwargs: P.kwargs) -> T | None:
        around = _drawn_part.set(part)
        try:
            with foreground.page():
                drawn = draw(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (where they end)
            drawn = None
            st.error(
                plain(_logged_once(error, "This part of the page", "Reload the page to try again."))
            )
        finally:
            _drawn_part.reset(around)
        until = monotonic() + _READING
        _shown().setdefault(part, {}).update(dict.fromkeys(_taken_notices(), until))
        for sentence in _still_shown(part):
            st.error(plain(sentence))
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
        if is_of_page and _runs_in_part():
            return
        try:
            callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (where they end)
            _notices().append(
                _logged_once(error, "What was just asked for", "The page is as before.")
            )

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
            notices.append(_sentence(error, "A file that was asked for", "Nothing else changed."))
            raise

    return call


def _runs_in_part() -> bool:
    """Return whether only fragments of the page run."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def _notices() -> list[str]:
    """Return the pending notices of this session's page."""
    notices: list[str] = st.session_state.setdefault(_NOTICES, [])
    return notices


def _taken_notices() -> list[str]:
    """Return the pending notices and remove them."""
    notices = _notices()
    return [notices.pop(0) for _ in range(len(notices))]


def _shown() -> dict[str, dict[str, float]]:
    """Return part → notice → end of its display (``time.monotonic``)."""
    shown: dict[str, dict[str, float]] = st.session_state.setdefault(_SHOWN, {})
    return shown


def _still_shown(part: str) -> list[str]:
    """Return the notices that a part of the page still shows."""
    now = monotonic()
    current = {text: until for text, until in _shown().get(part, {}).items() if until > now}
    _shown()[part] = current
    return list(current)


def _logged_once(error: Exception, what: str, advice: str) -> str:
    """Return the sentence about an error; repetitions at the same place are logged once."""
    if isinstance(error, InputError):
        return str(error)
    sentences: dict[tuple[object, ...], str] = st.session_state.setdefault(_LOGGED, {})
    place = (type(error), *_innermost(error))
    if place not in sentences:
        if len(sentences) >= _MAX_LOGGED:
            sentences.clear()
        sentences[place] = _sentence(error, what, advice)
    return sentences[place]


def _sentence(error: Exception, what: str, advice: str) -> str:
    if isinstance(error, InputError):
        return str(error)
    reference = log_exception(log, f"{what} stopped with an unexpected error")
    return (
        f"{what} stopped with an unexpected error; the server's log has the details under "
        f"reference {reference}. {advice}"
    )


def _innermost(error: Exception) -> tuple[str, int]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
