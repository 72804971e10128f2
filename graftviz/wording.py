"""How an option is named where people meet it: a flag, a control, or an argument."""

from __future__ import annotations

import re
from collections.abc import Callable

_ARGUMENT = re.compile(r'\b(missing|continuous|constant|header|method)=(?:"([\w-]+)"|(True|False))')
_NAMED = re.compile(r"\((max_memory)\)")


def reworded(sentence: str, told: Callable[[str, str], str]) -> str:
    """Replace arguments of :func:`graftviz.read_table` and `infer` that a sentence advises.

    Parameters
    ----------
    sentence : str
        What an InputError says: ``… drop such rows (missing="drop") …``, ``… (max_memory) …``.
    told : callable
        ``told(name, value)`` words an option; True and False are "yes" and "no", and the value of
        an argument that is only named is empty.
    """

    def word(found: re.Match[str]) -> str:
        name, text, truth = found.groups()
        return told(name, text or {"True": "yes", "False": "no"}[truth])

    sentence = _NAMED.sub(lambda found: f"({told(found[1], '')})", sentence)
    return _ARGUMENT.sub(word, sentence)
