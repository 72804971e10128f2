"""Rank of the reservoir's best edge among all inactive pairs, at every step of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.queue import random_below
from graftviz.learning.trace import ReservoirView, Step
from graftviz.utils.arrays import flat_positions
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


PRESET: Final = "paper"  # plain belief scores, which are cheap to compute for all pairs


@dataclass(frozen=True, eq=False)
class RankedStep:
    """Step with the rank of the reservoir's best edge among all inactive pairs.

    Attributes
    ----------
    index : int
        Index of the step, from 1.
    rank : int
        Rank of the reservoir's best edge among all inactive pairs; 1 is the best.
    inactive : int
        Number of inactive pairs before the step.
    violating : int
        Number of inactive pairs that violate.
    tests : int
        Number of edge tests in the step.
    reservoir : ReservoirView
        Reservoir at the choice of edges.
    """

    index: int
    rank: int
    inactive: int
    violating: int
    tests: int
    reservoir: ReservoirView


def ranked_learner(
    reservoir: int | None = None,
    t_max: int | None = None,
    alpha: float = 0.75,
    lam: float | None = None,
) -> BestChoice:
    """Return the learner of :func:`ranked_steps`."""
    return BestChoice(preset=PRESET, reservoir=reservoir, t_max=t_max, alpha=alpha, lam=lam)


def ranked_steps(
    table: DiscreteTable,
    *,
    reservoir: int | None = None,
    t_max: int | None = None,
    alpha: float = 0.75,
    lam: float | None = None,
    seed: int = 0,
) -> Iterator[tuple[RankedStep, ...]]:
    """Run best-choice with the paper's preset; yield all ranked steps so far after each step.

    All inactive pairs are scored at the weights at which the reservoir's best edge was chosen;
    the run does not use these scores.

    Parameters
    ----------
    table : DiscreteTable
    reservoir, t_max, alpha, lam
        |R|, tests per step, α and λ, see :class:`graftviz.BestChoice`.
    seed : int

    Raises
    ------
    InputError
        If options are out of range or the table is too small.
    """
    learner = ranked_learner(reservoir, t_max, alpha, lam)
    all_scores = AllScores(table)
    done: list[RankedStep] = []
    beliefs = np.zeros(0)
    for step in learner.steps(table, seed=seed):
        if not done:
            beliefs = step.history.start_beliefs.copy()
        done.append(_ranked(step, all_scores.of(beliefs)))
        at = flat_positions(all_scores.offsets, step.changes.nodes)
        beliefs[at] = step.changes.node_beliefs
        yield tuple(done)


def _ranked(step: Step, scores: np.ndarray) -> RankedStep:
    view, test = step.reservoir, step.test
    assert view is not None  # best-choice has both
    assert test is not None
    is_inactive = np.triu(np.ones(scores.shape, dtype=bool), 1)
    before = step.history.edges_at(step.index - 1)
    is_inactive[before[:, 0], before[:, 1]] = False
    inactive = scores[is_inactive]
    best = scores[tuple(view.edges[0])]
    return RankedStep(
        index=step.index,
        rank=1 + int(np.count_nonzero(inactive > best)),
        inactive=len(inactive),
        violating=int(np.count_nonzero(inactive > test.lam)),
        tests=step.tests,
        reservoir=view,
    )


class AllScores:
    """Belief scores of all pairs of a table.

    Parameters
    ----------
    table : DiscreteTable
        Its number of variables should be small: memory is quadratic in the total number of states.
    """

    def __init__(self, table: DiscreteTable) -> None:
        sizes = table.cardinalities
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._shares = table.joint_shares()
        self._joint_states = np.outer(sizes, sizes).astype(np.float64)

    def of(self, beliefs: np.ndarray) -> np.ndarray:
        """Return ‖b_i b_jᵀ − p_D(i, j)‖₂ / (s_i s_j) for all pairs, shape (n, n).

        Parameters
        ----------
        beliefs : float array, flat
            Beliefs b_i of all variables, concatenated.
        """
        squares = (np.outer(beliefs, beliefs) - self._shares) ** 2
        starts = self.offsets[:-1]
        sums = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
        scores: np.ndarray = np.sqrt(sums) / self._joint_states
        return scores
