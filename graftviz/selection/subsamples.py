"""Which rows each subsample takes: complementary halves, or StARS's smaller parts."""

from __future__ import annotations

import math
import operator
from typing import Literal, get_args

import numpy as np

from graftviz.errors import InputError
from graftviz.learners.base import checked_seed
from graftviz.selection.fits import seed_of, stream

Method = Literal["complementary-pairs", "stars"]
METHODS: tuple[str, ...] = get_args(Method)
FEWEST_ROWS = 2  # what any learner needs

_ROWS = 0  # the stream of random numbers that draws rows
_SEEDS = 1  # and the one that seeds the learners
_STARS_FROM = 144  # rows up to which 10 √N would be most of the table, or more than all
_STARS_SHARE = 0.8


def subsample_rows(
    rows: int, index: int, *, method: Method, size: int, seed: int = 0
) -> np.ndarray:
    """Return the rows of one subsample, int64, ascending, shape (size,).

    Complementary pairs: subsamples 2b and 2b + 1 are the two halves of one random permutation, and
    share no row; of an odd number of rows one, drawn at random, is in neither. StARS: every
    subsample is drawn without replacement, independently of the others.
    """
    pairs = method == "complementary-pairs"
    order = stream(seed, _ROWS, index // 2 if pairs else index).permutation(rows)
    start = size * (index % 2) if pairs else 0
    return np.sort(order[start : start + size])


def learner_seed(index: int, *, seed: int = 0) -> int:
    """Return the seed of the learner's own draws on one subsample."""
    return seed_of(seed, _SEEDS, index)


def subsample_size(rows: int, method: str, size: int | None = None) -> int:
    """Return the rows of a subsample: ⌊N/2⌋ for complementary pairs, ⌊10 √N⌋ for StARS.

    StARS takes four fifths of a table of at most 144 rows, as 10 √N would be no part of it.

    Raises
    ------
    InputError
        For an unknown method, a size that complementary pairs do not have, one that is no part of
        the table, or a table too small to take a part of.
    """
    if method not in METHODS:
        raise InputError(
            f"There is no subsampling method {method!r}; there are {' and '.join(METHODS)}."
        )
    if method == "complementary-pairs":
        if size is not None:
            raise InputError(
                "Complementary pairs are halves of the table; only stars takes another size."
            )
        size = rows // 2
    elif size is None:
        small = rows <= _STARS_FROM
        size = math.floor(_STARS_SHARE * rows if small else 10 * math.sqrt(rows))
    elif not FEWEST_ROWS <= size < rows:
        raise InputError(
            f"A subsample must have at least {FEWEST_ROWS} rows and fewer than the table's "
            f"{rows:,}; got {size:,}."
        )
    if size < FEWEST_ROWS:
        raise InputError(
            f"{rows:,} rows are too few to learn from parts of them; stability needs at least "
            f"{2 * FEWEST_ROWS}."
        )
    return size


def check_subsamples(subsamples: int, method: str, seed: int) -> None:
    """Raise :class:`InputError` unless so many subsamples can be drawn with this seed."""
    checked_seed(seed)
    try:
        number = operator.index(subsamples)
    except TypeError:
        raise InputError(
            f"The number of subsamples must be a whole number, not {subsamples!r}."
        ) from None
    if number < 2:
        raise InputError(f"Stability needs at least 2 subsamples; got {number}.")
    if method == "complementary-pairs" and number % 2:
        raise InputError(
            f"Complementary pairs come in twos: take {number + 1} subsamples instead of {number}."
        )
