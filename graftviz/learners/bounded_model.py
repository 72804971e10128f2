"""The growing model of bounded inference: fitted exactly or by moment matching; can be undone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.fitting.conditional_sums import structure_of
from graftviz.fitting.deviations import centred_weights
from graftviz.fitting.likelihood_fit import LikelihoodFit, Memory, Targets
from graftviz.fitting.moment_matching import match_moments
from graftviz.history import Changes, flat_positions
from graftviz.inference.exact.elimination import Elimination
from graftviz.model import PairwiseMRF
from graftviz.search.pair_gradients import independent_gradients, update_gradients

_TOLERANCE = 1e-8  # KKT residual of a fit within a run, and of the last one
_POLISHED = 1e-10
OBJECTIVES = {
    "exact": "exact likelihood",
    "bp": "Bethe likelihood",
    "trbp": "tree-reweighted likelihood",
}


class ModelOptions(NamedTuple):
    """Options of a run that concern its model; see `BoundedInference`."""

    pseudo_count: float
    lam2: float
    fallback: str
    exact_limit: int


class Fit(NamedTuple):
    """Where a model stands: everything but its gradients."""

    edges: np.ndarray
    elimination: Elimination
    source: str
    objective: float
    violation: float
    node_weights: np.ndarray
    edge_weights: np.ndarray


class BoundedModel:
    """Edges, weights, elimination and gradients.

    Parameters
    ----------
    counts : PairCounts
        With all pairs counted.
    names, labels
        Of the variables and their states.
    options : ModelOptions

    Attributes
    ----------
    now : Fit
    gradients : float64 array, shape (n, n)
        ‖∇_e ℓ‖₂ of every pair, symmetric; up to date after :meth:`refresh`.
    """

    def __init__(
        self,
        counts: PairCounts,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
        options: ModelOptions,
    ) -> None:
        self.options = options
        self._names, self._labels = names, labels
        self._targets = Targets(counts, options.pseudo_count)
        self.cardinalities = counts.cardinalities.astype(np.int64)
        self._fit = LikelihoodFit(self._targets, options.lam2)
        self._apart = independent_gradients(self._targets)
        self.gradients = self._apart.copy()
        self._fit.fit(_TOLERANCE)
        self.now = self._exactly()

    # What is asked of it.

    @property
    def edges(self) -> np.ndarray:
        """Active edges in order of activation, shape (m, 2)."""
        return self.now.edges

    def with_edge(self, i: int, j: int) -> np.ndarray:
        """Return the active edges and one more."""
        return np.vstack([self.now.edges, np.array([[i, j]], dtype=np.int64)])

    def is_exact_with(self, elimination: Elimination) -> bool:
        """Whether inference along this elimination would be exact."""
        return self.now.source == "exact" and elimination.entries <= self.options.exact_limit

    def model(self) -> PairwiseMRF:
        """Return the model, its weights centred."""
        nodes, tables = self._centred()
        weights = np.concatenate([nodes, tables])
        return PairwiseMRF(self.cardinalities, self.now.edges, weights, self._names, self._labels)

    def beliefs(self) -> np.ndarray:
        """Return the node marginals, flat."""
        return self._fit.beliefs() if self.now.source == "exact" else self._targets.nodes.copy()

    def changes(self, around: int | None = None) -> Changes:
        """Return the weights in the component of a variable (default: all), centred."""
        nodes, tables = self._centred()
        offsets = self._targets.offsets
        if around is None or self.now.source != "exact":
            which = np.arange(len(self.cardinalities))
            edges = np.arange(len(self.now.edges))
        else:
            root = self._fit.tables.root[self.now.elimination.place]
            which = np.flatnonzero(root == root[around])
            edges = np.flatnonzero(root[self.now.edges[:, 0]] == root[around])
        at_nodes = flat_positions(offsets, which)
        sizes = self.cardinalities[self.now.edges].prod(axis=1)
        edge_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        found = Changes(
            which,
            edges,
            nodes[at_nodes],
            self.beliefs()[at_nodes],
            tables[flat_positions(edge_offsets, edges)],
        )
        for array in (which, edges, found.node_weights, found.node_beliefs, found.edge_weights):
            array.flags.writeable = False
        return found

    # How it grows.

    def add(self, i: int, j: int, elimination: Elimination) -> None:
        """Activate an edge and fit all weights again."""
        if self.is_exact_with(elimination):
            self._fit.add_edge(i, j, elimination)
            self._fit.fit(_TOLERANCE, around=i)
            self.now = self._exactly()
        else:
            self._match(self.with_edge(i, j), elimination)

    def rebuild(self, edges: np.ndarray, elimination: Elimination) -> None:
        """Fit these edges from weights 0, in a model that has none."""
        if elimination.entries > self.options.exact_limit:
            self._match(edges, elimination)
            self.gradients[:] = self._apart
            return
        for i, j in edges.tolist():
            self._fit.add_edge(i, j, elimination)
        self.polish()

    def comparable(self, before: Fit) -> float:
        """Return the objective of an earlier state, by the likelihood that is maximised now."""
        if before.source == self.now.source:
            return before.objective
        return match_moments(self._targets, before.edges, self.now.source).objective

    def remember(self) -> tuple[Fit, Memory]:
        """Return what is needed to take edges out again."""
        return self.now, self._fit.memory()

    def restore(self, memory: tuple[Fit, Memory]) -> None:
        """Go back to what was remembered."""
        self.now = memory[0]
        self._fit.restore(memory[1])
        if self.now.source == "exact":
            self.now = self._exactly()

    def refresh(self, around: int) -> None:
        """Compute the gradients anew where they have changed: in the component of a variable."""
        if self.now.source != "exact":
            self.gradients[:] = self._apart
            return
        place = int(self.now.elimination.place[around])
        update_gradients(self.gradients, self._targets, self._fit.tables, place)

    def polish(self) -> None:
        """Fit all weights as tightly as they can be, and all gradients."""
        if self.now.source != "exact":
            return
        self._fit.fit(_POLISHED)
        self.now = self._exactly()
        for root in np.flatnonzero(self.now.elimination.parent < 0).tolist():
            self.refresh(int(self.now.elimination.order[root]))

    def _exactly(self) -> Fit:
        """Return where the exact fit stands."""
        fit = self._fit
        objective = fit.calibrate()
        return Fit(
            fit.edges,
            fit.elimination,
            "exact",
            objective,
            fit.violation(),
            fit.node_weights,
            fit.edge_weights,
        )

    def _match(self, edges: np.ndarray, elimination: Elimination) -> None:
        found = match_moments(self._targets, edges, self.options.fallback)
        self.now = Fit(
            edges,
            elimination,
            self.options.fallback,
            found.objective,
            0.0,
            found.node_weights,
            found.edge_weights,
        )

    def _centred(self) -> tuple[np.ndarray, np.ndarray]:
        structure = structure_of(self.cardinalities, self.now.edges)
        return centred_weights(structure, self.now.node_weights, self.now.edge_weights)
