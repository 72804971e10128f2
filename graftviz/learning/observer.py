"""Metrics of every step of a run: recall, precision, F1 and held-out NLPL.

Metrics are computed from steps, outside the learner and its engine time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.likelihood import TableLoss, nlpl
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import History
from graftviz.learning.trace import HeldOut, Step
from graftviz.learning.weights.final_fit import independent_loss
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork
from graftviz.model.pairwise import PairwiseModel

_STRENGTH = 0.5  # λ₂ N of the second fit
_TOLERANCE = 0.3  # of the second fit, over √N
_MOST_STATES = 2_000_000  # rows × states up to which the graph is fitted again
_WORSE = 1.02  # ratio of losses above which a model predicts badly


class Quality(NamedTuple):
    """Mean negative log pseudo-likelihood of rows (NLPL), in nats per row; smaller is better.

    Attributes
    ----------
    nlpl : float
        Of the model.
    independent : float
        Of independent columns with the shares of the rows that the model was fitted to.
    refitted : float or None
        Of the graph of the model with weights that are fitted to the rows again and hardly shrunk
        (λ₂ = 0.5 / N); None for models of largest likelihood, for rows left out of the fit, and for
        large tables.
    rows : {"test", "left out", "training"}
        Held-out rows; parts of the training rows that were left out of fits of the final graph,
        each once; or all training rows, which a model predicts better than others.
    n_rows : float

    Examples
    --------
    >>> quality = result.quality
    >>> quality.rows, quality.nlpl < quality.independent
    ('left out', True)
    """

    nlpl: float
    independent: float
    refitted: float | None
    rows: Literal["test", "left out", "training"]
    n_rows: float

    @property
    def is_shrunk(self) -> bool:
        """Whether the same graph predicts clearly better with weights that are fitted again."""
        return self.refitted is not None and self.nlpl > _WORSE * self.refitted


def quality_of(
    model: PairwiseModel,
    table: DiscreteTable,
    test: DiscreteTable | None = None,
    held_out: HeldOut | None = None,
    *,
    loss: float,
    fits_again: bool = True,
) -> Quality:
    """Return how well a model of a table predicts held-out rows, or else those of the table.

    Parameters
    ----------
    model : PairwiseMRF
    table : DiscreteTable
        The rows that the model was learned from.
    test : DiscreteTable, optional
        Held-out rows.
    held_out : HeldOut, optional
        Loss of rows left out of fits of the same graph.
    loss : float
        Mean loss of the held-out rows, or else of those of the table.
    fits_again : bool
        Whether to fit the graph again, as its weights may be shrunk.
    """
    if test is None and held_out is not None:
        return Quality(held_out.nlpl, held_out.independent, None, "left out", held_out.rows)
    counts = PairCounts(table)
    rows = table if test is None else test
    independent = independent_loss(counts, counts if test is None else PairCounts(test))
    refitted = None
    is_small = int(table.cardinalities.sum()) * table.n_rows <= _MOST_STATES
    if fits_again and table.has_rows and is_small:
        refitted = nlpl(_fitted_again(model, table, counts), rows)
    kind: Literal["test", "training"] = "training" if test is None else "test"
    return Quality(loss, independent, refitted, kind, rows.total_weight)


def _fitted_again(model: PairwiseModel, table: DiscreteTable, counts: PairCounts) -> PairwiseModel:
    network = PseudoNetwork(table, counts)
    for i, j in model.edges.tolist():
        network.add_edge(i, j)
    penalty = Penalty(0.0, _STRENGTH / counts.n_rows, False, False)
    network.polish(penalty, tolerance=_TOLERANCE / np.sqrt(counts.n_rows))
    return network.model()


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
        start_model: PairwiseModel,
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
