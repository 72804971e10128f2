"""How well a model predicts rows, beside independent columns and the same graph fitted again."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.likelihood import nlpl
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.trace import HeldOut
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
    counts = PairCounts(table)
    rows = table if test is None else test
    if test is None and held_out is not None:
        return Quality(held_out.nlpl, held_out.independent, None, "left out", held_out.rows)
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
