"""Scorers: the arrays that score kernels read, updated after each refit."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from graftviz.counts import PairCounts
from graftviz.fitting.conditionals import mean_impurity
from graftviz.fitting.network import ActiveNetwork
from graftviz.fitting.pseudo_likelihood import block_of
from graftviz.fitting.pseudo_network import PseudoNetwork
from graftviz.fitting.state_columns import fill_columns, new_state_columns, with_columns
from graftviz.inference.response_dense import DenseResponse
from graftviz.inference.response_factor import factorise
from graftviz.learners.settings import PSEUDO_LIKELIHOOD, Settings
from graftviz.search.scoring import (
    DENSE_RESPONSE,
    PSEUDO,
    RESPONSE,
    Scoring,
    belief_scoring,
    impurity_of,
)
from graftviz.table import DiscreteTable

_RESPONSE_TOLERANCE = 1e-3  # change of a Hessian term above which all covariances are updated


class Scorer(Protocol):
    """Interface of scorers.

    Attributes
    ----------
    scoring : Scoring
        Input of the kernels, as of the last `refresh`.
    drift : float64 array, shape (n,)
        Increases at a node whenever scores of its pairs may have changed.
    stopped : str
        Why scores are no longer available, as a sentence; empty while they are.
    """

    scoring: Scoring
    stopped: str

    @property
    def drift(self) -> np.ndarray:
        """Accumulated change of scores at each node."""

    def refresh(self) -> None:
        """Update `scoring` to the current fit."""


class BeliefScorer:
    """Scorer for ‖b_i b_jᵀ − p_D‖, computed from node beliefs only."""

    def __init__(
        self, network: ActiveNetwork | PseudoNetwork, counts: PairCounts, settings: Settings
    ) -> None:
        self._network = network
        self.scoring = start_scoring(settings, counts, network.node_beliefs)
        self.stopped = ""

    @property
    def drift(self) -> np.ndarray:
        """Length of the path of every node belief."""
        return self._network.state.drift

    def refresh(self) -> None:
        """Update `scoring` to the current node beliefs."""
        beliefs = self._network.node_beliefs
        impurity = impurity_of(self._network.state.node_offsets, beliefs)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity)


class ResponseScorer:
    """Scorer for ‖b_i b_jᵀ + C_ij − p_D‖ with C from the Bethe Hessian at the fixed point.

    Parameters
    ----------
    dense : bool
        Whether to store and update all covariances, for learners that score every pair at every
        step; otherwise covariances are solved for tested pairs.
    """

    def __init__(
        self, network: ActiveNetwork, counts: PairCounts, settings: Settings, *, dense: bool
    ) -> None:
        self._network = network
        offsets = network.state.node_offsets
        self._dense = DenseResponse(offsets, network.node_beliefs) if dense else None
        self._version = 0
        scoring = start_scoring(settings, counts, network.node_beliefs)
        self.scoring = scoring._replace(kind=DENSE_RESPONSE if dense else RESPONSE)
        self.stopped = ""
        if self._dense is not None:
            self.scoring = self.scoring._replace(matrix=self._dense.matrix)

    @property
    def drift(self) -> np.ndarray:
        """Number of updates, the same at each node: a new edge may change all covariances."""
        return np.full(self._network.n_nodes, float(self._version))

    def refresh(self) -> None:
        """Update beliefs and Hessian; set `stopped` if it is not positive definite."""
        network = self._network
        state, beliefs = network.state, network.node_beliefs
        self._version += 1
        impurity = impurity_of(state.node_offsets, beliefs)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity)
        edges, offsets = network.edges, state.edge_offsets[: network.n_edges + 1]
        if self._dense is None:
            factor = factorise(state.node_offsets, beliefs, edges, offsets, network.pair_beliefs())
            stable, node = factor.positive_definite, factor.unstable_node
            self.scoring = self.scoring._replace(factor=factor)
        else:
            stable = self._dense.update(
                beliefs, edges, offsets, network.pair_beliefs(), tolerance=_RESPONSE_TOLERANCE
            )
            node = self._dense.unstable_node
            self.scoring = self.scoring._replace(matrix=self._dense.matrix)
        self.stopped = ""
        if not stable:
            self.stopped = (
                f"With {network.n_edges:,} edges the Bethe Hessian is no longer positive definite "
                f"(found at {network.names[node]}): belief propagation is unstable here, and "
                "linear response cannot score further edges. Increase λ₂ or use another score."
            )


class PseudoScorer:
    """Scorer for the gradient of the pseudo-likelihood, from the conditionals of a fit.

    Parameters
    ----------
    network : ActiveNetwork or PseudoNetwork
        The fit. A Bethe fit stores no conditionals; they are computed in a separate network.
    """

    def __init__(
        self,
        network: ActiveNetwork | PseudoNetwork,
        table: DiscreteTable,
        counts: PairCounts,
        settings: Settings,
    ) -> None:
        self._network = network
        self._separate = (
            None if isinstance(network, PseudoNetwork) else PseudoNetwork(table, counts)
        )
        self.stopped = ""
        rows = self._pseudo_network()
        scoring = start_scoring(settings, counts, rows.rows.margins)
        self.scoring = scoring._replace(kind=PSEUDO, conditionals=rows.rows)
        self._columns = new_state_columns(rows.rows)
        self._marginal = scoring.impurity.copy()
        self._seen = np.full(counts.n_variables, -1.0)

    @property
    def drift(self) -> np.ndarray:
        """Accumulated change of the log-conditionals of every node."""
        return self._pseudo_network().state.drift

    def refresh(self) -> None:
        """Update `scoring` to the current conditionals."""
        network = self._network
        if self._separate is not None:
            state = network.state
            cells = int(state.edge_offsets[network.n_edges])
            self._separate.follow(state.node_weights, network.edges, state.edge_weights[:cells])
        fit = self._pseudo_network()
        fit.refresh_impurity()
        rows = fit.rows
        connected = rows.places >= 0
        alone = impurity_of(rows.node_offsets, rows.alone)
        self._marginal[~connected] = alone[~connected]
        offsets, multiplicity = rows.node_offsets, rows.multiplicity
        self._columns = with_columns(self._columns, np.flatnonzero(connected))
        for i in np.flatnonzero(connected & (fit.state.drift != self._seen)):
            self._marginal[i] = mean_impurity(
                rows.impurity[rows.places[i]], multiplicity, rows.rows
            )
            states = offsets[i + 1] - offsets[i]
            fill_columns(self._columns, block_of(rows, i), multiplicity, i, offsets[i], states)
        self._seen[:] = np.where(connected, fit.state.drift, -1.0)
        self.scoring = self.scoring._replace(
            conditionals=rows,
            columns=self._columns,
            impurity=self._marginal,
            drift=fit.state.drift,
        )

    def _pseudo_network(self) -> PseudoNetwork:
        if self._separate is not None:
            return self._separate
        assert isinstance(self._network, PseudoNetwork)
        return self._network


def start_scoring(settings: Settings, counts: PairCounts, beliefs: np.ndarray) -> Scoring:
    """Return the belief scoring in the unit and with the significance of a run."""
    return belief_scoring(
        counts.packed,
        beliefs,
        settings.unit,
        lam=settings.lam,
        significance=settings.significance,
    )


def make_network(
    settings: Settings, table: DiscreteTable, counts: PairCounts
) -> ActiveNetwork | PseudoNetwork:
    """Return the empty active set for an objective."""
    if settings.objective == PSEUDO_LIKELIHOOD:
        return PseudoNetwork(table, counts)
    return ActiveNetwork(counts, table.names, table.labels)


def make_scorer(
    settings: Settings,
    network: ActiveNetwork | PseudoNetwork,
    table: DiscreteTable,
    counts: PairCounts,
    *,
    every_pair: bool,
) -> Scorer:
    """Return the scorer for the settings; `every_pair`: each step scores all inactive pairs."""
    if settings.score == "linear-response":
        assert isinstance(network, ActiveNetwork)
        return ResponseScorer(network, counts, settings, dense=every_pair)
    if settings.score == "pseudo-likelihood":
        return PseudoScorer(network, table, counts, settings)
    return BeliefScorer(network, counts, settings)
