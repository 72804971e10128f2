"""Rank of the reservoir's best edge among all inactive pairs, at every step of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.trace import ReservoirView, Step
from graftviz.utils.array_kernels import flat_positions

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
