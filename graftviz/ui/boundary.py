"""Where unexpected errors end: a calm sentence with a reference on the page, the rest in the log.

Four kinds of our code are called by Streamlit, and each has its own edge here: a page
(:func:`page_boundary`), a fragment or dialog (:func:`bounded`), what a control calls
(:func:`guarded`), and what builds a file (:func:`file_builder`). Whatever goes wrong in one leaves
the others, and the session's runs, as they were. ``st.rerun`` and ``st.stop`` pass through: they
are no ``Exception``.
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
from graftviz.ui.foreground import foreground
from graftviz.ui.plain import plain
from graftviz.ui.references import log_exception

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
_NOTICES = "boundary.notices"
_SHOWN = "boundary.shown"
_KNOWN = "boundary.known"
_MOST_KNOWN = 50
_READING = 10.0  # seconds a fragment says something for, however often it is drawn meanwhile
_drawn_part: ContextVar[str] = ContextVar("drawn_part", default="")  # empty: the page itself


@contextmanager
def page_boundary() -> Iterator[None]:
    """Run a page; if it raises, what it has shown stays, and the sentence stands below."""
    parts = _shown()
    just_shown = [sentence for part in parts for sentence in _still_shown(part)]
    parts.clear()
    for sentence in dict.fromkeys(just_shown + _taken_notices()):
        st.error(plain(sentence))
    try:
        with foreground.page():
            yield
    except Exception as error:  # noqa: BLE001 (where they end)
        st.error(plain(_told(error, "The rest of this page", "Reload it to go on where it was.")))


def bounded(draw: Callable[P, T]) -> Callable[P, T | None]:
    """Decorate what ``st.fragment`` or ``st.dialog`` runs: it raises nothing, and the page goes on.

    Stands right below the decorator of Streamlit. What is still to be said stands below what was
    drawn: in this part of the page alone, long enough to be read, as some parts are drawn again
    every second.
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
            st.error(plain(_told(error, "This part of the page", "Reload the page to try again.")))
        finally:
            _drawn_part.reset(around)
        until = monotonic() + _READING
        _shown().setdefault(part, {}).update(dict.fromkeys(_taken_notices(), until))
        for sentence in _still_shown(part):
            st.error(plain(sentence))
        return drawn

    return run


def guarded(callback: Callable[..., object]) -> Callable[..., None]:
    """Wrap what a control calls: the page is drawn in any case, and says what went wrong.

    Whoever changes a control of the page has all of the page run. When one part of it runs, the
    browser sends along what it takes for the values of all controls, and it may not have heard yet
    of those that the page has just set anew. Then Streamlit believes that somebody set them back:
    what was chosen in a picture would be undone. Such a call is left out.
    """
    is_of_page = not _drawn_part.get()

    @functools.wraps(callback)
    def call(*args: Any, **kwargs: Any) -> None:
        if is_of_page and _runs_in_part():
            return
        try:
            callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (where they end)
            _notices().append(_told(error, "What was just asked for", "The page is as before."))

    return call


def file_builder(build: Callable[[], T]) -> Callable[[], T]:
    """Wrap what builds a file for a download button.

    It is called on a thread without a session, and Streamlit says beside the button that there is
    no file; the next thing the page does brings the sentence with the reference.
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
    """Whether this is a run of parts of the page, and not of all of it."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def _notices() -> list[str]:
    """Return what is still to be said at the top of this session's page."""
    notices: list[str] = st.session_state.setdefault(_NOTICES, [])
    return notices


def _taken_notices() -> list[str]:
    """Return what is still to be said, for the one who says it."""
    notices = _notices()
    return [notices.pop(0) for _ in range(len(notices))]


def _shown() -> dict[str, dict[str, float]]:
    """Return which sentences the parts of the page say, and until when (``time.monotonic``)."""
    shown: dict[str, dict[str, float]] = st.session_state.setdefault(_SHOWN, {})
    return shown


def _still_shown(part: str) -> list[str]:
    """Return what a part of the page goes on to say."""
    now = monotonic()
    said = {text: until for text, until in _shown().get(part, {}).items() if until > now}
    _shown()[part] = said
    return list(said)


def _told(error: Exception, what: str, advice: str) -> str:
    """Return the sentence about an error; one that comes again and again is logged once."""
    if isinstance(error, InputError):
        return str(error)
    known: dict[tuple[object, ...], str] = st.session_state.setdefault(_KNOWN, {})
    place = (type(error), *_innermost(error))
    if place not in known:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[place] = _sentence(error, what, advice)
    return known[place]


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
