"""Rows of resamples: complementary halves, smaller samples of StARS, or the bootstrap."""

from __future__ import annotations

import math
import operator
from typing import Literal, get_args

import numpy as np

from graftviz.evaluation.selection.fits import seed_of, stream
from graftviz.utils.errors import InputError
from graftviz.utils.options import checked_seed

Method = Literal["complementary-pairs", "stars", "bootstrap"]
METHODS: tuple[str, ...] = get_args(Method)
FEWEST_ROWS = 2  # required by every learner

_ROWS = 0  # spawn key of the generator that draws rows
_SEEDS = 1  # spawn key of the seeds of learners
_STARS_FROM = 144  # rows up to which 10 √N would be most or all of the table
_STARS_SHARE = 0.8


def subsample_rows(
    rows: int, index: int, *, method: Method, size: int, seed: int = 0
) -> np.ndarray:
    """Return the rows of one subsample, int64, ascending, shape (size,).

    Complementary pairs: subsamples 2b and 2b + 1 are the two disjoint halves of one random
    permutation; if the number of rows is odd, one random row is in neither. StARS: every subsample
    is drawn without replacement, independently of the others. Bootstrap: with replacement.
    """
    if method == "bootstrap":
        return np.sort(stream(seed, _ROWS, index).integers(rows, size=size))
    pairs = method == "complementary-pairs"
    order = stream(seed, _ROWS, index // 2 if pairs else index).permutation(rows)
    start = size * (index % 2) if pairs else 0
    return np.sort(order[start : start + size])


def learner_seed(index: int, *, seed: int = 0) -> int:
    """Return the seed of the learner on one subsample."""
    return seed_of(seed, _SEEDS, index)


def subsample_size(rows: int, method: str, size: int | None = None) -> int:
    """Return the size of a subsample.

    ⌊N/2⌋ for complementary pairs, N for the bootstrap, ⌊10 √N⌋ for StARS, but 80 % of the rows of
    tables of at most 144 rows.

    Raises
    ------
    InputError
        If the method is unknown, a size is given for another method than StARS or not below the
        number of rows, or the table is too small.
    """
    if method not in METHODS:
        raise InputError(
            f"There is no subsampling method {method!r}; the methods are {', '.join(METHODS)}."
        )
    if method != "stars":
        if size is not None:
            raise InputError(
                "Complementary pairs are halves of the table and bootstrap samples have its size; "
                "only stars takes another size."
            )
        size = rows // 2 if method == "complementary-pairs" else rows
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
    """Raise :class:`InputError` if the number of subsamples or the seed is invalid."""
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
