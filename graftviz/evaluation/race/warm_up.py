"""Runs on a few rows, which compile the kernels of a learner before it is timed."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import numpy as np

from graftviz.data.sets.dataset import DataSet
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.run import learn_network
from graftviz.utils.errors import InputError

_VARIABLES = 5


@lru_cache(maxsize=64)
def rehearse(learner: Learner) -> None:
    """Let `learner` learn from a few rows, so that nothing has to be compiled when it is timed."""
    with suppress(InputError):  # options that do not fit such data: the run compiles the rest
        learn_network(small_data().table, learner.for_rehearsal())


def small_data(*, knows_truth: bool = False) -> DataSet:
    """Return a chain of a few variables that copy their predecessor most of the time.

    With one variable less some kernels of larger data are not compiled.
    """
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(200, _VARIABLES))
    for i in range(1, _VARIABLES):
        copied = rng.random(len(codes)) < 0.7
        codes[copied, i] = codes[copied, i - 1]
    return DataSet(
        key="warm-up",
        title="",
        table=DiscreteTable.from_codes(codes),
        truth=np.array([(i, i + 1) for i in range(_VARIABLES - 1)]) if knows_truth else None,
        test_fraction=0.2,
    )
