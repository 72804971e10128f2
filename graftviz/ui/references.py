"""Short references: what a page shows of an unexpected error, and what finds it in the log."""

from __future__ import annotations

import logging
import secrets


def log_exception(log: logging.Logger, what: str) -> str:
    """Log the exception that is being handled, with its traceback; return the reference to it."""
    reference = secrets.token_hex(3)
    log.exception("%s (reference %s).", what, reference)
    return reference
