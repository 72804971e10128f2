"""The words of a UAI file, whatever its kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graftviz.errors import InputError


class Tokens:
    """The words of a UAI file, handed out one by one with an error that says what was expected."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            self._words = path.read_text(encoding="ascii").split()
        except UnicodeDecodeError:
            raise InputError(f"{self.name} is not a UAI file: it is not plain text.") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None
        self._next = 0

    def __len__(self) -> int:
        return len(self._words)

    def word(self, wanted: str) -> str:
        """Return the next word."""
        if self._next >= len(self._words):
            raise InputError(f"{self.name} ends where {wanted} should follow; is it cut short?")
        self._next += 1
        return self._words[self._next - 1]

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
        words = self._words[self._next : self._next + count]
        if len(words) < count:
            raise InputError(
                f"{self.name} ends within {wanted}: {count} numbers should stand there, "
                f"but only {len(words)} do; is it cut short?"
            )
        self._next += count
        try:
            return np.array([float(word) for word in words])
        except ValueError as error:
            raise InputError(f"In {self.name}, within {wanted}: {error}.") from None

    def expect_end(self, last: str = "its last table") -> None:
        """Refuse anything after what was read."""
        if self._next < len(self._words):
            extra = self._words[self._next][:20]
            raise InputError(f"{self.name} goes on with {extra!r} after {last}.")
