"""Exception for invalid input, with messages for users."""

from __future__ import annotations

import re

from graftviz.utils.wording import escaped, shortened

MOST_CHARACTERS = 600
_LONG = 120  # length from which a word or quoted text is shortened
_QUOTED = re.compile(rf"(?<![\w'])'[^']{{{_LONG},}}'(?!\w)|(?<![\w\"])\"[^\"]{{{_LONG},}}\"(?!\w)")
_WORD = re.compile(rf"[^\s'\"]{{{_LONG},}}")


class InputError(ValueError):
    """Invalid input of a user.

    The message is one or two sentences: the error, its place (row, column, option), and the
    remedy. The command line prints it and exits with 2, the app shows it in place; neither
    shows a traceback. Names and values in it come from files, links and arguments and may be any
    text: control characters are escaped, long quoted text and long words are shortened to about 80
    characters (:func:`graftviz.utils.wording.shortened`), and the whole message to 600.

    Examples
    --------
    >>> try:
    ...     gv.infer(model, evidence={"home": "moon"})
    ... except gv.InputError as error:
    ...     print(error)
    Variable 'home' has no state 'moon'; it has city, suburb, village.
    """

    def __init__(self, message: str) -> None:
        super().__init__(readable(message))


def readable(message: str) -> str:
    """Return a message on one line, with long words and long quoted text shortened."""
    message = escaped(message)
    if len(message) > _LONG:
        for pattern in (_QUOTED, _WORD):
            message = pattern.sub(lambda found: shortened(found[0]), message)
    return shortened(message, MOST_CHARACTERS)
