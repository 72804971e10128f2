"""Option of learners that choose pairs: which pairs are tested, and in which order."""

from __future__ import annotations

from typing import Any, Final, Literal

from graftviz.learning.grafting.screening import PARTNERS
from graftviz.utils.options import option

Screens = Literal["all", "sample", "none"]
ALL: Final = "all"
SAMPLE: Final = "sample"
NONE: Final = "none"
MOST_COUNTED = 500_000  # so many pairs are counted in a fraction of a second


def screening_option(none_means: str) -> Any:
    """Return the option `screening` of a learner."""
    return option(
        None,
        "selection of pairs. all: every pair is counted first, and likely edges are tested first; "
        "sample: all pairs are compared on some rows, and only the best partners of each variable "
        "are counted and tested; none: pairs are tested as the algorithm draws them",
        label="Screening",
        none_means=none_means,
        advanced=True,
    )


def by_size(n: int, most: int = MOST_COUNTED) -> Screens:
    """Return ALL for up to `most` pairs of n variables, else SAMPLE."""
    return ALL if n * (n - 1) // 2 <= most else SAMPLE


def counted_pairs(n: int, screening: str) -> int:
    """Return how many pairs of n variables are counted at most under a screening."""
    possible = n * (n - 1) // 2
    return min(PARTNERS * n, possible) if screening == SAMPLE else possible
