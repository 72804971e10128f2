"""The belief score of the paper: b_i b_jᵀ − p_D(e), the gradient of the Bethe likelihood.

It ranks pairs by raw correlation, as node beliefs agree with the data (best-choice edge grafting,
eq. 5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.counts import PackedTable
from graftviz.fitting.network import FittedNetwork
from graftviz.fitting.noise import impurity_of
from graftviz.scores.base import PairFit, PairNorm, Score, Scorer, ScorerInput
from graftviz.scores.kernels import (
    Measure,
    Scoring,
    belief_distance,
    distance,
    kernel_for,
    new_scoring,
    noise,
    pair_noise,
)


class BeliefState(NamedTuple):
    """State of the score beside the node beliefs: nothing."""


@kernel_for(distance, BeliefState)
def _distance(_own, beliefs, offsets, i, j, cells, start, rows):
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    return belief_distance(cells, start, 1.0 / rows, beliefs, at_i, states_i, at_j, states_j)


@kernel_for(noise, BeliefState)
def _noise(_own, impurity, i, j, rows):
    return pair_noise(impurity, i, j, rows)


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

    stopped = ""

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

    def of_pair(self, at: PairFit) -> PairNorm:
        """Return ‖b_i b_jᵀ − p_D(e)‖₂ and its noise."""
        norm = float(np.linalg.norm(at.independent - at.frequencies))
        return PairNorm(norm, belief_noise(at))


def belief_noise(at: PairFit) -> float:
    """Return the noise of ‖b_i b_jᵀ − p_D(e)‖₂ due to sampling N rows.

    It is the root mean square if i and j are independent: √((1 − ‖b_i‖²)(1 − ‖b_j‖²) / N).
    """
    variance = float(impurity_of(at.beliefs[at.i]) * impurity_of(at.beliefs[at.j]))
    return math.sqrt(variance / at.table.total_weight)
