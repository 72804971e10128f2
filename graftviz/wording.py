"""How an option is named where people meet it: a flag, a control, or an argument."""

from __future__ import annotations

import re
from collections.abc import Callable

_ARGUMENT = re.compile(r'\b(missing|continuous|header)=(?:"(\w+)"|(True|False))')


def reworded(sentence: str, told: Callable[[str, str], str]) -> str:
    """Replace arguments of :func:`graftviz.read_table` that a sentence advises.

    Parameters
    ----------
    sentence : str
        What an InputError says: ``… drop such rows (missing="drop") …``.
    told : callable
        ``told(name, value)`` words an option; True and False are "yes" and "no".
    """

    def word(found: re.Match[str]) -> str:
        name, text, truth = found.groups()
        return told(name, text or {"True": "yes", "False": "no"}[truth])

    return _ARGUMENT.sub(word, sentence)
