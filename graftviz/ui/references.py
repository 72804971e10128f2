"""Short references: what a page shows of an unexpected error, and what finds it in the log."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager


def log_exception(log: logging.Logger, what: str) -> str:
    """Log the exception that is being handled, with its traceback; return the reference to it."""
    reference = secrets.token_hex(3)
    log.exception("%s (reference %s).", what, reference)
    return reference


@contextmanager
def logged(log: logging.Logger, what: str) -> Iterator[None]:
    """Log an unexpected error of what is done here, and go on: nobody is there to be told."""
    try:
        yield
    except Exception:  # noqa: BLE001 (logged with a reference)
        log_exception(log, what)
