"""Formatting of numbers, counts, names and lists as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graftviz.learning.scores.registry import SCORES
from graftviz.learning.trace import ActivationTest
from graftviz.reports.texts import catalogue
from graftviz.utils.wording import enough_digits

LONGEST_NAME = 30
LONGEST_LIST = 4


def score(value: float, limit: float = math.nan) -> str:
    """Write a score with three significant digits, the zeros at the end included: 0.0110.

    More digits are written where three do not show whether it is above or below `limit`.
    """

    def side(number: float) -> tuple[bool, bool]:
        return number > limit, number < limit

    digits = enough_digits(value, lambda written: side(written) == side(value))
    return f"{'−' if value < 0 else ''}{abs(value):#.{digits}g}"


def score_line(text: str, test: ActivationTest | None) -> str:
    """Add the formula of the used score to a line of pseudo-code about it."""
    own = SCORES.get(test.score) if test else None
    if test is None or own is None:
        return text
    name = f"{text}, {own.formula}"
    capped: str = catalogue("steps")["scoring"]["capped"]
    return capped.format(line=name) if test.significance > 0 else name


def plural(count: int, noun: str) -> str:
    """Write "1 edge", "1,200 edges"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counted(texts: Sequence[str], count: int, **values: str) -> str:
    """Fill the text for one or the one for several; ``{n}`` is the count."""
    return texts[count != 1].format(n=f"{count:,}", **values)


def was(count: int) -> str:
    """Return "was" or "were"."""
    return "was" if count == 1 else "were"


def short(text: str) -> str:
    """Cut a name or label that would drown the sentence."""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def pair(names: Sequence[str], i: int, j: int) -> str:
    """Name an edge."""
    return f"{short(names[i])} – {short(names[j])}"


def listed(
    items: Sequence[str], total: int | None = None, texts: Mapping[str, Any] | None = None
) -> str:
    """Write "a", "a and b", "a, b and c", "a, b, c and 12 more".

    Parameters
    ----------
    items : sequence of str
        At least one; those beyond the first `LONGEST_LIST` need not be given.
    total : int, optional
        Total number; by default the number of `items`.
    """
    texts = catalogue("steps")["lists"]
    total = len(items) if total is None else total
    if total > LONGEST_LIST:
        more = texts["more"].format(count=f"{total - LONGEST_LIST + 1:,}")
        shown = [*items[: LONGEST_LIST - 1], more]
    else:
        shown = list(items)
    if len(shown) == 1:
        return shown[0]
    return str(texts["and"].format(names=", ".join(shown[:-1]), last=shown[-1]))


def listed_edges(
    names: Sequence[str],
    edges: Sequence[Sequence[int]],
    scores: Sequence[float] | None = None,
) -> str:
    """Write edges as a list of pairs, with their scores in brackets if there are any."""
    if not len(edges):
        return ""
    pairs = [pair(names, i, j) for i, j in edges[:LONGEST_LIST]]
    if scores is not None:
        pairs = [f"{text} ({score(own)})" for text, own in zip(pairs, scores, strict=False)]
    return listed(pairs, len(edges))


class Absence(NamedTuple):
    """Reason why a pair is not an edge.

    Attributes
    ----------
    score, threshold : float or None
        None where they are not known.
    tests : int
    words : str
    symbol : str
        Name of the threshold.
    last_test : dict or None
        Step, score and verdict of the last test, of learners that test pairs.
    needs : str or None
        Number of rows with which a true edge would be found, as a sentence.
    """

    score: float | None
    threshold: float | None
    tests: int
    words: str
    symbol: str = "λ"
    last_test: dict[str, Any] | None = None
    needs: str | None = None

    @property
    def violates(self) -> bool:
        """Whether the score is above the threshold."""
        return self.score is not None and self.threshold is not None and self.score > self.threshold
