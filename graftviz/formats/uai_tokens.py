"""Words of UAI files of all kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from graftviz.errors import InputError

_WORD = re.compile(rb"[^\s\x1c-\x1f]+")


class Tokens:
    """Iterator over the words of a UAI file, with errors that name what is missing.

    Words are split off one at a time: all at once they would take twenty times the memory of the
    file.

    Parameters
    ----------
    title : str
        Name of the file in messages.
    content : bytes

    Raises
    ------
    InputError
        When the content is not plain text.
    """

    def __init__(self, title: str, content: bytes) -> None:
        self.name = title
        self._text = content
        if not self._text.isascii():
            raise InputError(f"{self.name} is not a UAI file: it is not plain text.")
        self._words = self._all_words()

    def __len__(self) -> int:
        return sum(1 for _ in self._all_words())

    def _all_words(self) -> Iterator[str]:
        return (found[0].decode("ascii") for found in _WORD.finditer(self._text))

    def word(self, wanted: str) -> str:
        """Return the next word."""
        word = next(self._words, None)
        if word is None:
            raise InputError(f"{self.name} ends where {wanted} should follow; is it cut short?")
        return word

    def count(self, wanted: str, limit: int) -> int:
        """Return the next word as a whole number from 0 to `limit`."""
        word = self.word(wanted)
        # isdigit alone would let through digits of other scripts; the text is ASCII already.
        if not word.isdigit() or len(word) > 18 or int(word) > limit:
            raise InputError(
                f"In {self.name}, {wanted} must be a whole number from 0 to {limit}, "
                f"not {word[:20]!r}."
            )
        return int(word)

    def numbers(self, count: int, wanted: str) -> np.ndarray:
        """Return the next `count` words as floats."""
        try:
            found = np.fromiter(map(float, islice(self._words, count)), np.float64)
        except ValueError as error:
            raise InputError(f"In {self.name}, within {wanted}: {error}.") from None
        if len(found) < count:
            raise InputError(
                f"{self.name} ends within {wanted}: {count} numbers should stand there, "
                f"but only {len(found)} do; is it cut short?"
            )
        return found

    def expect_end(self, last: str = "its last table") -> None:
        """Refuse anything after what was read."""
        extra = next(self._words, None)
        if extra is not None:
            raise InputError(f"{self.name} goes on with {extra[:20]!r} after {last}.")
