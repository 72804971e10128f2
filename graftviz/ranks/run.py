"""How good the best edge in the reservoir really is, at every step of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graftviz.history import flat_positions
from graftviz.learners.best_choice import BestChoice
from graftviz.table import DiscreteTable
from graftviz.trace import ReservoirView, Step

PRESET = "paper"  # plain belief scores: all pairs can be scored beside the run


@dataclass(frozen=True, eq=False)
class RankedStep:
    """A step, and what its learner cannot know.

    Attributes
    ----------
    index : int
        From 1.
    rank : int
        Place of the reservoir's best edge among all inactive pairs, 1 for the best of them.
    inactive : int
        Inactive pairs before the step.
    violating : int
        How many of them violate.
    tests : int
        Edge tests of the step.
    reservoir : ReservoirView
        At the moment of choice.
    """

    index: int
    rank: int
    inactive: int
    violating: int
    tests: int
    reservoir: ReservoirView

    @property
    def percentile(self) -> float:
        """Rank as a share of the inactive pairs, in (0, 1]."""
        return self.rank / self.inactive


def ranked_steps(
    table: DiscreteTable,
    *,
    reservoir: int | None = None,
    t_max: int | None = None,
    alpha: float = 0.75,
    lam: float | None = None,
    seed: int = 0,
) -> Iterator[tuple[RankedStep, ...]]:
    """Learn by best-choice as the paper has it; yield all steps so far after each.

    Beside the run, and unseen by it, all inactive pairs are scored at the weights at which the
    reservoir's best edge was chosen.

    Parameters
    ----------
    table : DiscreteTable
    reservoir, t_max, alpha, lam
        |R|, tests per step, α and λ, see :class:`graftviz.learners.best_choice.BestChoice`.
    seed : int

    Raises
    ------
    InputError
        For options out of range, or a table that is too small.
    """
    learner = BestChoice(preset=PRESET, reservoir=reservoir, t_max=t_max, alpha=alpha, lam=lam)
    everything = AllScores(table)
    done: list[RankedStep] = []
    beliefs = np.zeros(0)
    for step in learner.steps(table, seed=seed):
        if not done:
            beliefs = step.history.start_beliefs.copy()
        done.append(_ranked(step, everything.of(beliefs)))
        at = flat_positions(everything.offsets, step.changes.nodes)
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
        With few variables: the states of all of them together make a square matrix.
    """

    def __init__(self, table: DiscreteTable) -> None:
        sizes = table.cardinalities
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        states = [
            codes == state
            for codes, size in zip(table.codes, sizes.tolist(), strict=True)
            for state in range(size)
        ]
        indicators = np.array(states, dtype=np.float32)  # whose products count exactly
        self._shares = (indicators @ indicators.T).astype(np.float64) / table.n_rows
        self._joint_states = np.outer(sizes, sizes).astype(np.float64)

    def of(self, beliefs: np.ndarray) -> np.ndarray:
        """Return ‖b_i b_jᵀ − p_D(i, j)‖₂ / (s_i s_j) for all pairs, shape (n, n).

        Parameters
        ----------
        beliefs : float array, flat
            b_i of all variables, one after the other.
        """
        squares = (np.outer(beliefs, beliefs) - self._shares) ** 2
        starts = self.offsets[:-1]
        sums = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
        scores: np.ndarray = np.sqrt(sums) / self._joint_states
        return scores
