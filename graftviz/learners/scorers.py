"""Scores in step with the fit: after each refit a scorer hands out what the kernels need."""

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

_RESPONSE_TOLERANCE = 1e-3  # change of a Hessian term worth an update of all covariances


class Scorer(Protocol):
    """What every scorer offers.

    Attributes
    ----------
    scoring : Scoring
        For the kernels, as of the last `refresh`.
    drift : float64 array, shape (n,)
        Grows at each node whenever scores of its pairs may have changed.
    stopped : str
        Why there are no scores any more, as a sentence; empty while there are.
    """

    scoring: Scoring
    stopped: str

    @property
    def drift(self) -> np.ndarray:
        """See above."""

    def refresh(self) -> None:
        """Follow the fit."""


class BeliefScorer:
    """‖b_i b_jᵀ − p_D‖: needs nothing but node beliefs."""

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
        """Follow the node beliefs."""
        beliefs = self._network.node_beliefs
        impurity = impurity_of(self._network.state.node_offsets, beliefs)
        self.scoring = self.scoring._replace(beliefs=beliefs, impurity=impurity)


class ResponseScorer:
    """‖b_i b_jᵀ + C_ij − p_D‖ with C from the Bethe Hessian at the tracked fixed point.

    Parameters
    ----------
    dense : bool
        Keep all covariances up to date, for learners that score every pair at every step;
        otherwise those of the tested pairs are solved for.
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
        """The same number everywhere: any new edge may change all covariances."""
        return np.full(self._network.n_nodes, float(self._version))

    def refresh(self) -> None:
        """Follow beliefs and Hessian; where it is not positive definite, stop."""
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
            stable = self._dense.follow(
                beliefs, edges, offsets, network.pair_beliefs(), tolerance=_RESPONSE_TOLERANCE
            )
            node = self._dense.unstable_node
            self.scoring = self.scoring._replace(matrix=self._dense.matrix)
        self.stopped = ""
        if not stable:
            self.stopped = (
                f"With {network.n_edges:,} edges the Bethe Hessian is no longer positive definite "
                f"(found at {network.names[node]}): belief propagation is unstable here, and "
                "linear response says nothing about further edges. More λ₂ or another score go on."
            )


class PseudoScorer:
    """Gradient of the pseudo-likelihood, from the conditionals a pseudo-likelihood fit keeps.

    Parameters
    ----------
    network : ActiveNetwork or PseudoNetwork
        The fit. A Bethe fit keeps no conditionals: they are computed beside it.
    """

    def __init__(
        self,
        network: ActiveNetwork | PseudoNetwork,
        table: DiscreteTable,
        counts: PairCounts,
        settings: Settings,
    ) -> None:
        self._network = network
        self._beside = None if isinstance(network, PseudoNetwork) else PseudoNetwork(table, counts)
        self.stopped = ""
        rows = self._rows_of()
        scoring = start_scoring(settings, counts, rows.rows.margins)
        self.scoring = scoring._replace(kind=PSEUDO, conditionals=rows.rows)
        self._columns = new_state_columns(rows.rows)
        self._marginal = scoring.impurity.copy()
        self._seen = np.full(counts.n_variables, -1.0)

    @property
    def drift(self) -> np.ndarray:
        """How far the log-conditionals of every node have travelled."""
        return self._rows_of().state.drift

    def refresh(self) -> None:
        """Follow the conditionals."""
        network = self._network
        if self._beside is not None:
            state = network.state
            cells = int(state.edge_offsets[network.n_edges])
            self._beside.follow(state.node_weights, network.edges, state.edge_weights[:cells])
        fit = self._rows_of()
        fit.refresh_impurity()
        rows = fit.rows
        connected = rows.places >= 0
        alone = impurity_of(rows.node_offsets, rows.alone)
        self._marginal[~connected] = alone[~connected]
        offsets, often = rows.node_offsets, rows.multiplicity
        self._columns = with_columns(self._columns, np.flatnonzero(connected))
        for i in np.flatnonzero(connected & (fit.state.drift != self._seen)):
            self._marginal[i] = mean_impurity(rows.impurity[rows.places[i]], often, rows.rows)
            states = offsets[i + 1] - offsets[i]
            fill_columns(self._columns, block_of(rows, i), often, i, offsets[i], states)
        self._seen[:] = np.where(connected, fit.state.drift, -1.0)
        self.scoring = self.scoring._replace(
            conditionals=rows,
            columns=self._columns,
            impurity=self._marginal,
            drift=fit.state.drift,
        )

    def _rows_of(self) -> PseudoNetwork:
        if self._beside is not None:
            return self._beside
        assert isinstance(self._network, PseudoNetwork)
        return self._network


def start_scoring(settings: Settings, counts: PairCounts, beliefs: np.ndarray) -> Scoring:
    """Return the belief score in the unit, and with the significance, of a run."""
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
    """Return the scorer for a score; `every_pair` if each step scores all inactive pairs."""
    if settings.score == "linear-response":
        assert isinstance(network, ActiveNetwork)
        return ResponseScorer(network, counts, settings, dense=every_pair)
    if settings.score == "pseudo-likelihood":
        return PseudoScorer(network, table, counts, settings)
    return BeliefScorer(network, counts, settings)
