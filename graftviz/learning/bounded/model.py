"""Model of a run of bounded inference: edges, fit, gradients, and snapshots to undo an edge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.exact.ordering import Elimination
from graftviz.inference.prediction import PairwiseMRF
from graftviz.learning.bounded.clique_tables import EdgePenalty, Stage
from graftviz.learning.bounded.feasibility import independent_gradients, update_gradients
from graftviz.learning.bounded.likelihood_fit import LikelihoodFit, Snapshot, Targets, match_moments
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import Changes
from graftviz.learning.weights.conditionals import structure_of
from graftviz.learning.weights.deviations import centred_weights
from graftviz.learning.weights.network import frozen_changes
from graftviz.utils.arrays import flat_positions

_TOLERANCE = 1e-8  # KKT residual of a fit within a run; _POLISHED at its end
_UNFITTED = 1e-7  # KKT residual above which a fit has not converged
_POLISHED = 1e-10
_ROUNDING = 1e-9  # relative, of the gradient of a new edge
OBJECTIVES = {
    "exact": "exact likelihood",
    "bp": "Bethe likelihood",
    "trbp": "tree-reweighted likelihood",
}


class Fit(NamedTuple):
    """State of a model without its gradients."""

    edges: np.ndarray
    elimination: Elimination
    source: str
    objective: float
    violation: float
    node_weights: np.ndarray
    edge_weights: np.ndarray


class BoundedModel:
    """Edges, weights, elimination order and gradients of the current model.

    Parameters
    ----------
    counts : PairCounts
        Counts of all pairs.
    table : DiscreteTable
    options : BoundedInference

    Attributes
    ----------
    current : Fit
    gradients : float64 array, shape (n, n)
        ‖∇_e ℓ‖₂ of every pair, symmetric; up to date after :meth:`refresh`.
    """

    def __init__(self, counts: PairCounts, table: DiscreteTable, options: Any) -> None:
        self._names, self._labels = table.names, table.labels
        self._penalty: EdgePenalty = options.edge_penalty()
        self._stage_step: float | None = options.stage_step
        self._exact_limit = int(options.exact_limit)
        self._fallback = "bp" if options.resolved_inference() == "bp" else "trbp"
        self._targets = Targets(counts, float(options.pseudo_count))
        self.cardinalities = counts.cardinalities.astype(np.int64)
        self._fit = LikelihoodFit(self._targets, self._penalty)
        self._independent_gradients = independent_gradients(self._targets, self._penalty)
        self.gradients = self._independent_gradients.copy()
        self._fit.fit(_TOLERANCE)
        self.current = self._exact_state()

    # Queries.

    @property
    def edges(self) -> np.ndarray:
        """Active edges in order of activation, shape (m, 2)."""
        return self.current.edges

    def with_edge(self, i: int, j: int) -> np.ndarray:
        """Return the active edges followed by the edge (i, j)."""
        return np.vstack([self.current.edges, np.array([[i, j]], dtype=np.int64)])

    def is_exact_with(self, elimination: Elimination) -> bool:
        """Whether inference along this elimination would be exact."""
        return self.current.source == "exact" and elimination.entries <= self._exact_limit

    def model(self) -> PairwiseMRF:
        """Return the model, its weights centred unless single weights are penalised."""
        nodes, tables = self._centred()
        weights = np.concatenate([nodes, tables])
        return PairwiseMRF(
            self.cardinalities, self.current.edges, weights, self._names, self._labels
        )

    def model_with(self, i: int, j: int) -> PairwiseMRF:
        """Return the model with an edge (i, j) of weight zero."""
        nodes, tables = self._centred()
        zeros = np.zeros(self.cardinalities[i] * self.cardinalities[j])
        weights = np.concatenate([nodes, tables, zeros])
        return PairwiseMRF(
            self.cardinalities, self.with_edge(i, j), weights, self._names, self._labels
        )

    @property
    def is_fitted(self) -> bool:
        """Whether the last fit converged; small steps are not meant to."""
        return self._stage_step is not None or self.current.violation <= _UNFITTED

    def beliefs(self) -> np.ndarray:
        """Return the node marginals, flat."""
        return self._fit.beliefs() if self.current.source == "exact" else self._targets.nodes.copy()

    def changes(self, around: int | None = None) -> Changes:
        """Return the weights that an edge of a variable changed (default: all), centred."""
        nodes, tables = self._centred()
        offsets = self._targets.offsets
        if around is None or self._stage_step is not None or self.current.source != "exact":
            which = np.arange(len(self.cardinalities))
            edges = np.arange(len(self.current.edges))
        else:
            root = self._fit.tables.root[self.current.elimination.place]
            which = np.flatnonzero(root == root[around])
            edges = np.flatnonzero(root[self.current.edges[:, 0]] == root[around])
        at_nodes = flat_positions(offsets, which)
        sizes = self.cardinalities[self.current.edges].prod(axis=1)
        edge_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return frozen_changes(
            which,
            edges,
            nodes[at_nodes],
            self.beliefs()[at_nodes],
            tables[flat_positions(edge_offsets, edges)],
        )

    # Updates.

    def add(self, i: int, j: int, elimination: Elimination) -> None:
        """Activate an edge and refit all weights."""
        if self.is_exact_with(elimination):
            self._fit.add_edge(i, j, elimination)
            if self._stage_step is None:
                self._fit.fit(_TOLERANCE, around=i)
            else:
                # Edges of all components move: gradients of earlier edges were larger than this.
                least = float(self.gradients[i, j]) * (1.0 - _ROUNDING)
                self._fit.fit(_TOLERANCE, stage=Stage(self._stage_step, least))
            self.current = self._exact_state()
        else:
            self._match(self.with_edge(i, j), elimination)

    def rebuild(self, edges: np.ndarray, elimination: Elimination) -> None:
        """Fit `edges` from zero weights; the model must have no edges."""
        if elimination.entries > self._exact_limit:
            self._match(edges, elimination)
            self.gradients[:] = self._independent_gradients
            return
        for i, j in edges.tolist():
            self._fit.add_edge(i, j, elimination)
        self._fit.fit(_POLISHED)
        self.current = self._exact_state()
        self.refresh()

    def comparable(self, before: Fit) -> float:
        """Return the objective of an earlier state under the current likelihood."""
        if before.source == self.current.source:
            return before.objective
        return match_moments(self._targets, before.edges, self.current.source).objective

    def snapshot(self) -> tuple[Fit, Snapshot]:
        """Return the state that :meth:`restore` goes back to."""
        return self.current, self._fit.snapshot()

    def restore(self, snapshot: tuple[Fit, Snapshot]) -> None:
        """Go back to a snapshot."""
        self.current = snapshot[0]
        self._fit.restore(snapshot[1])
        if self.current.source == "exact":
            self.current = self._exact_state()

    def refresh(self, around: int | None = None) -> None:
        """Recompute the gradients that an edge of a variable changed (default: all)."""
        if self.current.source != "exact":
            self.gradients[:] = self._independent_gradients
            return
        found = self.current.elimination
        places = np.flatnonzero(found.parent < 0)
        if around is not None and self._stage_step is None:
            places = found.place[[around]]
        for place in places.tolist():
            update_gradients(self.gradients, self._targets, self._fit.tables, place, self._penalty)

    def polish(self) -> None:
        """Fit all weights tightly, unless they move by small steps, and recompute all gradients."""
        if self.current.source != "exact":
            return
        if self._stage_step is None:
            self._fit.fit(_POLISHED)
        self.current = self._exact_state()
        self.refresh()

    def _exact_state(self) -> Fit:
        """Return the current state of the exact fit."""
        fit = self._fit
        values = fit.calibrate(), fit.violation()
        weights = fit.node_weights, fit.edge_weights
        return Fit(fit.edges, fit.elimination, "exact", *values, *weights)

    def _match(self, edges: np.ndarray, elimination: Elimination) -> None:
        found = match_moments(self._targets, edges, self._fallback)
        weights = found.node_weights, found.edge_weights
        self.current = Fit(edges, elimination, self._fallback, found.objective, 0.0, *weights)

    def _centred(self) -> tuple[np.ndarray, np.ndarray]:
        # Centring would make zero weights non-zero.
        if self._penalty.lam1 > 0.0 and self._penalty.by_feature:
            return self.current.node_weights, self.current.edge_weights
        structure = structure_of(self.cardinalities, self.current.edges)
        return centred_weights(structure, self.current.node_weights, self.current.edge_weights)
