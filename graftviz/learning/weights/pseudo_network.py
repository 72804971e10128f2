"""Network fitted by pseudo-likelihood; the counterpart of ActiveNetwork."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from graftviz.data.table import DiscreteTable
from graftviz.inference.propagation import message_graph, propagate
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.scores.pair_test import PairTest
from graftviz.learning.weights.conditionals import columns_of, fill_impurity, new_conditionals
from graftviz.learning.weights.left_out import CLEARLY, left_out_score
from graftviz.learning.weights.merged_rows import merged_rows
from graftviz.learning.weights.network import Evaluation, FittedNetwork, longer
from graftviz.learning.weights.penalty import Penalty, group_dimension
from graftviz.learning.weights.pseudo_likelihood import (
    PairWeights,
    distance_to,
    fill_columns,
    measure_edge,
    new_workspace,
    refresh_losses,
    solve_active_set,
)
from graftviz.utils.arrays import flat_positions

_BY_EDGE = (
    "edge_nodes",
    "seen_drift",
    "violation",
    "shares_drift",
    "left_out",
    "left_out_drift",
    "touched_edges",
)
_BY_CELL = ("edge_weights", "edge_targets", "shares_i", "shares_j")
_FARTHEST = 1.5  # more than √2, the largest distance of two conditionals
_MOVED = 1e-12  # change of a weight above which conditionals are recomputed
_FIRST_ITERATIONS = 8
_LATER_ITERATIONS = 3


class PseudoNetwork(FittedNetwork):
    """Active set of one run, fitted to the rows of its data by pseudo-likelihood.

    Parameters
    ----------
    table : DiscreteTable
    counts : PairCounts
        Counts of the same table; its pair tables are the targets.
    """

    objective_name = "pseudo-likelihood"
    state: PairWeights

    def __init__(self, table: DiscreteTable, counts: PairCounts) -> None:
        super().__init__(counts, table.names, table.labels)
        offsets, margins = np.array(counts.packed.node_offsets), self._margins
        codes, multiplicity = merged_rows(np.ascontiguousarray(table.codes), table.weights)
        largest = max(2, int(self._sizes.max()))
        self._work = new_workspace(largest)
        self._next_start = 0
        self._incident: list[list[int]] = [[] for _ in range(self.n_nodes)]
        self.rows = new_conditionals(codes, multiplicity, offsets, margins, float(counts.n_rows))
        self._spare = np.zeros(2 * (largest + 1) * len(self.rows.multiplicity), dtype=np.float32)
        self.state = PairWeights(
            node_offsets=offsets,
            edge_offsets=np.zeros(17, dtype=np.int64),
            node_weights=self._alone.copy(),
            edge_weights=np.zeros(256),
            edge_nodes=np.zeros((16, 2), dtype=np.int64),
            edge_targets=np.zeros(256),
            drift=np.zeros(self.n_nodes),
            seen_drift=np.zeros(16),
            violation=np.zeros(16),
            shares_i=np.zeros(256),
            shares_j=np.zeros(256),
            shares_drift=np.full(16, -1.0),
            left_out=np.zeros((16, 2)),
            left_out_drift=np.full(16, -1.0),
            touched_nodes=np.zeros(self.n_nodes, dtype=np.bool_),
            touched_edges=np.zeros(16, dtype=np.bool_),
        )
        # With free weights an isolated variable has the data's margins; its loss is the entropy.
        cells = -counts.packed.margins * np.log(margins)
        self._losses = np.add.reduceat(cells, offsets[:-1])
        self._stale = np.zeros(self.n_nodes, dtype=np.bool_)
        self._left_out_test: PairTest | None = None  # of the shares in `state.left_out`

    @property
    def node_beliefs(self) -> np.ndarray:
        """Mean conditional of every variable, flat; at an optimum, the data's margins."""
        return self.rows.margins

    def add_edge(self, i: int, j: int, weights: np.ndarray | None = None) -> None:
        """Add edge i < j with the data's pair marginal as its target; default weights are zero.

        With `weights`, shape (s_i, s_j), conditionals must be rebuilt before the next fit.
        """
        self._reserve(int(self._sizes[i]) * int(self._sizes[j]))
        state, e = self.state, self.n_edges
        size = int(self._sizes[i]) * int(self._sizes[j])
        start = int(state.edge_offsets[e])
        state.edge_nodes[e] = i, j
        state.edge_offsets[e + 1] = start + size
        state.edge_weights[start : start + size] = 0.0 if weights is None else weights.reshape(-1)
        shares = self.counts.table(i, j) / self.counts.n_rows
        state.edge_targets[start : start + size] = shares.reshape(-1)
        state.seen_drift[e] = -1.0
        state.violation[e] = np.inf
        state.shares_i[start : start + size] = 0.0
        state.shares_j[start : start + size] = 0.0
        state.shares_drift[e] = -1.0
        state.left_out_drift[e] = -1.0
        for node in (i, j):
            self._incident[node].append(e)
            if self.rows.starts[node] < 0:
                self._connect(node)
        self.n_edges = e + 1

    def fit(self, penalty: Penalty, *, tolerance: float, max_sweeps: int = 50) -> Evaluation:
        """Fit all weights from their current values until no violation exceeds `tolerance`."""
        state, work = self.state, self._work
        new = np.flatnonzero(state.seen_drift[: self.n_edges] < 0.0)
        iterations = _FIRST_ITERATIONS if len(new) else _LATER_ITERATIONS
        solve_active_set(state, self.rows, self.n_edges, penalty, tolerance, 1, iterations, work)
        solve_active_set(
            state,
            self.rows,
            self.n_edges,
            penalty,
            tolerance,
            max_sweeps - 1,
            _LATER_ITERATIONS,
            work,
        )
        return self.evaluate(penalty)

    def fit_nodes(self, penalty: Penalty, *, tolerance: float) -> None:
        """Fit variables without edges; free weights have a closed form, penalised ones do not."""
        state = self.state
        isolated = np.array([not incident for incident in self._incident])
        if not penalty.nodes:
            moved = state.node_weights != self._alone
            isolated &= np.logical_or.reduceat(moved, state.node_offsets[:-1])
        for i in np.flatnonzero(isolated):
            self._fit_alone(int(i), penalty, tolerance)
        # Variables that lost their last edge still have columns.
        self.rebuild(np.flatnonzero(isolated & (self.rows.starts >= 0)))
        state.seen_drift[: self.n_edges] = -1.0

    def polish(self, penalty: Penalty, *, tolerance: float) -> Evaluation:
        """Fit tightly from recomputed conditionals, every edge at least once."""
        state = self.state
        before = state._replace(
            node_weights=state.node_weights.copy(),
            edge_weights=state.edge_weights.copy(),
            drift=state.drift.copy(),
        )
        self.rebuild()
        self.fit_nodes(penalty, tolerance=tolerance)
        evaluation = self.fit(penalty, tolerance=tolerance, max_sweeps=200)
        self._shorten_drift(before)
        return evaluation

    def rebuild(self, nodes: np.ndarray | None = None) -> None:
        """Recompute the conditionals of `nodes` (default: all) from the weights."""
        connected = np.flatnonzero(self.rows.starts >= 0)
        for i in connected if nodes is None else nodes:
            incident = np.array(self._incident[i], dtype=np.int64)
            start = self.rows.starts[i]
            fill_columns(self.state, self.rows, i, incident, self.rows.columns, start, self._work)
            self._stale[i] = True
        self.refresh_impurity()

    def remove_edges(self, positions: np.ndarray) -> None:
        """Remove the edges at these positions; the others keep their order."""
        state = self.state
        remaining = np.setdiff1d(np.arange(self.n_edges), positions)
        cells = flat_positions(state.edge_offsets, remaining)
        nodes = np.unique(state.edge_nodes[positions])
        for name in _BY_CELL:
            array = getattr(state, name)
            array[: len(cells)] = array[cells]
        sizes = np.diff(state.edge_offsets)[remaining]
        for name in _BY_EDGE:
            array = getattr(state, name)
            array[: len(remaining)] = array[remaining]
        state.edge_offsets[1 : len(remaining) + 1] = np.cumsum(sizes)
        self.n_edges = len(remaining)
        self._incident = [[] for _ in range(self.n_nodes)]
        for e, (i, j) in enumerate(self.edges.tolist()):
            self._incident[i].append(e)
            self._incident[j].append(e)
        state.drift[nodes] += _FARTHEST
        state.touched_nodes[nodes] = True
        self.rebuild(nodes)

    def follow(self, node_weights: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> None:
        """Set the weights of another fit, whose first edges are the edges of this network.

        Parameters
        ----------
        node_weights : float64 array, flat
        edges : int array, shape (m, 2)
        weights : float64 array, flat
            Edge weights, edge after edge.
        """
        old_edges = self.n_edges
        for i, j in edges[old_edges:].tolist():
            self.add_edge(i, j)
        state = self.state
        offsets = state.edge_offsets[: self.n_edges + 1]
        has_moved = np.abs(state.node_weights - node_weights) > _MOVED
        moved = np.logical_or.reduceat(has_moved, state.node_offsets[:-1])
        if self.n_edges:
            there = state.edge_weights[: offsets[-1]]
            changed = np.logical_or.reduceat(np.abs(there - weights) > _MOVED, offsets[:-1])
            changed[old_edges:] = True
            state.touched_edges[: self.n_edges] |= changed
            moved[state.edge_nodes[: self.n_edges][changed].reshape(-1)] = True
            there[:] = weights
        state.node_weights[:] = node_weights
        state.touched_nodes[moved] = True
        for i in np.flatnonzero(moved & (self.rows.starts < 0)):
            self._use_alone(int(i))
        state.drift[moved] += _FARTHEST
        for i in np.flatnonzero(moved & (self.rows.starts < 0)):
            at = slice(int(state.node_offsets[i]), int(state.node_offsets[i + 1]))
            self.rows.alone[at] = softmax(node_weights[at])
        self.rebuild(np.flatnonzero(moved & (self.rows.starts >= 0)))

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return len(self.rows.multiplicity)

    def weights_of(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node weights, and those of the edges at some positions, both flat."""
        state = self.state
        cells = flat_positions(state.edge_offsets, positions)
        return state.node_weights, state.edge_weights[cells]

    def leave_one_out(self, *, tolerance: float, least: np.ndarray, test: PairTest) -> np.ndarray:
        """Return the share of its threshold that every edge reaches without that edge.

        The weights of the edge are removed from the conditionals of both ends, whose node weights
        are then refitted to the data's margins; all other weights are fixed. The refit is skipped
        where the share is large.

        Parameters
        ----------
        tolerance : float
            Earlier results are reused for edges whose ends have not changed by more than this, or,
            where the share is large, by more than a quarter of the gradient norm.
        least : float64 array, shape (m,)
            λ d_e, the other threshold of the gradient norm.
        test : PairTest
        """
        state, m = self.state, self.n_edges
        moved = state.drift[state.edge_nodes[:m]].sum(axis=1)
        if test is not self._left_out_test:
            state.left_out_drift[:m], self._left_out_test = -1.0, test
        norms, shares = state.left_out[:m].T
        margin = np.where(shares > CLEARLY, norms / 4.0, 0.0)
        change = np.where(state.left_out_drift[:m] < 0.0, np.inf, moved - state.left_out_drift[:m])
        work = self._spare, self._work
        for e in np.flatnonzero(change > np.maximum(tolerance, margin)):
            found = left_out_score(state, self.rows, e, test, least[e], *work)
            state.left_out[e], state.left_out_drift[e] = found, moved[e]
        return shares.copy()

    def restart_gap(self, *, tolerance: float = 1e-6, max_sweeps: int = 100) -> float:
        """Return the largest difference between beliefs of BP on this model and the data's margins.

        The mean conditional of every variable in the fit equals the data's margin. A large gap
        means that BP on the model gives other beliefs.
        """
        graph = message_graph(self.model())
        largest = int(self._sizes.max())
        work = np.empty((6, largest * largest))
        propagate(graph, self.n_nodes, self.n_edges, max_sweeps, tolerance, 0.0, work)
        return float(np.abs(graph.node_beliefs - self.rows.margins).max())

    def evaluate(self, penalty: Penalty) -> Evaluation:
        """Evaluate objective and optimality conditions at the current state."""
        state = self.state
        moved = state.drift[state.edge_nodes[: self.n_edges]].sum(axis=1)
        for e in np.flatnonzero(moved != state.seen_drift[: self.n_edges]):
            measure_edge(state, self.rows, e, penalty, self._work)
        stale = np.flatnonzero((state.touched_nodes | self._stale) & (self.rows.starts >= 0))
        refresh_losses(self.rows, stale, self._losses)
        self.refresh_impurity()
        self._stale[:] = False
        worst = float(state.violation[: self.n_edges].max(initial=0.0))
        objective = float(self._losses.sum()) / self.counts.n_rows + self._price(penalty)
        return Evaluation(objective, worst, 0.0)

    def refresh_impurity(self) -> None:
        """Recompute the impurity of changed variables in every row."""
        for i in np.flatnonzero((self.state.touched_nodes | self._stale) & (self.rows.starts >= 0)):
            fill_impurity(columns_of(self.rows, i), self.rows.inverse)

    def _shorten_drift(self, before: PairWeights) -> None:
        """Replace the drift since an earlier state by the distance from it, which is shorter.

        A tight fit moves to and fro. Every edge must have been evaluated at the current state, and
        no scores may have been computed since the earlier one.
        """
        state, rows, pairs = self.state, self.rows, self.edges
        has_moved = (state.drift > before.drift) & (rows.starts >= 0)
        for i in np.flatnonzero(has_moved):
            incident = np.array(self._incident[i], dtype=np.int64)
            distance = distance_to(before, rows, i, incident, self._spare, self._work)
            state.drift[i] = min(state.drift[i], before.drift[i] + distance)
        now = state.drift[pairs].sum(axis=1)
        state.seen_drift[: self.n_edges] = now
        np.minimum(state.shares_drift[: self.n_edges], now, out=state.shares_drift[: self.n_edges])

    def _price(self, penalty: Penalty) -> float:
        state = self.state
        offsets = state.edge_offsets[: self.n_edges + 1]
        price = _group_price(state.edge_weights, offsets, penalty)
        if penalty.nodes:
            price += _group_price(state.node_weights, state.node_offsets, penalty)
        return price

    def _fit_alone(self, i: int, penalty: Penalty, tolerance: float) -> None:
        """Fit the weights of a variable without edges to its margins."""
        at = slice(int(self.state.node_offsets[i]), int(self.state.node_offsets[i + 1]))
        weights, target = self.state.node_weights[at], self.rows.margins[at]
        before = weights.copy()
        if penalty.nodes:
            _descend(weights, target, penalty, tolerance)
        else:
            weights[:] = self._alone[at]
        self._use_alone(i)
        length = float(np.linalg.norm(weights - before))
        if length > 0.0:
            self.state.drift[i] += length
            self.state.touched_nodes[i] = True

    def _use_alone(self, i: int) -> None:
        """Recompute distribution and loss of a variable without edges from its weights."""
        at = slice(int(self.state.node_offsets[i]), int(self.state.node_offsets[i + 1]))
        self.rows.alone[at] = softmax(self.state.node_weights[at])
        logs = np.log(self.rows.alone[at])
        self._losses[i] = -float(self.rows.margins[at] @ logs) * self.counts.n_rows

    def _connect(self, i: int) -> None:
        """Allocate a variable's columns and fill them from its node weights."""
        rows, width = self.rows, len(self.rows.multiplicity)
        states = int(self._sizes[i])
        start, stop = self._next_start, self._next_start + (states + 1) * width
        if stop > len(rows.columns):
            # In place: a copy would need new pages, which take longer than the fit of a variable.
            longest = int((self._sizes + 1).sum()) * width
            rows.columns.resize(min(stop + stop // 4, longest), refcheck=False)
        rows.starts[i], self._next_start = start, stop
        at = int(self.state.node_offsets[i])
        shares = softmax(self.state.node_weights[at : at + states])
        columns = rows.columns[start:stop].reshape(states + 1, width)
        columns[:states] = shares[:, np.newaxis] * rows.multiplicity
        fill_impurity(columns, rows.inverse)
        self._stale[i] = True

    def _reserve(self, cells: int) -> None:
        state, e = self.state, self.n_edges
        capacity = len(state.edge_nodes)
        larger = {}
        if e + 1 > capacity:
            for name in _BY_EDGE:
                larger[name] = longer(getattr(state, name), 2 * capacity)
            larger["edge_offsets"] = longer(state.edge_offsets, 2 * capacity + 1)
        needed = int(state.edge_offsets[e]) + cells
        if needed > len(state.edge_weights):
            for name in _BY_CELL:
                larger[name] = longer(getattr(state, name), 2 * needed)
        if larger:
            self.state = state._replace(**larger)


def _descend(weights: np.ndarray, target: np.ndarray, penalty: Penalty, tolerance: float) -> None:
    """Fit the penalised weights of an isolated variable, shape (s,), in place."""
    threshold = penalty.lam * group_dimension(len(target), penalty.square_root)
    step = 1.0 / (0.5 + 2.0 * penalty.lam2)
    for _ in range(2000):
        moved = weights - step * (softmax(weights) - target + 2.0 * penalty.lam2 * weights)
        norm = float(np.linalg.norm(moved))
        moved *= max(0.0, 1.0 - step * threshold / norm) if norm > 0.0 else 0.0
        moved -= moved.mean()
        change = float(np.abs(moved - weights).max())
        weights[:] = moved
        if change <= 0.1 * tolerance:
            break


def _group_price(weights: np.ndarray, offsets: np.ndarray, penalty: Penalty) -> float:
    sizes = np.diff(offsets)
    if len(sizes) == 0:
        return 0.0
    squares = np.add.reduceat(weights[: offsets[-1]] ** 2, offsets[:-1])
    dimensions = np.sqrt(sizes) if penalty.square_root else sizes
    return float((penalty.lam * dimensions * np.sqrt(squares) + penalty.lam2 * squares).sum())
