"""Network that a learner fits: flat arrays, targets from the data, and the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graftviz.inference.prediction import PairwiseMRF
from graftviz.inference.propagation import (
    MessageGraph,
    careful_cavity,
    fill_pair_beliefs,
    propagate,
    quick_cavity,
)
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import Changes
from graftviz.learning.weights.penalty import Penalty, group_dimension, group_residual
from graftviz.learning.weights.solver import solve_active_set, solve_nodes
from graftviz.utils.arrays import flat_positions, freeze
from graftviz.utils.compiling import inner_kernel, kernel


class Evaluation(NamedTuple):
    """Objective 𝕃(w) and residuals of the optimality and fixed-point conditions.

    Attributes
    ----------
    objective : float
        L(w) + λ Σ_g d_g ‖w_g‖ + λ₂ ‖w‖² over the penalised groups, nats per row.
    kkt_residual : float
        Largest violation over nodes and active edges.
    message_residual : float
        Largest change by one more message update (messages have mean one).
    """

    objective: float
    kkt_residual: float
    message_residual: float


@inner_kernel
def _norm(weights, size):
    total = 0.0
    for k in range(size):
        total += weights[k] ** 2
    return np.sqrt(total)


@inner_kernel
def _log_field(network, i, out):
    """Write w_i + Σ log(messages into i) to `out`.

    Messages are multiplied first; the logarithm is taken once, or when a product becomes extreme.
    """
    messages, node_offsets = network.messages, network.node_offsets
    message_offsets, following = network.message_offsets, network.following
    start = node_offsets[i]
    states = node_offsets[i + 1] - start
    products = np.ones(states)
    for x in range(states):
        out[x] = network.node_weights[start + x]
    incidence = network.first[i]
    while incidence >= 0:
        e = incidence >> 1
        at = message_offsets[e]
        if incidence & 1 == 1:
            at = message_offsets[e + 1] - states
        for x in range(states):
            product = products[x] * messages[at + x]
            if product < 1e-150 or product > 1e150:
                out[x] += np.log(product)
                product = 1.0
            products[x] = product
        incidence = following[incidence]
    for x in range(states):
        out[x] += np.log(products[x])


@inner_kernel
def _evaluate_node(network, i, penalty, field, gradient):
    """Return the contribution of node i to the objective, and its violation."""
    at = network.node_offsets[i]
    states = network.node_offsets[i + 1] - at
    node_weights, node_targets = network.node_weights, network.node_targets
    _log_field(network, i, field)
    highest = field[0]
    for x in range(states):
        highest = max(highest, field[x])
    total = 0.0
    for x in range(states):
        gradient[x] = np.exp(field[x] - highest)
        total += gradient[x]
    value = highest + np.log(total)
    for x in range(states):
        gradient[x] = gradient[x] / total - node_targets[at + x]
        value -= node_weights[at + x] * node_targets[at + x]
    weights = node_weights[at : at + states]
    if not penalty.nodes:
        return value, group_residual(weights, gradient, 0.0, 0.0, states)
    threshold = penalty.lam * group_dimension(states, penalty.square_root)
    norm = _norm(weights, states)
    value += threshold * norm + penalty.lam2 * norm * norm
    return value, group_residual(weights, gradient, threshold, penalty.lam2, states)


@inner_kernel
def _evaluate_edges(network, n_edges, penalty, work):
    """Write the terms of all edges that are stale or have a stale node."""
    outgoing, gradient, cavity_i, cavity_j = work[0], work[3], work[1], work[2]
    # Extracting an array from a tuple costs a reference count: once here, not once per edge.
    beliefs, messages, potentials = network.node_beliefs, network.messages, network.potentials
    node_offsets, edge_targets = network.node_offsets, network.edge_targets
    edge_nodes, edge_weights = network.edge_nodes, network.edge_weights
    edge_offsets, message_offsets = network.edge_offsets, network.message_offsets
    stale_nodes, stale_edges, terms = network.stale_nodes, network.stale_edges, network.edge_terms
    lam, lam2, square_root = penalty.lam, penalty.lam2, penalty.square_root
    for e in range(n_edges):
        i, j = edge_nodes[e, 0], edge_nodes[e, 1]
        if not (stale_edges[e] or stale_nodes[i] or stale_nodes[j]):
            continue
        stale_edges[e] = False
        start_i, start_j = node_offsets[i], node_offsets[j]
        states_i, states_j = node_offsets[i + 1] - start_i, node_offsets[j + 1] - start_j
        size = states_i * states_j
        at, into_i = edge_offsets[e], message_offsets[e]
        into_j = into_i + states_i
        if not quick_cavity(beliefs, start_i, messages, into_i, states_i, cavity_i):
            careful_cavity(network, e, np.int64(0), cavity_i)
        if not quick_cavity(beliefs, start_j, messages, into_j, states_j, cavity_j):
            careful_cavity(network, e, np.int64(1), cavity_j)
        joint, at_i, at_j, mass_i, mass_j = 0.0, 0.0, 0.0, 0.0, 0.0
        for y in range(states_j):
            outgoing[y] = 0.0
        for x in range(states_i):
            weight, incoming = cavity_i[x], 0.0
            for y in range(states_j):
                potential = potentials[at + x * states_j + y]
                incoming += potential * cavity_j[y]
                outgoing[y] += weight * potential
                gradient[x * states_j + y] = weight * potential * cavity_j[y]
            joint += weight * incoming
            at_i += weight * messages[into_i + x]
            mass_i += incoming
            cavity_i[x] = incoming
        for y in range(states_j):
            at_j += cavity_j[y] * messages[into_j + y]
            mass_j += outgoing[y]
        message_worst = 0.0
        for x in range(states_i):
            gap = abs(cavity_i[x] * states_i / mass_i - messages[into_i + x])
            message_worst = max(message_worst, gap)
        for y in range(states_j):
            gap = abs(outgoing[y] * states_j / mass_j - messages[into_j + y])
            message_worst = max(message_worst, gap)
        value = np.log(joint / (at_i * at_j))
        for k in range(size):
            value -= edge_weights[at + k] * edge_targets[at + k]
            gradient[k] = gradient[k] / joint - edge_targets[at + k]
        weights = edge_weights[at : at + size]
        threshold = lam * group_dimension(size, square_root)
        norm = _norm(weights, size)
        terms[e, 0] = value + threshold * norm + lam2 * norm * norm
        terms[e, 1] = group_residual(weights, gradient, threshold, lam2, size)
        terms[e, 2] = message_worst


@kernel
def evaluate(network, n_nodes, n_edges, penalty, work):
    """Evaluate objective, KKT residual and message residual at the current state.

    Only the terms of stale nodes and edges, and of edges at stale nodes, are recomputed. The
    Bethe log-partition function is stationary in the messages, so small message errors change the
    objective only to second order.

    Returns
    -------
    objective, kkt_residual, message_residual : float
    """
    _evaluate_edges(network, n_edges, penalty, work)
    stale_nodes, node_terms, edge_terms = (
        network.stale_nodes,
        network.node_terms,
        network.edge_terms,
    )
    objective, worst, message_worst = 0.0, 0.0, 0.0
    for i in range(n_nodes):
        if stale_nodes[i]:
            stale_nodes[i] = False
            value, violation = _evaluate_node(network, i, penalty, work[0], work[3])
            node_terms[i, 0], node_terms[i, 1] = value, violation
        objective += node_terms[i, 0]
        worst = max(worst, node_terms[i, 1])
    for e in range(n_edges):
        objective += edge_terms[e, 0]
        worst = max(worst, edge_terms[e, 1])
        message_worst = max(message_worst, edge_terms[e, 2])
    return objective, worst, message_worst


# Probability of a state that never occurs, instead of zero: its unpenalised weight would diverge to
# minus infinity. The error is far below any tolerance used here.
_SMALLEST_TARGET = 1e-12


class Network(NamedTuple):
    """Kernel-side state; a superset of :class:`graftviz.inference.propagation.MessageGraph`.

    Attributes
    ----------
    node_targets, edge_targets : float64 arrays, flat
        Data marginals p_D.
    edge_weights : float64 array, flat
        w_ij; `potentials` holds their exponentials.
    drift : float64 array, shape (n,)
        Length of the path of each node belief (sum of the 2-norms of its changes).
    seen_drift : float64 array, shape (capacity,)
        drift_i + drift_j when the edge was last solved; -1 for an edge never solved.
    touched_nodes, touched_edges : bool arrays
        Nodes and edges changed since the last call of :meth:`ActiveNetwork.changes`.
    stale_nodes, stale_edges : bool arrays
        Nodes and edges changed since the last evaluation.
    node_terms, edge_terms : float64 arrays, shapes (n, 2) and (capacity, 3)
        Contribution to the objective, violation, and for edges the message residual, at the last
        evaluation.
    """

    node_offsets: np.ndarray
    node_weights: np.ndarray
    node_beliefs: np.ndarray
    node_targets: np.ndarray
    edge_nodes: np.ndarray
    edge_offsets: np.ndarray
    edge_weights: np.ndarray
    potentials: np.ndarray
    edge_targets: np.ndarray
    message_offsets: np.ndarray
    messages: np.ndarray
    first: np.ndarray
    following: np.ndarray
    drift: np.ndarray
    seen_drift: np.ndarray
    touched_nodes: np.ndarray
    touched_edges: np.ndarray
    stale_nodes: np.ndarray
    stale_edges: np.ndarray
    node_terms: np.ndarray
    edge_terms: np.ndarray


# Arrays that grow with the number of edges, grouped by their length.
_BY_EDGE = ("edge_nodes", "seen_drift", "touched_edges", "stale_edges", "edge_terms")
_BY_BOUNDARY = ("edge_offsets", "message_offsets")
_BY_CELL = ("edge_weights", "potentials", "edge_targets")


class FittedNetwork:
    """Edges of one run and their weights, fitted to data; base of networks with an objective.

    Parameters
    ----------
    counts : PairCounts
    names, labels : tuples
        Names of variables and states in the returned models.
    """

    state: Any  # arrays of the kernels

    def __init__(
        self,
        counts: PairCounts,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
    ) -> None:
        self.counts = counts
        self.names, self.labels = names, labels
        self.n_nodes = counts.n_variables
        self.n_edges = 0
        self._sizes = counts.cardinalities
        offsets = counts.packed.node_offsets
        # Margins of the data, and the weights of variables without edges that have these margins.
        margins = np.maximum(counts.packed.margins / counts.n_rows, _SMALLEST_TARGET)
        margins /= np.repeat(np.add.reduceat(margins, offsets[:-1]), self._sizes)
        self._margins, self._alone = margins, zero_mean_logs(margins, offsets)

    @property
    def edges(self) -> np.ndarray:
        """Active edges in order of activation, shape (m, 2)."""
        edges: np.ndarray = self.state.edge_nodes[: self.n_edges]
        return edges

    @property
    def node_beliefs(self) -> np.ndarray:
        """Current node beliefs, flat."""
        raise NotImplementedError

    def changes(self) -> Changes:
        """Return the changes since the last call."""
        state = self.state
        nodes = np.flatnonzero(state.touched_nodes)
        edges = np.flatnonzero(state.touched_edges[: self.n_edges])
        at_nodes = flat_positions(state.node_offsets, nodes)
        at_edges = flat_positions(state.edge_offsets, edges)
        state.touched_nodes[:] = False
        state.touched_edges[:] = False
        return frozen_changes(
            nodes,
            edges,
            state.node_weights[at_nodes],
            self.node_beliefs[at_nodes],
            state.edge_weights[at_edges],
        )

    def model(self) -> PairwiseMRF:
        """Return the current model."""
        cells = int(self.state.edge_offsets[self.n_edges])
        weights = np.concatenate([self.state.node_weights, self.state.edge_weights[:cells]])
        return PairwiseMRF(self._sizes, self.edges, weights, self.names, self.labels)


class ActiveNetwork(FittedNetwork):
    """Active set of one run, fitted to the counts of its data."""

    state: Network

    def __init__(
        self,
        counts: PairCounts,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
    ) -> None:
        super().__init__(counts, names, labels)
        packed = counts.packed
        self._has_gaps = np.minimum.reduceat(packed.margins, packed.node_offsets[:-1]) == 0
        largest = int(counts.cardinalities.max())
        self._work = np.empty((10, largest * largest))
        self.state = Network(
            node_offsets=np.array(counts.packed.node_offsets),
            node_weights=self._alone.copy(),
            node_beliefs=self._margins.copy(),
            node_targets=self._margins,
            edge_nodes=np.zeros((16, 2), dtype=np.int64),
            edge_offsets=np.zeros(17, dtype=np.int64),
            edge_weights=np.zeros(256),
            potentials=np.zeros(256),
            edge_targets=np.zeros(256),
            message_offsets=np.zeros(17, dtype=np.int64),
            messages=np.zeros(256),
            first=np.full(self.n_nodes, -1, dtype=np.int64),
            following=np.full(32, -1, dtype=np.int64),
            drift=np.zeros(self.n_nodes),
            seen_drift=np.zeros(16),
            touched_nodes=np.zeros(self.n_nodes, dtype=np.bool_),
            touched_edges=np.zeros(16, dtype=np.bool_),
            stale_nodes=np.ones(self.n_nodes, dtype=np.bool_),
            stale_edges=np.zeros(16, dtype=np.bool_),
            node_terms=np.zeros((self.n_nodes, 2)),
            edge_terms=np.zeros((16, 3)),
        )
        self._evaluated: Penalty | None = None

    objective_name = "Bethe likelihood"

    @property
    def node_beliefs(self) -> np.ndarray:
        """Current node beliefs, flat."""
        return self.state.node_beliefs

    def pair_beliefs(self) -> np.ndarray:
        """Return the pair beliefs of all edges, flat, in the layout of their weights."""
        out = np.empty(int(self.state.edge_offsets[self.n_edges]))
        fill_pair_beliefs(self.state, self.n_edges, self._work, out)
        return out

    def add_edge(self, i: int, j: int) -> None:
        """Add edge i < j with zero weights and the data's pair marginal as its target."""
        self._reserve()
        state, e = self.state, self.n_edges
        states_i, states_j = int(self._sizes[i]), int(self._sizes[j])
        cells = slice(int(state.edge_offsets[e]), int(state.edge_offsets[e]) + states_i * states_j)
        into = slice(
            int(state.message_offsets[e]), int(state.message_offsets[e]) + states_i + states_j
        )
        state.edge_nodes[e] = i, j
        state.edge_offsets[e + 1], state.message_offsets[e + 1] = cells.stop, into.stop
        state.edge_weights[cells] = 0.0
        state.potentials[cells] = 1.0
        state.edge_targets[cells] = self._pair_target(i, j).reshape(-1)
        state.messages[into] = 1.0
        for side, node in ((0, i), (1, j)):
            state.following[2 * e + side] = state.first[node]
            state.first[node] = 2 * e + side
        state.seen_drift[e] = -1.0
        state.stale_edges[e] = True
        self.n_edges = e + 1

    def fit(self, penalty: Penalty, *, tolerance: float, max_sweeps: int = 200) -> Evaluation:
        """Fit all weights, starting from their current values.

        Parameters
        ----------
        tolerance : float
            Change of beliefs after which an edge is visited again; blocks are solved to a tenth
            of it.
        """
        self.solve(penalty, tolerance=tolerance, max_sweeps=max_sweeps)
        return self._evaluate_stale(penalty)

    def solve(self, penalty: Penalty, *, tolerance: float, max_sweeps: int) -> None:
        """Fit all weights like `fit`, without evaluating them."""
        solve_active_set(self.state, self.n_edges, penalty, tolerance, max_sweeps, self._work)

    def fit_nodes(self, penalty: Penalty, *, tolerance: float) -> None:
        """Fit every node separately; required at the start and after a change of the penalty."""
        self._fit_alone(np.arange(self.n_nodes), penalty, tolerance)
        self.state.seen_drift[: self.n_edges] = -1.0

    def polish(self, penalty: Penalty, *, tolerance: float) -> Evaluation:
        """Fit tightly, every edge at least once."""
        if penalty.nodes:
            # Free weights of a node without edges are exact from the start.
            self._fit_alone(np.flatnonzero(self.state.first < 0), penalty, 0.1 * tolerance)
        self.state.seen_drift[: self.n_edges] = -1.0
        return self.fit(penalty, tolerance=tolerance)

    def evaluate(self, penalty: Penalty, changed: Sequence[int] | None = None) -> Evaluation:
        """Evaluate objective and residuals at the current state.

        Parameters
        ----------
        changed : sequence of int, optional
            Nodes that changed, alone or in their edges, since the last evaluation; all by default.
        """
        self.state.stale_nodes[slice(None) if changed is None else changed] = True
        return self._evaluate_stale(penalty)

    def _evaluate_stale(self, penalty: Penalty) -> Evaluation:
        """Evaluate objective and residuals, recomputing only stale terms."""
        if penalty != self._evaluated:
            self.state.stale_nodes[:] = True
            self._evaluated = penalty
        values = evaluate(self.state, self.n_nodes, self.n_edges, penalty, self._work)
        return Evaluation(*(float(value) for value in values))

    def restart_gap(self, *, tolerance: float = 1e-6, max_sweeps: int = 100) -> float:
        """Return the largest difference between BP from uniform messages and the node beliefs.

        A large gap means that the fixed point is unstable: BP on the model will give other beliefs
        than those of the fit.
        """
        state = self.state
        # A plain message graph, for which propagation is compiled already.
        shared = {name: getattr(state, name) for name in MessageGraph._fields}
        initial = {name: np.ones_like(shared[name]) for name in ("messages", "node_beliefs")}
        cold = MessageGraph(**{**shared, **initial})
        propagate(cold, self.n_nodes, self.n_edges, max_sweeps, tolerance, 0.0, self._work)
        return float(np.abs(cold.node_beliefs - state.node_beliefs).max())

    def _fit_alone(self, nodes: np.ndarray, penalty: Penalty, tolerance: float) -> None:
        solve_nodes(self.state, nodes, penalty, tolerance, self._work)
        self.state.touched_nodes[nodes] = True
        self.state.stale_nodes[nodes] = True

    def _pair_target(self, i: int, j: int) -> np.ndarray:
        """Return p_D(i, j), shape (s_i, s_j), adjusted to the targets of the nodes as margins.

        The targets differ from the data's margins if a state never occurs; the difference is
        spread as if i and j were independent.
        """
        shares = self.counts.table(i, j) / self.counts.n_rows
        if not (self._has_gaps[i] or self._has_gaps[j]):
            return np.asarray(shares)
        offsets, targets = self.state.node_offsets, self.state.node_targets
        margins = (targets[offsets[k] : offsets[k + 1]] for k in (i, j))
        return with_margins(shares, *margins)

    def _reserve(self) -> None:
        state, e = self.state, self.n_edges
        capacity = len(state.edge_nodes)
        largest = self._work.shape[1]
        larger = {}
        if e + 1 > capacity:
            for name in _BY_EDGE:
                larger[name] = longer(getattr(state, name), 2 * capacity)
            for name in _BY_BOUNDARY:
                larger[name] = longer(getattr(state, name), 2 * capacity + 1)
            larger["following"] = longer(state.following, 4 * capacity)
        cells = int(state.edge_offsets[e]) + largest
        if cells > len(state.edge_weights):
            for name in _BY_CELL:
                larger[name] = longer(getattr(state, name), 2 * cells)
        messages = int(state.message_offsets[e]) + 2 * largest
        if messages > len(state.messages):
            larger["messages"] = longer(state.messages, 2 * messages)
        if larger:
            self.state = state._replace(**larger)


def frozen_changes(
    nodes: np.ndarray,
    edges: np.ndarray,
    node_weights: np.ndarray,
    node_beliefs: np.ndarray,
    edge_weights: np.ndarray,
) -> Changes:
    """Return the changes of one step, with all arrays read-only."""
    freeze(nodes, edges, node_weights, node_beliefs, edge_weights)
    return Changes(nodes, edges, node_weights, node_beliefs, edge_weights)


def zero_mean_logs(shares: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the logarithms of distributions minus their mean; `offsets` divide the flat array."""
    logs = np.log(shares)
    sizes = np.diff(offsets)
    return logs - np.repeat(np.add.reduceat(logs, offsets[:-1]) / sizes, sizes)


def with_margins(shares: np.ndarray, margin_i: np.ndarray, margin_j: np.ndarray) -> np.ndarray:
    """Return a joint distribution, shape (s_i, s_j), changed to have the given margins."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    spread = np.outer(margin_i - rows, columns) + np.outer(margin_i, margin_j - columns)
    return np.asarray(shares + spread)


def longer(array: np.ndarray, length: int) -> np.ndarray:
    """Return a copy of `array` padded with zeros to `length` entries."""
    grown = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
