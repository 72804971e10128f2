"""The linear-response score: b_i b_jᵀ + C_ij − p_D(e), with C from the Bethe Hessian.

C_ij is the covariance of the pair in the Bethe approximation due to the active edges, so that the
score is the correlation which they do not explain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.costs import CostPart, TableSize
from graftviz.counts import PairCounts
from graftviz.fitting.network import ActiveNetwork
from graftviz.inference import infer
from graftviz.inference.response import linear_response
from graftviz.inference.response_dense import DenseResponse
from graftviz.inference.response_factor import ResponseFactor, factorise, respond, response_block
from graftviz.inference.response_matrix import ResponseMatrix, dense_block
from graftviz.scores.base import BETHE, PairFit, PairNorm, Score, Scorer, ScorerInput
from graftviz.scores.belief import belief_noise
from graftviz.scores.kernels import (
    Measure,
    belief_distance,
    distance,
    impurity_of,
    kernel_for,
    new_scoring,
    noise,
    pair_noise,
    workspace,
)

_TOLERANCE = 1e-3  # change of a Hessian term above which all covariances are updated
_SAME_BELIEFS = 0.01  # farther from the run's, belief propagation has found another fixed point
_UNSTABLE = "linear response is undefined there, as belief propagation is unstable"
_SOLVE = 10e-9  # seconds per number of the response in an edge test


class FactorState(NamedTuple):
    """State of covariances that are solved for tested pairs.

    Attributes
    ----------
    factor : ResponseFactor
    work : float64 array, shape (3, largest number of joint states)
    """

    factor: ResponseFactor
    work: np.ndarray


class MatrixState(NamedTuple):
    """State of covariances that are all stored and updated.

    Attributes
    ----------
    matrix : ResponseMatrix
    work : float64 array, shape (3, largest number of joint states)
    """

    matrix: ResponseMatrix
    work: np.ndarray


@njit(cache=True, nogil=True)
def _distance_with(covariance, beliefs, offsets, i, j, cells, start, scale):
    """Return ‖b_i b_jᵀ + C_ij - p_D(e)‖₂."""
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    total = 0.0
    for a in range(states_i):
        for b in range(states_j):
            k = a * states_j + b
            gap = beliefs[at_i + a] * beliefs[at_j + b] + covariance[k] - scale * cells[start + k]
            total += gap * gap
    return np.sqrt(total)


@kernel_for(distance, FactorState)
def _solved_distance(own, beliefs, offsets, i, j, cells, start, rows):
    scale = 1.0 / rows
    if respond(own.factor, i, j):
        response_block(own.factor, i, j, own.work, own.work[2])
        return _distance_with(own.work[2], beliefs, offsets, i, j, cells, start, scale)
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    return belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j)


@kernel_for(distance, MatrixState)
def _stored_distance(own, beliefs, offsets, i, j, cells, start, rows):
    dense_block(own.matrix, i, j, own.work[2])
    return _distance_with(own.work[2], beliefs, offsets, i, j, cells, start, 1.0 / rows)


@kernel_for(noise, FactorState)
@kernel_for(noise, MatrixState)
def _noise(_own, impurity, i, j, rows):
    return pair_noise(impurity, i, j, rows)


class ResponseScorer:
    """Scorer for ‖b_i b_jᵀ + C_ij − p_D‖ with C from the Bethe Hessian at the fixed point.

    Parameters
    ----------
    dense : bool
        Whether to store and update all covariances, for learners that score every pair at every
        step; otherwise covariances are solved for tested pairs.
    """

    def __init__(
        self, network: ActiveNetwork, counts: PairCounts, measure: Measure, *, dense: bool
    ) -> None:
        self._network = network
        self._dense = None
        self._version = 0
        self.stopped = ""
        offsets, beliefs = counts.packed.node_offsets, network.node_beliefs
        work = workspace(offsets)
        own: FactorState | MatrixState
        if dense:
            self._dense = DenseResponse(offsets, beliefs)
            own = MatrixState(self._dense.matrix, work)
        else:
            own = FactorState(self._factor(), work)
        self.scoring = new_scoring(own, counts.packed, beliefs, measure)

    @property
    def drift(self) -> np.ndarray:
        """Number of updates, the same at each node: a new edge may change all covariances."""
        return np.full(self._network.n_nodes, float(self._version))

    def refresh(self) -> None:
        """Update beliefs and Hessian; set `stopped` if it is not positive definite."""
        network, own = self._network, self.scoring.own
        beliefs = network.node_beliefs
        self._version += 1
        if self._dense is None:
            factor = self._factor()
            stable, node = factor.positive_definite, factor.unstable_node
            own = own._replace(factor=factor)
        else:
            stable = self._dense.update(
                beliefs,
                network.edges,
                network.state.edge_offsets[: network.n_edges + 1],
                network.pair_beliefs(),
                tolerance=_TOLERANCE,
            )
            node = self._dense.unstable_node
            own = own._replace(matrix=self._dense.matrix)
        impurity = impurity_of(network.state.node_offsets, beliefs)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity, own=own)
        self.stopped = ""
        if not stable:
            self.stopped = (
                f"With {network.n_edges:,} edges the Bethe Hessian is no longer positive definite "
                f"(found at {network.names[node]}): belief propagation is unstable here, and "
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
        return ResponseScorer(fit.network, fit.counts, fit.measure, dense=fit.every_pair)

    def of_pair(self, at: PairFit) -> PairNorm:
        """Return ‖b_i b_jᵀ + C_ij − p_D(e)‖₂ and its noise; none where C does not exist."""
        expected = at.independent
        if at.model.n_edges:
            response = linear_response(at.model)
            gap = np.abs(np.concatenate(infer(at.model).node) - np.concatenate(at.beliefs)).max()
            if not response.positive_definite or gap > _SAME_BELIEFS:
                return PairNorm(None, why_none=_UNSTABLE)
            expected = expected + response.covariance(at.i, at.j)
        norm = float(np.linalg.norm(expected - at.frequencies))
        return PairNorm(norm, belief_noise(at))

    def seconds(self, size: TableSize, edges: float) -> float:
        """Return the time to score one counted pair beside a number of edges, in seconds."""
        return super().seconds(size, edges) + _SOLVE * size.states**2 * edges

    def parts(
        self, size: TableSize, edges: float, steps: float, *, every_pair: bool
    ) -> list[CostPart]:
        """Return the part of the covariances."""
        numbers = min(size.n, 2 * edges) * size.states
        room, update = 8 * edges * size.cells * 20, edges * size.cells * 60e-9
        if every_pair:
            room, update = 8 * numbers**2 * 1.5, numbers**2 * 8 * 0.3e-9 * size.states
        return [CostPart("linear response", room, steps * update)]
