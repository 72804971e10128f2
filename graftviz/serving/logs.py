"""Logging: references of unexpected errors, and text from clients.

Names of hosts, addresses and files come from clients, which may send any characters, any length
and any number of requests. :func:`warn` logs such text for this package, escaped, cut, and limited
in lines per minute; :class:`ForeignText` is a filter for the loggers of the packages below it.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graftviz.wording import escaped

MOST_CHARACTERS = 200  # of a text from a client
MOST_IN_A_LINE = 1000  # characters of a line of another package
MOST_TRACEBACK_LINES = 200
LINES = 10  # per minute, client and cause
SECONDS = 60.0
MOST_COUNTED = 1000  # pairs of client and cause
OTHER_CLIENTS = "other clients"
UNKNOWN = "an unknown client"
_SESSION = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
# Packages that log text from clients. Loggers of graftviz that do so call `warn`.
_PACKAGES = (
    *("streamlit", "uvicorn", "starlette", "websockets", "asyncio"),
    *("graftviz.ui", "graftviz.serving", "graftviz.sandbox", "py.warnings"),
)
# Loggers that do not exist before the first connection.
_LATER = ("uvicorn.error", "uvicorn.access", "websockets.server")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_own_log = logging.getLogger(__name__)
_references: dict[tuple[Any, ...], tuple[str, float]] = {}  # by type and place; and when logged
_logging = threading.Lock()


def log_exception(log: logging.Logger, what: str) -> str:
    """Log the exception that is being handled, with its traceback.

    An exception of the same type and place as one within the last minute is not logged again.

    Returns
    -------
    str
        Short reference, to be shown on the page and searched for in the log: that of the last
        exception of this type and place that was logged.
    """
    kind, _, trace = sys.exc_info()
    *_, (frame, line) = traceback.walk_tb(trace)
    place = kind, frame.f_code.co_filename, line
    now = time.monotonic()
    with _logging:
        for other in [other for other, (_, at) in _references.items() if now - at >= SECONDS]:
            del _references[other]
        if place in _references:
            return _references[place][0]
        reference = secrets.token_hex(3)
        _references[place] = reference, now
    log.exception("%s (reference %s).", what, reference)
    return reference


@contextmanager
def logged(log: logging.Logger, what: str) -> Iterator[None]:
    """Log unexpected errors of the enclosed block and suppress them."""
    try:
        yield
    except Exception:  # noqa: BLE001 (logged with a reference)
        log_exception(log, what)


class LineLimit:
    """Limit on log lines per minute, client and cause.

    The number of pairs counted is bounded: clients beyond it are counted together, by cause.

    Parameters
    ----------
    most : int
        Number of pairs.
    clock : callable
        Return the time in seconds.
    """

    def __init__(
        self, most: int = MOST_COUNTED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._lines: Counter[tuple[str, str]] = Counter()

    def admit(self, client: str, cause: str) -> bool:
        """Count a line; return whether it may be logged."""
        with self._lock:
            key = (client, cause)
            if key not in self._lines and len(self._lines) >= self._most:
                key = (OTHER_CLIENTS, cause)
            self._lines[key] += 1
            return self._lines[key] <= LINES

    def take_left_out(self) -> list[tuple[str, str, int]]:
        """Begin the next minute if this one is over; return client, cause and omitted lines."""
        with self._lock:
            now = self._clock()
            if now - self._began < SECONDS:
                return []
            lines, self._lines, self._began = self._lines, Counter(), now
        return [(*key, count - LINES) for key, count in lines.items() if count > LINES]


_limit = LineLimit()


def printable(text: object, most: int = MOST_CHARACTERS) -> str:
    r"""Return text for one line of a log.

    Characters that are not printable (line ends, escape sequences, surrogates, marks that change
    the direction of writing) are written as ``\x1b`` or ``\u202e``, session ids are removed, and
    text longer than `most` characters is cut.
    """
    whole = str(text)
    # Escaping only lengthens the text, and an id that begins before the cut must be found.
    start = _SESSION.sub("(id)", whole[: most + 36])
    shown = escaped(start)
    is_cut = len(shown) > most or len(whole) > most + 36
    return shown[: most - 1] + "…" if is_cut else shown


def numeric_address(text: str) -> Address | None:
    """Return a numeric address; None for any other text."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def client_address(scope: Mapping[str, Any]) -> Address | None:
    """Return the address of the client of an ASGI scope.

    Behind a proxy it comes from a header, so anything but an address is discarded.
    """
    return numeric_address(scope["client"][0]) if scope.get("client") else None


def client_of(scope: Mapping[str, Any]) -> str:
    """Return the name of the client of an ASGI scope in logs; IPv6 addresses by their network."""
    address = client_address(scope)
    if address is None:
        return UNKNOWN
    # One client may choose among the 2⁶⁴ addresses of its network.
    is_long = address.version == 6
    return str(ipaddress.ip_network((int(address), 64), strict=False) if is_long else address)


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
    if _is_admitted(client, message):
        log.warning(f"{message} (%s)", *map(printable, texts), client)


def report_left_out() -> None:
    """Log the number of omitted lines of the last minute."""
    for client, cause, lines in _limit.take_left_out():
        _own_log.warning(
            "Left out %d lines within %.0f s like: %s (%s)", lines, SECONDS, cause, client
        )


def _is_admitted(client: str, cause: str) -> bool:
    report_left_out()
    return _limit.admit(client, cause)


class ForeignText(logging.Filter):
    """Filter that escapes and cuts records, and limits their number.

    Records of the pages are not limited here: each traceback has a reference that a page shows.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record in place; return whether it may be logged."""
        if getattr(record, "is_printable", False):
            return True
        is_limited = not record.name.startswith(("graftviz.ui", "graftviz.serving"))
        if is_limited and not _is_admitted("any client", f"{record.name}, line {record.lineno}"):
            return False
        record.msg, record.args = printable(_message(record), MOST_IN_A_LINE), None
        if record.exc_info:
            record.exc_text = _traceback(logging.Formatter().formatException(record.exc_info))
        record.is_printable = True
        return True


def _message(record: logging.LogRecord) -> str:
    """Return the message of a record with its texts escaped and cut."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            printable(value) if isinstance(value, str | BaseException) else value
            for value in record.args
        )
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # arguments that do not fit the message
        return str(record.msg)


def _traceback(text: str) -> str:
    """Return a traceback with marked lines, so that none can be confused with a line of the log."""
    lines = text.split("\n")
    if (left_out := len(lines) - MOST_TRACEBACK_LINES) > 0:
        lines[MOST_TRACEBACK_LINES // 4 : -MOST_TRACEBACK_LINES * 3 // 4] = [
            f"({left_out} lines left out)"
        ]
    return "\n".join("| " + printable(line) for line in lines)


_filter = ForeignText()


def filter_foreign_text() -> None:
    """Attach the filter to every logger that exists of the packages that log foreign text.

    A filter of a logger does not see records of the loggers below it, so each has its own. The
    handler of last resort has one for loggers that are made later. Warnings of Python, such as
    those on overflow, are logged too.
    """
    logging.captureWarnings(True)
    for name in [*_PACKAGES, *_LATER, *logging.root.manager.loggerDict]:
        if name.startswith(_PACKAGES):
            logging.getLogger(name).addFilter(_filter)
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_filter)
