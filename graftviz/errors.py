"""The one exception that is meant to be read by people."""

from __future__ import annotations

MOST_CHARACTERS = 1000
_KEPT = 60  # characters of a word that is too long to be read


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one clear sentence (or two): what was wrong, where (row, column, option), and
    what to do. The command line prints it and exits with 2, the app shows it in place; neither
    shows a traceback. Names and values that stand in it come from files and links and may have any
    length; a message of more than a thousand characters is shortened.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_readable(message))


def _readable(message: str) -> str:
    if len(message) <= MOST_CHARACTERS:
        return message
    words = (w if len(w) <= 2 * _KEPT else f"{w[:_KEPT]}…{w[-1]}" for w in message.split(" "))
    shorter = " ".join(words)
    if len(shorter) <= MOST_CHARACTERS:
        return shorter
    return f"{shorter[: MOST_CHARACTERS // 2]} … {shorter[-MOST_CHARACTERS // 4 :]}"
