"""Network of a learner whose active set consists of single features."""

from __future__ import annotations

import numpy as np

from graftviz.inference.bethe.propagation import pair_belief
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.penalty import feature_terms
from graftviz.learning.features.solver import FIT, PROXIMAL, solve_feature_set
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.objective import Evaluation, evaluate
from graftviz.learning.weights.penalty import Penalty
from graftviz.utils.compiling import kernel

_SMOOTH = Penalty(0.0, 0.0, False, False)


class FeatureNetwork(ActiveNetwork):
    """Active features of one run, fitted to the counts of its data.

    An edge is active if one of its features is; the weights of its other features are zero. Node
    weights are free. The :class:`Penalty` applies element by element: λ Σ |w_k| + λ₂ Σ w_k².

    Attributes
    ----------
    active : bool array, flat
        Mask of the active features, in the layout of the edge weights.
    beliefs : float64 array, flat
        Pair beliefs at the last evaluation, in the layout of the edge weights.
    """

    def __init__(
        self,
        counts: PairCounts,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
    ) -> None:
        super().__init__(counts, names, labels)
        self.active = np.zeros(len(self.state.edge_weights), dtype=np.bool_)
        self.beliefs = np.zeros(len(self.state.edge_weights))
        self.n_features = 0
        self._terms = np.zeros((len(self.state.edge_nodes), 2))
        self._edge_of: dict[tuple[int, int], int] = {}

    def activate(self, i: int, j: int, cell: int) -> int:
        """Activate the feature in `cell` (row-major) of the pair i < j; return its edge."""
        if (i, j) not in self._edge_of:
            self._edge_of[i, j] = self.n_edges
            self.add_edge(i, j)
        e = self._edge_of[i, j]
        self.active[self.state.edge_offsets[e] + cell] = True
        self.state.seen_drift[e] = -1.0
        self.n_features += 1
        return e

    def fit(self, penalty: Penalty, *, tolerance: float, max_sweeps: int = 200) -> Evaluation:
        """Fit all active weights, starting from their current values; see the base class."""
        self._solve(penalty, tolerance, max_sweeps, FIT)
        return self._evaluate_stale(penalty)

    def step(self, penalty: Penalty, *, tolerance: float, kind: int = PROXIMAL) -> Evaluation:
        """Take one step in all active weights that violate by more than `tolerance`.

        The step is PROXIMAL or ORTHANT_WISE (:mod:`graftviz.learning.features.solver`).
        Node weights, which are always free, are then set exactly, and messages are sent once.
        """
        self._solve(penalty, tolerance, 1, kind)
        return self._evaluate_stale(penalty)

    def _solve(self, penalty: Penalty, tolerance: float, max_sweeps: int, kind: int) -> None:
        solve_feature_set(
            self.state,
            self.n_edges,
            self.active,
            penalty,
            tolerance,
            max_sweeps,
            kind,
            self._work,
        )

    def _evaluate_stale(self, penalty: Penalty) -> Evaluation:
        if penalty != self._evaluated:
            self.state.stale_nodes[:] = True
            self._evaluated = penalty
        m = self.n_edges
        _follow(self.state, m, self.active, penalty, self.beliefs, self._terms, self._work)
        smooth, _, messages = evaluate(self.state, self.n_nodes, m, _SMOOTH, self._work)
        violation = float(self.state.node_terms[:, 1].max())
        if m:
            violation = max(violation, float(self._terms[:m, 1].max()))
        return Evaluation(float(smooth + self._terms[:m, 0].sum()), violation, float(messages))

    def _reserve(self) -> None:
        super()._reserve()
        cells, edges = len(self.state.edge_weights), len(self.state.edge_nodes)
        if cells > len(self.active):
            self.active = np.concatenate([self.active, np.zeros(cells - len(self.active), bool)])
            self.beliefs = np.concatenate([self.beliefs, np.zeros(cells - len(self.beliefs))])
        if edges > len(self._terms):
            self._terms = np.concatenate([self._terms, np.zeros((edges - len(self._terms), 2))])


@kernel
def _follow(network, n_edges, active, penalty, beliefs, terms, work):
    """Update pair belief, penalty and violation of edges that are stale or have a stale node."""
    # Extracting an array from a tuple costs a reference count: once here, not once per edge.
    edge_nodes, stale_edges, stale_nodes = (
        network.edge_nodes,
        network.stale_edges,
        network.stale_nodes,
    )
    for e in range(n_edges):
        if not (stale_edges[e] or stale_nodes[edge_nodes[e, 0]] or stale_nodes[edge_nodes[e, 1]]):
            continue
        start, end = network.edge_offsets[e], network.edge_offsets[e + 1]
        pair_belief(network, e, work, beliefs[start:end])
        terms[e, 0], terms[e, 1] = feature_terms(
            beliefs[start:end],
            network.edge_targets[start:end],
            network.edge_weights[start:end],
            active[start:end],
            penalty.lam,
            penalty.lam2,
        )
