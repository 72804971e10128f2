"""The belief score of the paper: b_i b_jᵀ − p_D(e), the gradient of the Bethe likelihood.

It ranks pairs by raw correlation, as node beliefs agree with the data (best-choice edge grafting,
eq. 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graftviz.counts import PackedTable, PairCounts
from graftviz.fitting.network import FittedNetwork
from graftviz.model import PairwiseMRF
from graftviz.scores.base import PairNorm, Score, Scorer, pair_frequencies, spread
from graftviz.scores.kernels import (
    Measure,
    Scoring,
    belief_distance,
    distance,
    impurity_of,
    kernel_for,
    new_scoring,
    noise,
    pair_noise,
)
from graftviz.table import DiscreteTable


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
        impurity = impurity_of(self._network.state.node_offsets, beliefs)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity)


class BeliefScore(Score):
    """Score of a pair by its distance from independent node beliefs."""

    name = "belief"
    formula = "‖bᵢbⱼᵀ − p_D‖ / d"
    help = "raw correlation, the paper's, cheapest"
    when_to_use = "As in the paper, and fastest: raw correlation."
    bounded_by_drift = True

    def scorer(
        self,
        network: FittedNetwork,
        table: DiscreteTable,
        counts: PairCounts,
        measure: Measure,
        *,
        every_pair: bool,
    ) -> Scorer:
        """Return the scorer of a run."""
        return NodeScorer(network, belief_scoring(counts.packed, network.node_beliefs, measure))

    def of_pair(
        self,
        table: DiscreteTable,
        model: PairwiseMRF,
        beliefs: Sequence[np.ndarray],
        i: int,
        j: int,
    ) -> PairNorm:
        """Return ‖b_i b_jᵀ − p_D(e)‖₂ and its noise."""
        gap = np.outer(beliefs[i], beliefs[j]) - pair_frequencies(table, i, j)
        return PairNorm(float(np.linalg.norm(gap)), belief_noise(beliefs[i], beliefs[j], table))


def belief_noise(belief_i: np.ndarray, belief_j: np.ndarray, table: DiscreteTable) -> float:
    """Return the noise of ‖b_i b_jᵀ − p_D(e)‖₂ due to sampling N rows.

    It is the root mean square if i and j are independent: √((1 − ‖b_i‖²)(1 − ‖b_j‖²) / N).
    """
    return math.sqrt(float(spread(belief_i) * spread(belief_j)) / table.n_rows)
