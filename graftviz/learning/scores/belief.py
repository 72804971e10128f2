"""The belief score of the paper: b_i b_jᵀ − p_D(e), the gradient of the Bethe likelihood.

It ranks pairs by raw correlation, as node beliefs agree with the data (best-choice edge grafting,
eq. 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.counts.packed import PackedTable
from graftviz.learning.scores.base import Expectation, PairFit, Score, Scorer, ScorerInput
from graftviz.learning.scores.kernels import (
    Measure,
    Scoring,
    expect,
    expect_independent,
    kernel_for,
    new_scoring,
    variance,
)
from graftviz.learning.weights.network import FittedNetwork
from graftviz.learning.weights.noise import impurity_of


class BeliefState(NamedTuple):
    """State of the score beside the node beliefs: nothing."""


@kernel_for(expect, BeliefState)
def _expect(_own, beliefs, offsets, i, j, rows, out):
    expect_independent(beliefs, offsets, i, j, rows, out)


@kernel_for(variance, BeliefState)
def _variance(_own, impurity, i, j):
    return impurity[i] * impurity[j]


def belief_scoring(packed: PackedTable, beliefs: np.ndarray, measure: Measure) -> Scoring:
    """Return the scoring by node beliefs, which need not be those of a fit."""
    is_plain = measure.significance == 0.0
    return new_scoring(BeliefState(), packed, beliefs, measure, is_plain=is_plain)


class NodeScorer:
    """Scorer for scores that follow node beliefs only.

    Parameters
    ----------
    network : ActiveNetwork or PseudoNetwork
    scoring : Scoring
        Scoring at the current beliefs.
    """

    def __init__(self, network: FittedNetwork, scoring: Scoring) -> None:
        self._network = network
        self.scoring = scoring

    @property
    def drift(self) -> np.ndarray:
        """Length of the path of every node belief."""
        return self._network.state.drift

    def refresh(self) -> None:
        """Update `scoring` to the current node beliefs."""
        beliefs = self._network.node_beliefs
        if self.scoring.is_plain:
            self.scoring = self.scoring._replace(beliefs=beliefs, drift=self.drift)
            return
        impurity = impurity_of(beliefs, self._network.state.node_offsets)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity)


class BeliefScore(Score):
    """Score of a pair by its distance from independent node beliefs."""

    name = "belief"
    formula = "‖bᵢbⱼᵀ − p_D‖ / d"
    help = "raw correlation, the paper's, cheapest"
    when_to_use = "As in the paper, and fastest: raw correlation."
    bounded_by_drift = True

    def scorer(self, fit: ScorerInput) -> Scorer:
        """Return the scorer of a run."""
        beliefs = fit.network.node_beliefs
        return NodeScorer(fit.network, belief_scoring(fit.counts.packed, beliefs, fit.measure))

    def expectation(self, at: PairFit) -> Expectation:
        """Return N b_i b_jᵀ and the product of both impurities."""
        return Expectation(at.table.total_weight * at.independent, at.independent_variance)
