"""Best rank among random draws, which shows that a small reservoir is enough (BC §4.1, fig. 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graftviz.learning.grafting.queue import random_below
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError

MOST_VARIABLES = 2000
MOST_DRAWS = 1000  # largest size of a reservoir
MOST_TRIALS = 500


@dataclass(frozen=True, eq=False)
class RankSimulation:
    """Best ranks of randomly filled reservoirs.

    Attributes
    ----------
    variables : int
        n.
    pairs : int
        n (n − 1) / 2, the largest rank.
    sizes : int64 array, shape (k,)
        |R|.
    ranks : int64 array, shape (trials, k)
        Smallest of |R| ranks drawn without replacement; read-only.
    """

    variables: int
    pairs: int
    sizes: np.ndarray
    ranks: np.ndarray

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean best rank over the trials, as a share of the pairs."""
        mean: np.ndarray = self.ranks.mean(axis=0) / self.pairs
        return mean

    @cached_property
    def lowest(self) -> np.ndarray:
        """Best rank over all trials, as a share of the pairs."""
        lowest: np.ndarray = self.ranks.min(axis=0) / self.pairs
        return lowest

    @cached_property
    def highest(self) -> np.ndarray:
        """Worst best rank over all trials, as a share of the pairs."""
        highest: np.ndarray = self.ranks.max(axis=0) / self.pairs
        return highest

    @cached_property
    def expected(self) -> np.ndarray:
        """Expected best rank 1 / (|R| + 1), as for |R| uniform numbers in [0, 1]."""
        expected: np.ndarray = 1.0 / (self.sizes + 1.0)
        return expected


def simulated_ranks(
    variables: int, largest: int, trials: int, seed: int = 0
) -> Iterator[RankSimulation]:
    """Draw |R| = 1 … `largest` ranks, record the smallest, and yield after each trial.

    Draws for different sizes and trials are independent. Sizes above the number of pairs are
    omitted.

    Parameters
    ----------
    variables : int
        n, 2 … 2000.
    largest : int
        1 … 1000.
    trials : int
        1 … 500.
    seed : int

    Raises
    ------
    InputError
        If a number is out of its bounds.
    """
    for name, value, least, most in (
        ("the number of variables", variables, 2, MOST_VARIABLES),
        ("the largest reservoir", largest, 1, MOST_DRAWS),
        ("the number of trials", trials, 1, MOST_TRIALS),
    ):
        if not least <= value <= most:
            raise InputError(f"For ranks, {name} must be {least} to {most:,}; got {value:,}.")
    pairs = variables * (variables - 1) // 2
    sizes = np.arange(1, min(largest, pairs) + 1)
    sizes.flags.writeable = False
    random = np.random.default_rng(seed).integers(0, 2**63, size=1).astype(np.uint64)
    drawn_in = np.zeros(pairs, dtype=np.int32)
    ranks = np.empty((trials, len(sizes)), dtype=np.int64)
    for done in range(1, trials + 1):
        drawn_in[:] = 0
        smallest_ranks(random, sizes, drawn_in, ranks[done - 1])
        so_far = ranks[:done].copy()
        so_far.flags.writeable = False
        yield RankSimulation(variables, pairs, sizes, so_far)


@kernel
def smallest_ranks(random, sizes, drawn_in, smallest):
    """Write the smallest of `sizes[k]` ranks drawn without replacement to `smallest[k]`.

    Parameters
    ----------
    random : uint64 array, shape (1,)
        State of the random generator.
    sizes : int64 array
    drawn_in : int32 array, shape (pairs,)
        Zeros; overwritten with the round, from 1, in which each rank was drawn last.
    smallest : int64 array
    """
    pairs = len(drawn_in)
    for k in range(len(sizes)):
        least = pairs
        drawn = 0
        while drawn < sizes[k]:
            rank = random_below(random, pairs)
            if drawn_in[rank] != k + 1:
                drawn_in[rank] = k + 1
                drawn += 1
                least = min(least, rank)
        smallest[k] = least + 1
