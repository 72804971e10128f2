"""Metrics of every step of a run: recall, precision, F1 and held-out NLPL.

Metrics are computed from steps, outside the learner and its engine time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.arrays import read_only
from graftviz.fitting.softmax import exponentiate
from graftviz.history import History, flat_positions
from graftviz.model import PairwiseMRF
from graftviz.table import DiscreteTable
from graftviz.trace import Step

_NO_WEIGHTS = read_only(np.zeros(0))
_BLOCK = 512  # rows whose logits are processed together, so that they stay in the L1 cache


class EdgeMetrics(NamedTuple):
    """Comparison of found edges with the true ones; None if a ratio is 0 / 0."""

    recall: float | None
    precision: float | None
    f1: float | None


class StepMetrics(NamedTuple):
    """Metrics after one step; None if not applicable.

    Attributes
    ----------
    recall, precision, f1 : float or None
        Comparison with the true edges, if these are available (see :class:`EdgeMetrics`).
    nlpl_test : float or None
        Negative log pseudo-likelihood of the held-out rows (nats per row), if there are any.

    Examples
    --------
    >>> [round(metrics.recall, 2) for metrics in result.metrics[:3]]
    [0.09, 0.18, 0.27]
    """

    recall: float | None
    precision: float | None
    f1: float | None
    nlpl_test: float | None


def recall_precision_f1(
    found: Iterable[Iterable[int]], truth: Iterable[Iterable[int]]
) -> EdgeMetrics:
    """Compare two sets of undirected edges; direction and repetition do not matter.

    recall = |found ∩ truth| / |truth|, precision = |found ∩ truth| / |found|, and
    F1 = 2 |found ∩ truth| / (|found| + |truth|), their harmonic mean.
    """
    found_pairs, true_pairs = _pairs(found), _pairs(truth)
    return _edge_metrics(len(found_pairs & true_pairs), len(found_pairs), len(true_pairs))


class MetricsObserver:
    """Observer that computes the metrics of a run incrementally, step by step.

    Parameters
    ----------
    start_model : PairwiseMRF
        The run's model without edges (``history.start``).
    test : DiscreteTable, optional
        Held-out rows with the codes of the training rows. A table that is read in chunks is
        evaluated once, at the end of the run.
    truth : int array, shape (k, 2), optional
        The true edges.

    Attributes
    ----------
    start : StepMetrics
        Metrics of the model without edges.
    """

    def __init__(
        self,
        start_model: PairwiseMRF,
        test: DiscreteTable | None = None,
        truth: np.ndarray | None = None,
    ) -> None:
        self._truth = None if truth is None else _pairs(truth)
        self._seen_steps = 0
        self._seen_activations = 0
        self._edges = 0
        self._hits = 0
        self._loss = None if test is None else TableLoss(start_model, test)
        self._loss_each_step = test is not None and test.has_rows
        self.start = self._measure(self._loss_each_step)

    def observe(self, step: Step) -> StepMetrics:
        """Return the metrics after `step`, which must not precede an observed step."""
        return self._process(step.history, step.index, self._loss_each_step)

    def observe_history(self, history: History) -> StepMetrics:
        """Return the metrics after all recorded steps; at the end, those of the polished model."""
        return self._process(history, len(history.counts), self._loss is not None)

    def _process(self, history: History, step: int, with_loss: bool) -> StepMetrics:
        """Process the recorded steps up to `step` that have not been processed yet."""
        if step < self._seen_steps:
            raise ValueError(f"step {step} lies before step {self._seen_steps}, already observed")
        count = history.counts[step - 1] if step else 0
        activated = history.activations[self._seen_activations : count]
        new_steps = slice(self._seen_steps, step)
        ids = [e for removed in history.removals[new_steps] for e in removed]
        removed = [history.activations[e] for e in ids]
        self._edges += len(activated) - len(removed)
        if self._truth is not None:
            self._hits += sum(pair in self._truth for pair in activated)
            self._hits -= sum(pair in self._truth for pair in removed)
        if self._loss is not None:
            self._loss.activate(activated)
            for changes in history.changes[new_steps]:
                self._loss.change_nodes(changes.nodes, changes.node_weights)
                self._loss.change_edges(changes.edges, changes.edge_weights)
            self._loss.remove_edges(np.array(ids, dtype=np.int64))
        self._seen_steps, self._seen_activations = step, count
        return self._measure(with_loss)

    def _measure(self, with_loss: bool) -> StepMetrics:
        edge_metrics = EdgeMetrics(None, None, None)
        if self._truth is not None:
            edge_metrics = _edge_metrics(self._hits, self._edges, len(self._truth))
        loss = None
        if self._loss is not None and with_loss:
            self._loss.refresh()
            loss = self._loss.mean()
        return StepMetrics(*edge_metrics, loss)


def _pairs(edges: Iterable[Iterable[int]]) -> set[tuple[int, int]]:
    pairs = edges if isinstance(edges, np.ndarray) else [tuple(edge) for edge in edges]
    return set(map(tuple, np.sort(np.reshape(pairs, (len(pairs), 2)), axis=1).tolist()))


def _edge_metrics(hits: int, found: int, true: int) -> EdgeMetrics:
    return EdgeMetrics(
        recall=hits / true if true else None,
        precision=hits / found if found else None,
        f1=2 * hits / (found + true) if found + true else None,
    )


class TableLoss:
    """Loss Σ_rows −log p(x_i | x_N(i)) of every node, updated as weights change."""

    def __init__(self, model: PairwiseMRF, table: DiscreteTable) -> None:
        self._table = table
        self._rows = table.total_weight
        self._cardinalities = model.cardinalities
        self._node_offsets = model.node_offsets.copy()
        self._node_weights = model.weights[: self._node_offsets[-1]].copy()
        # A copy, as activate creates a writable array, for which kernels are compiled separately.
        self._edges = np.array(model.edges)
        self._edge_offsets = model.edge_offsets - self._node_offsets[-1]
        self._edge_weights = model.weights[self._node_offsets[-1] :].copy()
        self._losses = np.zeros(model.n_variables)
        self._stale = np.ones(model.n_variables, dtype=np.bool_)

    def activate(self, activated: list[tuple[int, int]]) -> None:
        """Append edges with zero weights, which change no conditional yet."""
        if not activated:
            return
        new = np.array(activated, dtype=np.int64)
        sizes = self._cardinalities[new].prod(axis=1)
        ends = self._edge_offsets[-1] + np.cumsum(sizes)
        self._edges = np.concatenate([self._edges, new])
        self._edge_offsets = np.concatenate([self._edge_offsets, ends])
        self._edge_weights = np.concatenate([self._edge_weights, np.zeros(int(sizes.sum()))])

    def change_nodes(self, nodes: np.ndarray, weights: np.ndarray) -> None:
        """Set the weights of `nodes`, node after node."""
        self._node_weights[flat_positions(self._node_offsets, nodes)] = weights
        self._stale[nodes] = True

    def change_edges(self, edges: np.ndarray, weights: np.ndarray) -> None:
        """Set the weights of `edges` (ids, see History), edge after edge."""
        self._edge_weights[flat_positions(self._edge_offsets, edges)] = weights
        self._stale[self._edges[edges].reshape(-1)] = True

    def remove_edges(self, edges: np.ndarray) -> None:
        """Remove `edges` (ids) by setting their weights to zero."""
        self.change_edges(edges, np.zeros(len(flat_positions(self._edge_offsets, edges))))

    def refresh(self) -> None:
        """Compute the loss of the nodes whose conditional changed, chunk by chunk of the rows."""
        nodes = np.flatnonzero(self._stale)
        if len(nodes) == 0:
            return
        starts, incident = _incidence(self._edges, len(self._losses))
        self._losses[nodes] = 0.0
        for chunk in self._table.chunks():
            _add_node_losses(
                nodes,
                chunk.codes,
                _NO_WEIGHTS if chunk.weights is None else chunk.weights,
                self._cardinalities,
                self._node_offsets,
                self._node_weights,
                self._edges,
                self._edge_offsets,
                self._edge_weights,
                starts,
                incident,
                self._losses,
            )
        self._stale[:] = False

    def mean(self) -> float:
        """Return the loss per row, summed over nodes."""
        # fsum: the sum does not depend on the order in which the losses were computed.
        value = math.fsum(self._losses) / self._rows
        if math.isnan(value):
            raise ArithmeticError("The weights are so large that their sums overflow.")
        return value


def _incidence(edges: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``starts, incident``: node i has edges ``incident[starts[i]:starts[i + 1]]``."""
    ends = edges.ravel()
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    return starts, np.argsort(ends, kind="stable") >> 1


@njit(cache=True, nogil=True)
def _add_node_losses(
    nodes,
    codes,
    weights,
    cardinalities,
    node_offsets,
    node_weights,
    edges,
    edge_offsets,
    edge_weights,
    starts,
    incident,
    losses,
):
    """Add Σ_rows −log p(x_i | x_N(i)) to ``losses[i]`` for every i in `nodes`.

    Rows are processed in blocks; the logits of a block are stored state after state, so that loops
    over rows access contiguous memory. Without case weights, `weights` is empty.
    """
    rows = codes.shape[1]
    largest = 1
    for i in nodes:
        largest = max(largest, cardinalities[i])
    logits = np.empty((largest, _BLOCK))
    top = np.empty(_BLOCK)
    total = np.empty(_BLOCK)
    shifted = np.empty(_BLOCK)
    bits = np.empty(_BLOCK, dtype=np.int64)
    for i in nodes:
        states = cardinalities[i]
        loss = losses[i]  # continues the sum of the previous chunk
        for first in range(0, rows, _BLOCK):
            count = min(_BLOCK, rows - first)
            for a in range(states):
                logits[a, :count] = node_weights[node_offsets[i] + a]
            for at in range(starts[i], starts[i + 1]):
                e = incident[at]
                # Weights of an edge are row-major with its smaller node as the row.
                width = cardinalities[edges[e, 1]]
                if edges[e, 0] == i:
                    partner, own_stride, partner_stride = edges[e, 1], width, 1
                else:
                    partner, own_stride, partner_stride = edges[e, 0], 1, width
                seen = codes[partner]
                for a in range(states):
                    start = edge_offsets[e] + a * own_stride
                    for m in range(count):
                        logits[a, m] += edge_weights[start + seen[first + m] * partner_stride]
            for m in range(count):
                top[m] = logits[0, m]
            for a in range(1, states):
                for m in range(count):
                    top[m] = max(top[m], logits[a, m])
            total[:count] = 0.0
            for a in range(states):
                for m in range(count):
                    shifted[m] = logits[a, m] - top[m]
                exponentiate(shifted, bits, count)
                for m in range(count):
                    total[m] += shifted[m]
            product = 1.0
            for m in range(count):
                chosen = logits[codes[i, first + m], m]
                if chosen == -np.inf:
                    # Also if every state is impossible and log-sum-exp would be undefined.
                    loss = np.inf
                    break
                if len(weights) > 0:
                    loss += weights[first + m] * (top[m] - chosen + math.log(total[m]))
                    continue
                # Each total lies between 1 and the number of states: the product of 32 of them
                # cannot overflow, and one logarithm is enough for all.
                product *= total[m]
                loss += top[m] - chosen
                if m & 31 == 31:
                    loss += math.log(product)
                    product = 1.0
            if loss == np.inf:
                break
            loss += math.log(product)
        losses[i] = loss
