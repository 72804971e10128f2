"""Small pieces of English: numbers, counts, names and lists."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_NAME = 30
LONGEST_LIST = 4


def score(value: float) -> str:
    """Write a score with three significant digits, the zeros at the end included: 0.0110."""
    return f"{value:#.3g}"


def plural(count: int, noun: str) -> str:
    """Write "1 edge", "1,200 edges"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def was(count: int) -> str:
    """Return "was" or "were"."""
    return "was" if count == 1 else "were"


def short(text: str) -> str:
    """Cut a name or label that would drown the sentence."""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def pair(names: Sequence[str], i: int, j: int) -> str:
    """Name an edge."""
    return f"{short(names[i])} – {short(names[j])}"


def listed(items: Sequence[str], total: int | None = None) -> str:
    """Write "a", "a and b", "a, b and c", "a, b, c and 12 more".

    Parameters
    ----------
    items : sequence of str
        At least one; those beyond the first `LONGEST_LIST` need not be given.
    total : int, optional
        How many there are; the number of `items` if left out.
    """
    total = len(items) if total is None else total
    if total > LONGEST_LIST:
        shown = [*items[: LONGEST_LIST - 1], f"{total - LONGEST_LIST + 1:,} more"]
    else:
        shown = list(items)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
