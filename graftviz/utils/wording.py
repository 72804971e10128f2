"""Text of messages: quoting and shortening of user input, and names of options."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

LONGEST = 80  # characters of a value in a message
_END = 20  # characters of these that are taken from the end of the value

_ARGUMENT = re.compile(r'\b(missing|continuous|constant|header|method)=(?:"([\w-]+)"|(True|False))')
_NAMED = re.compile(r"\((max_memory)\)")
# All ASCII punctuation may be escaped in Markdown. Line breaks would end the sentence's paragraph.
_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_SPACE = re.compile(r"\s+")


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return `text` with at most `longest` characters: its beginning and its end."""
    if len(text) <= longest:
        return text
    end = min(_END, longest // 4)
    return f"{text[: longest - end - 1]}…{text[-end:]}"


def escaped(text: str) -> str:
    r"""Return `text` with characters that are not printable as ``\x1b`` or ``\u202e``.

    These are line ends, escape sequences, lone surrogates, marks that change the direction of
    writing, and white space other than the blank.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def quoted(value: object, longest: int = LONGEST) -> str:
    """Return the repr of a user's value, shortened for a message."""
    if isinstance(value, str):
        return repr(shortened(value, longest))
    try:
        return shortened(escaped(repr(value)), longest)
    except ValueError:  # Python does not convert integers of more than 4,300 digits
        return f"a {type(value).__name__} that is too long to be shown"


def nearest(
    text: str, choices: Iterable[str], otherwise: str = "", shown: Callable[[str], str] = quoted
) -> str:
    """Return "did you mean …?" with the choice most similar to `text`, or `otherwise`."""
    near = difflib.get_close_matches(text, choices, n=1)
    return f"did you mean {shown(near[0])}?" if near else otherwise


def enough_digits(value: float, is_shown: Callable[[float], bool]) -> int:
    """Return the number of digits, from three, with which a number is written.

    Parameters
    ----------
    value : float
    is_shown : callable
        Return whether the number as written shows what it has to, such as that it is below a limit.
        If no number of digits does, there are three.
    """
    return next((k for k in range(3, 17) if is_shown(float(f"{value:.{k}g}"))), 3)


def reworded(sentence: str, replace: Callable[[str, str], str]) -> str:
    """Replace Python arguments in the advice of a message, e.g. by command-line flags.

    Parameters
    ----------
    sentence : str
        Message of an InputError: ``… drop such rows (missing="drop") …``, ``… (max_memory) …``.
        Replaced are arguments of :func:`graftviz.read_table` and `infer`.
    replace : callable
        ``replace(name, value)`` returns the replacement; True and False are "yes" and "no", and
        the value of an argument without a value is empty.
    """

    def word(found: re.Match[str]) -> str:
        return replace(*_argument(found))

    sentence = _NAMED.sub(lambda found: f"({replace(found[1], '')})", sentence)
    return _ARGUMENT.sub(word, sentence)


def advised_arguments(sentence: str) -> list[tuple[str, str]]:
    """Return names and values of the Python arguments in the advice of a message."""
    return [_argument(found) for found in _ARGUMENT.finditer(sentence)]


def _argument(found: re.Match[str]) -> tuple[str, str]:
    name, text, truth = found.groups()
    return name, text or {"True": "yes", "False": "no"}[truth]


def plain(text: str) -> str:
    """Return Markdown that shows `text` as it is: no images, links, styles or formulas in it."""
    return _SPECIAL.sub(lambda found: "\\" + found.group(), _SPACE.sub(" ", text).strip())


def duration_text(seconds: float) -> str:
    """Return a duration as text, rounded to the accuracy of the estimate."""
    for least, unit, size in ((5400, "hours", 3600), (100, "minutes", 60), (1, "s", 1)):
        if seconds >= least:
            return f"{seconds / size:,.0f} {unit}"
    return "less than a second"
