"""The one exception that is meant to be read by people."""

from __future__ import annotations


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one clear sentence (or two): what was wrong, where (row, column, option), and
    what to do. The command line prints it and exits with 2, the app shows it in place; neither
    shows a traceback.
    """
