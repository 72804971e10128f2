"""Logging of text that clients send: escaped, cut, and limited in lines per minute.

Names of hosts, addresses and files come from clients, which may send any characters, any length
and any number of requests. :func:`warn` logs such text for this package, and :class:`ForeignText`
is a filter for the loggers of the packages below it.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from graftviz.wording import escaped

MOST_CHARACTERS = 200  # of a piece of foreign text
MOST_IN_A_LINE = 1000  # characters of a line of another package
MOST_TRACEBACK_LINES = 200
LINES = 10  # per minute, client and cause
SECONDS = 60.0
MOST_WINDOWS = 1000
OTHER_CLIENTS = "other clients"
UNKNOWN = "an unknown client"
_SESSION = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
# Packages that log text from clients. Loggers of graftviz that do so call `warn`.
_PACKAGES = (
    *("streamlit", "uvicorn", "starlette", "websockets", "asyncio"),
    *("graftviz.ui", "graftviz.sandbox"),
)
# Loggers that do not exist before the first connection.
_LATER = ("uvicorn.error", "uvicorn.access", "websockets.server")
_own_log = logging.getLogger(__name__)


class LeftOut(NamedTuple):
    """Number of lines that were left out for one client and cause."""

    client: str
    cause: str
    lines: int


class LineLimit:
    """Limit on log lines per client and cause, counted in windows of fixed length.

    The number of windows is bounded: clients beyond it share one window per cause.

    Parameters
    ----------
    lines : int
        Lines in one window.
    seconds : float
        Length of a window.
    most : int
        Number of windows that are open at once, apart from the shared ones.
    clock : callable
        Return the time in seconds.
    """

    def __init__(
        self,
        lines: int = LINES,
        seconds: float = SECONDS,
        most: int = MOST_WINDOWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lines = lines
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        # (client, cause) → begin of the window and number of lines, in the order of their begin.
        self._windows: dict[tuple[str, str], tuple[float, int]] = {}
        self._left_out: list[LeftOut] = []

    def admit(self, client: str, cause: str) -> bool:
        """Count a line; return whether it may be logged."""
        with self._lock:
            self._close_windows()
            key = (client, cause)
            if key not in self._windows and len(self._windows) >= self._most:
                key = (OTHER_CLIENTS, cause)
            begin, count = self._windows.get(key, (self._clock(), 0))
            self._windows[key] = (begin, count + 1)
            return count < self._lines

    def take_left_out(self) -> list[LeftOut]:
        """Return the lines left out in windows that have ended, each once."""
        with self._lock:
            self._close_windows()
            left_out, self._left_out = self._left_out, []
            return left_out

    def _close_windows(self) -> None:
        now = self._clock()
        while self._windows:
            key = next(iter(self._windows))
            begin, count = self._windows[key]
            if now - begin < self._seconds:
                return
            del self._windows[key]
            if count > self._lines and len(self._left_out) < self._most:
                self._left_out.append(LeftOut(*key, count - self._lines))


_limit = LineLimit()


def printable(text: object, most: int = MOST_CHARACTERS) -> str:
    r"""Return text for one line of a log.

    Characters that are not printable (line ends, escape sequences, surrogates, marks that change
    the direction of writing) are written as ``\x1b`` or ``\u202e``, session ids are removed, and
    what is longer than `most` characters is cut.
    """
    whole = str(text)
    # Escaping only lengthens the text, and an id that begins before the cut must be found.
    start = _SESSION.sub("(id)", whole[: most + 36])
    shown = escaped(start)
    is_cut = len(shown) > most or len(whole) > most + 36
    return shown[: most - 1] + "…" if is_cut else shown


def client_of(scope: Any) -> str:
    """Return the address of the client of an ASGI scope; IPv6 addresses by their network.

    Behind a proxy the address comes from a header, so anything but an address is discarded.
    """
    client = scope.get("client")
    try:
        address = ipaddress.ip_address(client[0]) if client else None
    except ValueError:
        address = None
    if address is None:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv6Address):
        # One client may choose among the 2⁶⁴ addresses of its network.
        return str(ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)


def warn(log: logging.Logger, client: str, message: str, *texts: object) -> None:
    """Log a warning that contains foreign text, unless the client has used up its lines.

    Parameters
    ----------
    log : Logger
    client : str
        From :func:`client_of`.
    message : str
        Constant text with a ``%s`` for each of `texts`; it is the cause that lines are counted by.
    texts : object
        Foreign text.
    """
    report_left_out()
    if _limit.admit(client, message):
        log.warning(f"{message} (%s)", *map(printable, texts), client)


def report_left_out() -> None:
    """Log how many lines were left out in windows that have ended."""
    for client, cause, lines in _limit.take_left_out():
        _own_log.warning(
            "Left out %d lines within %.0f s like: %s (%s)", lines, SECONDS, cause, client
        )


class ForeignText(logging.Filter):
    """Filter that escapes and cuts records, and limits their number.

    Records of the pages are not limited here: each traceback has a reference that a page shows.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record in place; return whether it may be logged."""
        if getattr(record, "is_printable", False):
            return True
        if not record.name.startswith("graftviz.ui"):
            report_left_out()
            if not _limit.admit("any client", f"{record.name}, line {record.lineno}"):
                return False
        record.msg, record.args = printable(_message(record), MOST_IN_A_LINE), None
        if record.exc_info:
            record.exc_text = _traceback(logging.Formatter().formatException(record.exc_info))
        record.is_printable = True
        return True


def _message(record: logging.LogRecord) -> str:
    """Return the message of a record with its texts escaped and cut."""
    args = record.args
    if isinstance(args, tuple):
        record.args = tuple(_argument(one) for one in args)
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # arguments that do not fit the message
        return str(record.msg)


def _argument(value: object) -> object:
    return printable(value) if isinstance(value, str | BaseException) else value


def _traceback(text: str) -> str:
    """Return a traceback with its lines marked, so that none looks like a line of the log."""
    lines = text.split("\n")
    if len(lines) > MOST_TRACEBACK_LINES:
        first, last = MOST_TRACEBACK_LINES // 4, MOST_TRACEBACK_LINES * 3 // 4
        left_out = f"({len(lines) - first - last} lines left out)"
        lines = [*lines[:first], left_out, *lines[-last:]]
    return "\n".join("| " + printable(line) for line in lines)


_filter = ForeignText()


def filter_foreign_text() -> None:
    """Attach the filter to every logger that exists of the packages that log foreign text.

    A filter of a logger does not see records of the loggers below it, so each has its own. The
    handler of last resort has one for loggers that are made later.
    """
    names = [*_PACKAGES, *_LATER, *logging.root.manager.loggerDict]
    for name in names:
        if name.startswith(_PACKAGES):
            logging.getLogger(name).addFilter(_filter)
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_filter)
