"""Maximum likelihood of a growing pairwise model by exact inference, from pair counts.

For fixed edges the likelihood is maximal if the marginals of every edge and every node equal those
of the data; the violation of a fit is their difference.

Approximate maximum likelihood in closed form, by matching beliefs to the data's marginals. If exact
inference is too expensive, log Z is replaced by that of belief propagation (Bethe) or of
tree-reweighted belief propagation, an upper bound. This likelihood is maximal if the beliefs equal
the marginals of the data, and then

    w_i = log p(i),    w_ij = ρ_ij log p(i, j) / (p(i) p(j)),

with edge appearance probabilities ρ (1 for belief propagation): Wainwright, Jaakkola and Willsky,
"Tree-reweighted belief propagation algorithms and approximate ML estimation by pseudo-moment
matching" (2003). Tree-reweighted beliefs are unique, so inference reproduces them; belief
propagation may reach another fixed point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.appearance import edge_appearance
from graftviz.inference.exact.ordering import Elimination, eliminated
from graftviz.learning.bounded.clique_tables import (
    COMPLETE,
    NO_PENALTY,
    CliqueTables,
    EdgePenalty,
    Stage,
    calibrate,
    clique_tables,
    edge_marginal,
    edge_residual,
    fit_round,
    update_from_parent,
    update_parent,
)
from graftviz.learning.counts.packed import seen_states
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.utils.compiling import kernel

LEAST_SHARE = 1e-9  # smallest share of imaginary rows, so that the maximum exists
_UNSEEN = 1e-12
_MOST_ROUNDS = 2000
_TOGETHER = 5  # rounds after which a fit is accelerated
_RIDGE = 1e-14  # of the products of changes
_LEAST_LAM = 1e-12  # below, a Newton step under the penalty consists of rounding errors


class Targets:
    """Marginals of the data, smoothed so that a maximum with finite weights exists.

    A share ε = a / (N + a) of imaginary rows, in which all variables are independent with the
    shares of the data, preserves node marginals and shrinks the deviation of a pair from
    independence: p̃(i, j) = p(i) p(j) + (1 − ε) (p_D(i, j) − p(i) p(j)).

    Parameters
    ----------
    counts : PairCounts
    pseudo_count : float
        a. The share ε is at least 10⁻⁹.
    unseen : float
        Share of the rows that is divided among the states of a variable of which some never occur.
    """

    def __init__(self, counts: PairCounts, pseudo_count: float, unseen: float = _UNSEEN) -> None:
        self.counts = counts
        rows = counts.n_rows
        self.dependence_share = 1.0 - max(pseudo_count / (rows + pseudo_count), LEAST_SHARE)
        sizes = counts.cardinalities
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.shares = counts.packed.margins / rows
        seen = seen_states(self.shares, self.offsets)
        has_unseen = np.repeat(seen < sizes, sizes)
        uniform = np.repeat(1.0 / sizes, sizes)
        self.nodes = np.where(
            has_unseen, (1.0 - unseen) * self.shares + unseen * uniform, self.shares
        )

    def node(self, i: int) -> np.ndarray:
        """Return p̃(i), shape (s_i,)."""
        return self.nodes[self.offsets[i] : self.offsets[i + 1]]

    def pair(self, i: int, j: int) -> np.ndarray:
        """Return p̃(i, j), shape (s_i, s_j)."""
        return self.pairs(np.array([[i, j]])).reshape(len(self.node(i)), -1)

    def pairs(self, edges: np.ndarray) -> np.ndarray:
        """Return p̃(i, j) of many pairs, flat, one after the other."""
        tables = [self.counts.table(i, j).reshape(-1) for i, j in edges.tolist()]
        joint = np.array([len(table) for table in tables], dtype=np.int64)
        within = np.arange(joint.sum()) - np.repeat(np.cumsum(joint) - joint, joint)
        others = np.repeat(self.counts.cardinalities[edges[:, 1]], joint)
        at_i = np.repeat(self.offsets[edges[:, 0]], joint) + within // others
        at_j = np.repeat(self.offsets[edges[:, 1]], joint) + within % others
        seen = np.concatenate([np.zeros(0), *tables]) / self.counts.n_rows
        deviation = seen - self.shares[at_i] * self.shares[at_j]
        found: np.ndarray = self.nodes[at_i] * self.nodes[at_j] + self.dependence_share * deviation
        return found


class Fitted(NamedTuple):
    """Result of a fit: objective in nats per row, KKT residual, and number of rounds."""

    objective: float
    violation: float
    rounds: int


class Snapshot(NamedTuple):
    """State of a :class:`LikelihoodFit`, to restore it."""

    edges: np.ndarray
    edge_offsets: np.ndarray
    edge_targets: np.ndarray
    node_weights: np.ndarray
    edge_weights: np.ndarray
    elimination: Elimination
    tables: CliqueTables


class LikelihoodFit:
    """Weights of a growing model, fitted by exact inference along an elimination order.

    Parameters
    ----------
    targets : Targets
    penalty : EdgePenalty, optional
        Penalty of the edge weights; nodes are free. λ₂ and λ₁ below 10⁻¹², which do not affect a
        fit, count as 0.
    """

    def __init__(self, targets: Targets, penalty: EdgePenalty = NO_PENALTY) -> None:
        self.targets = targets
        lam2, lam1 = (x if x >= _LEAST_LAM else 0.0 for x in penalty[:2])
        self.penalty = EdgePenalty(float(lam2), float(lam1), penalty.by_feature)
        self.cardinalities = targets.counts.cardinalities.astype(np.int64)
        n = len(self.cardinalities)
        self.edges = np.zeros((0, 2), dtype=np.int64)
        self.edge_offsets = np.zeros(1, dtype=np.int64)
        self.node_weights = np.log(targets.nodes)
        self.edge_weights = np.zeros(0)
        self.edge_targets = np.zeros(0)
        self.elimination = eliminated(self.edges, self.cardinalities, np.arange(n))
        self.tables = self._new_tables()
        self.log_partition = 0.0
        self._buffer = np.empty(int(self.cardinalities.max()) ** 2)
        self._factors = np.empty_like(self._buffer)

    def add_edge(self, i: int, j: int, elimination: Elimination) -> None:
        """Activate an edge with zero weights, given an elimination of the new graph."""
        target = self.targets.pair(i, j).reshape(-1)
        self.edges = np.vstack([self.edges, np.array([[i, j]])])
        self.edge_offsets = np.append(self.edge_offsets, self.edge_offsets[-1] + len(target))
        self.edge_targets = np.append(self.edge_targets, target)
        self.edge_weights = np.append(self.edge_weights, np.zeros(len(target)))
        self.elimination = elimination
        self.tables = self._new_tables()

    def begin(
        self,
        edges: np.ndarray,
        elimination: Elimination,
        node_weights: np.ndarray,
        edge_weights: np.ndarray,
    ) -> None:
        """Start with all edges of a graph at the given weights.

        Parameters
        ----------
        edges : int64 array, shape (m, 2)
        elimination : Elimination
            Of this graph.
        node_weights, edge_weights : float64 arrays, flat
        """
        self.edges, self.elimination = edges, elimination
        joint = self.cardinalities[edges].prod(axis=1)
        self.edge_offsets = np.concatenate([[0], np.cumsum(joint)]).astype(np.int64)
        self.edge_targets = self.targets.pairs(edges)
        self.node_weights, self.edge_weights = node_weights.copy(), edge_weights.copy()
        self.tables = self._new_tables()

    def fit(
        self, tolerance: float, *, around: int | None = None, stage: Stage = COMPLETE
    ) -> Fitted:
        """Maximise the likelihood, starting from the current weights.

        Parameters
        ----------
        tolerance : float
            KKT residual at which to stop.
        around : int, optional
            Fit only the component of this variable; default: all.
        stage : Stage, optional
            Small steps: stop as soon as the gradient of no edge is above `stage.least`; only the
            nodes are fitted to the tolerance.
        """
        self.calibrate()
        roots = np.flatnonzero(self.elimination.parent < 0)
        if around is not None:
            roots = self.tables.root[self.elimination.place[around]][None]
        if stage is not COMPLETE:
            rounds = self._fit_all(roots, stage.least, stage)
            rounds += self._fit_all(roots, tolerance, Stage(0.0))
        elif around is not None:
            rounds = self._fit_all(roots, tolerance, COMPLETE)
        else:
            rounds = self._fit_faster(roots, tolerance)
        objective = self.calibrate()
        return Fitted(objective, self.violation(), rounds)

    def calibrate(self) -> float:
        """Compute the exact marginals in all tables; return the objective."""
        self.log_partition = calibrate(
            self.tables,
            self.targets.offsets,
            self.node_weights,
            self.edge_offsets,
            self.edge_weights,
        )
        seen = self.node_weights @ self.targets.nodes + self.edge_weights @ self.edge_targets
        return float(self.log_partition - seen + self._price())

    def loss(self, targets: Targets) -> float:
        """Return −log p(x) of other rows, in nats per row; the tables must be calibrated.

        Parameters
        ----------
        targets : Targets
            Marginals of these rows.
        """
        seen = self.edge_weights @ targets.pairs(self.edges)
        return float(self.log_partition - self.node_weights @ targets.nodes - seen)

    def _price(self) -> float:
        """Return the penalty of the current weights."""
        lam2, lam1, by_feature = self.penalty
        squares = self.edge_weights**2
        total = lam2 * float(squares.sum())
        if lam1 > 0.0 and len(squares):
            groups = np.sqrt(np.add.reduceat(squares, self.edge_offsets[:-1]))
            total += lam1 * float((np.abs(self.edge_weights) if by_feature else groups).sum())
        return total

    def violation(self) -> float:
        """Return the KKT residual; the tables must be calibrated."""
        return float(
            _violation(
                self.tables,
                self.targets.offsets,
                self.targets.nodes,
                self.edge_offsets,
                self.edge_targets,
                self.edge_weights,
                self.penalty,
                self._buffer,
            )
        )

    def beliefs(self) -> np.ndarray:
        """Return p(x_i) of all variables, flat; the tables must be calibrated."""
        found = np.zeros(int(self.targets.offsets[-1]))
        _node_marginals(self.tables, self.targets.offsets, found)
        return found

    def beliefs_at(self, node_weights: np.ndarray) -> np.ndarray:
        """Return p(x_i) of all variables, flat, with other node weights."""
        self.node_weights = node_weights.copy()
        self.calibrate()
        return self.beliefs()

    def pair_marginals(self) -> np.ndarray:
        """Return p(x_i = a, x_j = b), shape (Σ s_i, Σ s_j); the tables must be calibrated."""
        states = int(self.targets.offsets[-1])
        found = np.zeros((states, states))
        _pair_marginals(self.tables, self.targets.offsets, self.tables.entries.copy(), found)
        return found

    def snapshot(self) -> Snapshot:
        """Return the state that :meth:`restore` goes back to."""
        return Snapshot(
            self.edges,
            self.edge_offsets,
            self.edge_targets,
            self.node_weights.copy(),
            self.edge_weights.copy(),
            self.elimination,
            self.tables,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot and calibrate."""
        self.edges, self.edge_offsets, self.edge_targets = snapshot[:3]
        self.node_weights, self.edge_weights = snapshot.node_weights, snapshot.edge_weights
        self.elimination, self.tables = snapshot.elimination, snapshot.tables
        self.calibrate()

    def _fit_faster(self, roots: np.ndarray, tolerance: float) -> int:
        """Fit components, and after some rounds continue along the direction they have taken.

        Strong edges make rounds slow. Anderson acceleration needs a fraction of them; if it raises
        the objective, the weights are those of the last round.
        """
        rounds = 0
        while rounds < _MOST_ROUNDS:
            trail = [self._weights()]
            for _ in range(_TOGETHER):
                roots = self._round(roots, tolerance, COMPLETE)
                rounds += 1
                if len(roots) == 0:
                    return rounds
                trail.append(self._weights())
            before = self.calibrate()
            self._set_weights(_extrapolated(np.array(trail)))
            if not self.calibrate() <= before:
                self._set_weights(trail[-1])
                self.calibrate()
        return rounds

    def _fit_all(self, roots: np.ndarray, tolerance: float, stage: Stage) -> int:
        """Fit components round by round; return the number of rounds."""
        rounds = 0
        while len(roots) and rounds < _MOST_ROUNDS:
            roots = self._round(roots, tolerance, stage)
            rounds += 1
        return rounds

    def _round(self, roots: np.ndarray, tolerance: float, stage: Stage) -> np.ndarray:
        """Fit every group of some components once; return those above the tolerance before."""
        starts = self.tables.tour_starts
        worst = [
            fit_round(
                self.tables,
                starts[root],
                starts[root + 1],
                self.edges,
                self.targets.offsets,
                (self.node_weights, self.targets.nodes),
                self.edge_offsets,
                (self.edge_weights, self.edge_targets),
                self.penalty,
                stage,
                self._buffer,
                self._factors,
            )
            for root in roots
        ]
        return roots[np.array(worst) > tolerance]

    def _weights(self) -> np.ndarray:
        return np.concatenate([self.node_weights, self.edge_weights])

    def _set_weights(self, weights: np.ndarray) -> None:
        self.node_weights, self.edge_weights = np.split(weights, [len(self.node_weights)])

    def _new_tables(self) -> CliqueTables:
        found = self.elimination
        return clique_tables(
            found.order, found.starts, found.scopes, found.parent, self.cardinalities, self.edges
        )


def _extrapolated(trail: np.ndarray) -> np.ndarray:
    """Return the weights of smallest change among affine combinations of some rounds.

    References
    ----------
    D. G. Anderson, "Iterative procedures for nonlinear integral equations", 1965.
    """
    changes = np.diff(trail, axis=0)
    products = changes @ changes.T
    products += _RIDGE * np.trace(products) * np.eye(len(changes))
    shares = np.linalg.solve(products, np.ones(len(changes)))
    return np.asarray(shares @ trail[1:] / shares.sum())


@kernel
def _violation(
    tables, node_offsets, node_targets, edge_offsets, edge_targets, weights, penalty, buffer
):
    """Return the largest violation over nodes and edges."""
    worst = 0.0
    for k in range(len(tables.order)):
        begin, end, own = tables.starts[k], tables.starts[k + 1], tables.states[k]
        buffer[:own] = 0.0
        for at in range(begin, end, own):
            for x in range(own):
                buffer[x] += tables.entries[at + x]
        first = node_offsets[tables.order[k]]
        total = 0.0
        for x in range(own):
            total += (buffer[x] - node_targets[first + x]) ** 2
        worst = max(worst, total)
        for p in range(tables.edge_starts[k], tables.edge_starts[k + 1]):
            e = tables.edge_ids[p]
            edge_marginal(tables, begin, e, buffer)
            first, last = edge_offsets[e], edge_offsets[e + 1]
            residual = edge_residual(
                buffer[: last - first], edge_targets[first:last], weights[first:last], penalty
            )
            worst = max(worst, residual**2)
    return np.sqrt(worst)


@kernel
def _pair_marginals(tables, offsets, calibrated, found):
    """Write p(x_i = a, x_j = b) of all variables, with the other states of x_i excluded in turn.

    An exclusion is passed on from the clique of x_i to its root and from there to all others.
    """
    n = len(tables.order)
    on_path = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        own, i = tables.states[k], tables.order[k]
        for state in range(own):
            tables.entries[:] = calibrated
            for at in range(tables.starts[k], tables.starts[k + 1], own):
                for x in range(own):
                    if x != state:
                        tables.entries[at + x] = 0.0
            on_path[:] = False
            at = k
            on_path[at] = True
            while tables.parent[at] >= 0:
                update_parent(tables, at)
                at = tables.parent[at]
                on_path[at] = True
            for other in range(n - 1, -1, -1):
                if tables.root[other] == at and not on_path[other]:
                    update_from_parent(tables, other)
            _node_marginals(tables, offsets, found[offsets[i] + state])
            # Variables of other components are independent of x_i.
            share = found[offsets[i] + state, offsets[i] + state]
            for other in range(n):
                if tables.root[other] != at:
                    first = offsets[tables.order[other]]
                    found[offsets[i] + state, first : first + tables.states[other]] *= share
    tables.entries[:] = calibrated


@kernel
def _node_marginals(tables, offsets, found):
    for k in range(len(tables.order)):
        first, own = offsets[tables.order[k]], tables.states[k]
        for at in range(tables.starts[k], tables.starts[k + 1], own):
            for x in range(own):
                found[first + x] += tables.entries[at + x]


class Matched(NamedTuple):
    """Weights in closed form, flat, and the approximate objective in nats per row."""

    node_weights: np.ndarray
    edge_weights: np.ndarray
    objective: float


def match_moments(targets: Targets, edges: np.ndarray, method: str) -> Matched:
    """Return the weights whose beliefs equal the targets.

    Parameters
    ----------
    targets : Targets
    edges : int64 array, shape (m, 2)
    method : {"bp", "trbp"}
    """
    appearance = np.ones(len(edges))
    sizes = targets.counts.cardinalities
    if method == "trbp":
        couples = (sizes[edges] > 1).all(axis=1)
        appearance[couples] = edge_appearance(len(sizes), edges[couples]).probabilities
    nodes = np.log(targets.nodes)
    objective = float(-(targets.nodes @ nodes))
    tables = []
    for (i, j), share in zip(edges.tolist(), appearance.tolist(), strict=True):
        target = targets.pair(i, j)
        ratios = np.log(target / np.outer(targets.node(i), targets.node(j)))
        objective -= share * float((target * ratios).sum())
        tables.append(share * ratios.reshape(-1))
    return Matched(nodes, np.concatenate([np.zeros(0), *tables]), objective)
