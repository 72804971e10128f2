"""Tokenizer of UAI files of all kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from graftviz.errors import InputError

_WORD = re.compile(rb"[^\s\x1c-\x1f]+")


class Tokens:
    """Iterator over the words of a UAI file, with errors that name the missing item.

    Words are extracted one at a time; a list of all words would take twenty times the memory of
    the file.

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

    def word(self, expected: str) -> str:
        """Return the next word."""
        word = next(self._words, None)
        if word is None:
            raise InputError(f"{self.name} is truncated: {expected} is missing.")
        return word

    def count(self, expected: str, limit: int) -> int:
        """Return the next word as a whole number from 0 to `limit`."""
        word = self.word(expected)
        # isdigit also accepts digits of other scripts, which cannot occur in ASCII text.
        if not word.isdigit() or len(word) > 18 or int(word) > limit:
            raise InputError(
                f"In {self.name}, {expected} must be a whole number from 0 to {limit}, "
                f"not {word[:20]!r}."
            )
        return int(word)

    def numbers(self, count: int, expected: str) -> np.ndarray:
        """Return the next `count` words as floats."""
        try:
            found = np.fromiter(map(float, islice(self._words, count)), np.float64)
        except ValueError as error:
            raise InputError(f"In {self.name}, within {expected}: {error}.") from None
        if len(found) < count:
            raise InputError(
                f"{self.name} is truncated: {expected} has {len(found)} numbers instead of {count}."
            )
        return found

    def expect_end(self, last: str = "its last table") -> None:
        """Raise :class:`InputError` if any word follows."""
        extra = next(self._words, None)
        if extra is not None:
            raise InputError(f"{self.name} continues with {extra[:20]!r} after {last}.")
