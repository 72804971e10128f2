"""References of unexpected errors: shown on a page, and searched for in the log."""

from __future__ import annotations

import logging
import secrets
import sys
import time
import traceback
from typing import Any

SECONDS = 60.0
_logged: dict[tuple[Any, ...], tuple[str, float]] = {}  # type and place → reference, and when


def log_exception(log: logging.Logger, what: str) -> str:
    """Log the exception that is being handled with its traceback; return a short reference.

    Parts of a page run every second: an exception of the same type and place as one of the last
    minute has its reference, and is not logged again.
    """
    kind, _, trace = sys.exc_info()
    *_, (frame, line) = traceback.walk_tb(trace)
    place, now = (kind, frame.f_code.co_filename, line), time.monotonic()
    reference, since = _logged.get(place, ("", 0.0))
    if not reference or now - since >= SECONDS:
        reference = secrets.token_hex(3)
        _logged[place] = reference, now
        log.exception("%s (reference %s).", what, reference)
    return reference
