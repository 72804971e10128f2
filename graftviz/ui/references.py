"""Short references of unexpected errors: shown on the page and searchable in the log."""

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
    """Log unexpected errors of the enclosed block and suppress them."""
    try:
        yield
    except Exception:  # noqa: BLE001 (logged with a reference)
        log_exception(log, what)
