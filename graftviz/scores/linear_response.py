"""The linear-response score: b_i b_jᵀ + C_ij − p_D(e), with C from the Bethe Hessian.

C_ij is the covariance of the pair in the Bethe approximation due to the active edges, so that the
score is the correlation which they do not explain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.costs import CostPart, TableSize
from graftviz.counts import PairCounts
from graftviz.fitting.network import ActiveNetwork
from graftviz.fitting.noise import impurity_of
from graftviz.inference import infer
from graftviz.inference.response import linear_response
from graftviz.inference.response_factor import ResponseFactor, factorise, respond, response_block
from graftviz.scores.base import BETHE, Expectation, PairFit, Score, Scorer, ScorerInput
from graftviz.scores.kernels import (
    Measure,
    expect,
    expect_independent,
    kernel_for,
    new_scoring,
    variance,
    workspace,
)

_SAME_BELIEFS = 0.01  # farther from the run's, belief propagation has found another fixed point
_UNSTABLE = "linear response is undefined there, as belief propagation is unstable"
_REACHED = 1e6  # edges of a solution, times variables: large graphs are sparse
_SOLVE = 10e-9  # seconds per number of the response in an edge test


class ResponseState(NamedTuple):
    """State of the score.

    Attributes
    ----------
    factor : ResponseFactor
        Factorised Hessian, which caches the covariances that were solved for.
    work : float64 array, shape (3, largest number of joint states)
    """

    factor: ResponseFactor
    work: np.ndarray


@kernel_for(expect, ResponseState)
def _expect(own, beliefs, offsets, i, j, rows, out):
    expect_independent(beliefs, offsets, i, j, rows, out)
    if not respond(own.factor, i, j):
        return
    covariance = own.work[2]
    response_block(own.factor, i, j, own.work, covariance)
    for k in range((offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])):
        out[k] += rows * covariance[k]


@kernel_for(variance, ResponseState)
def _variance(_own, impurity, i, j):
    return impurity[i] * impurity[j]


class ResponseScorer:
    """Scorer for ‖b_i b_jᵀ + C_ij − p_D‖ with C from the Bethe Hessian at the fixed point."""

    def __init__(self, network: ActiveNetwork, counts: PairCounts, measure: Measure) -> None:
        self._network = network
        self._version = 0
        self.stopped = ""
        own = ResponseState(self._factor(), workspace(counts.packed.node_offsets))
        self.scoring = new_scoring(own, counts.packed, network.node_beliefs, measure)

    @property
    def drift(self) -> np.ndarray:
        """Number of updates, the same at each node: a new edge may change all covariances."""
        return np.full(self._network.n_nodes, float(self._version))

    def refresh(self) -> None:
        """Update beliefs and Hessian; set `stopped` if it is not positive definite."""
        network, beliefs, factor = self._network, self._network.node_beliefs, self._factor()
        self._version += 1
        own = self.scoring.own._replace(factor=factor)
        impurity = impurity_of(beliefs, network.state.node_offsets)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity, own=own)
        self.stopped = ""
        if not factor.positive_definite:
            node = network.names[factor.unstable_node]
            self.stopped = (
                f"With {network.n_edges:,} edges the Bethe Hessian is no longer positive definite "
                f"(found at {node}): belief propagation is unstable here, and "
                "linear response cannot score further edges. Increase λ₂ or use another score."
            )

    def _factor(self) -> ResponseFactor:
        network = self._network
        return factorise(
            network.state.node_offsets,
            network.node_beliefs,
            network.edges,
            network.state.edge_offsets[: network.n_edges + 1],
            network.pair_beliefs(),
        )


class LinearResponseScore(Score):
    """Score of a pair by its distance from what the active edges explain."""

    name = "linear-response"
    formula = "‖bᵢbⱼᵀ + Cᵢⱼ − p_D‖ / d"
    help = (
        "correlation that the active edges do not explain, good while belief propagation is stable"
    )
    when_to_use = "Discounts what edges explain; needs pair counts only, many rows."
    objectives = (BETHE,)
    objection = (
        "The score linear-response belongs to a fixed point of belief propagation: choose "
        "objective=bethe with it, or score=pseudo-likelihood."
    )

    def scorer(self, fit: ScorerInput) -> Scorer:
        """Return the scorer of a run."""
        assert isinstance(fit.network, ActiveNetwork)
        return ResponseScorer(fit.network, fit.counts, fit.measure)

    def expectation(self, at: PairFit) -> Expectation | str:
        """Return N (b_i b_jᵀ + C_ij) and the product of both impurities; a reason without C."""
        expected = at.independent
        if at.model.n_edges:
            response = linear_response(at.model)
            gap = np.abs(np.concatenate(infer(at.model).node) - np.concatenate(at.beliefs)).max()
            if not response.positive_definite or gap > _SAME_BELIEFS:
                return _UNSTABLE
            expected = expected + response.covariance(at.i, at.j)
        return Expectation(at.table.total_weight * expected, at.independent_variance)

    def seconds(self, size: TableSize, edges: float) -> float:
        """Return the time to score one counted pair beside a number of edges, in seconds."""
        reached = min(edges, _REACHED / size.n)
        return super().seconds(size, edges) + _SOLVE * size.states**2 * reached

    def parts(self, size: TableSize, edges: float, steps: float) -> list[CostPart]:
        """Return the part of the covariances."""
        room, update = 8 * edges * size.cells * 20, edges * size.cells * 60e-9
        return [CostPart("linear response", room, steps * update)]
