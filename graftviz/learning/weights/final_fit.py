"""Weights of a finished structure: exact likelihood, and the strength of penalties by folds.

The pseudo-likelihood of a model may be the largest although its marginals are not those of the
data, as where several columns are copies of each other. The likelihood has no such gap.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.exact.ordering import WEIGHTED_FILL, Elimination, greedy_elimination
from graftviz.learning.bounded.clique_tables import EdgePenalty
from graftviz.learning.bounded.likelihood_fit import Fitted, LikelihoodFit, Targets
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.trace import HeldOut
from graftviz.learning.weights.merged_rows import merged_rows
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork

STRENGTHS = (8.0, 2.0, 0.5, 0.1, 0.02)  # λ₂ N that are tried
USUAL_STRENGTH = 0.5  # first, and with too few rows to choose
_ROUGH_TOLERANCE = 1e-4  # of the marginals of a fit that is compared with others
_TOLERANCE = 1e-6  # of the final fit
FEWEST_ROWS = 30  # from which penalties can be compared
_MANY_ROWS = 1000  # from here on one part of the rows is left out, else each of them once
_PARTS = 3
_SHARE_OF_NOISE = 0.3  # tolerance of a fit by rows over 1 / √N
_MOST_CELLS = 1_000_000  # distinct rows × variables up to which strengths are compared
_MOST_UNITS = 1_000_000  # into which the rows are divided
_ROUNDING = 1e-9
_HALF_A_ROW = 0.5  # for the states that only rows left out have
_LEAST_WORK = 5_000_000  # table entries that a pass over all cliques may process in any case
_MOST_WORK = 100_000_000
_MOST_PAIR_WORK = 500_000_000  # table entries that the marginals of all pairs may need
_MOST_ENTRIES = 10_000_000  # of the tables of all cliques, for a few passes
_SMOOTHED = 0.5  # rows added to the count of each state
_CHEAP_WORK = 200_000  # up to which penalties are compared by exact fits too


class ExactFit(NamedTuple):
    """Weights of largest likelihood of one structure.

    Attributes
    ----------
    fit : LikelihoodFit
    fitted : Fitted
    is_cheap : bool
        Whether many fits of this structure take little time.
    """

    fit: LikelihoodFit
    fitted: Fitted
    is_cheap: bool

    def refined(self, lam2: float) -> ExactFit:
        """Return the tight fit with another λ₂, from these weights on."""
        self.fit.penalty = EdgePenalty(lam2)
        return self._replace(fitted=self.fit.fit(_TOLERANCE))


def exact_fit(
    counts: PairCounts,
    edges: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    *,
    lam2: float,
    distinct: int,
    at_any_cost: bool = False,
) -> ExactFit | None:
    """Return the weights of largest likelihood, roughly; None if exact inference costs too much.

    A pass over all cliques may cost as much as one over the distinct rows of the table, or five
    million table entries; with `at_any_cost` it must only fit into memory.

    Parameters
    ----------
    counts : PairCounts
    edges : int array, shape (m, 2)
        Pairs i < j.
    start : tuple of float64 arrays, flat
        Node and edge weights to start from.
    lam2 : float
        λ₂ of the edge weights; node weights are not penalised.
    distinct : int
        Number of distinct rows of the table.
    """
    sizes = counts.cardinalities.astype(np.int64)
    most = max(_LEAST_WORK, distinct * int(sizes.sum()))
    most = _MOST_WORK if at_any_cost else min(most, _MOST_WORK)
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = greedy_elimination(edges, sizes, WEIGHTED_FILL, most=float(np.log2(most)))
    work = np.inf if found is None else _work(found, edges)
    if found is None or work > most:
        return None
    if not at_any_cost and float(found.clique_sizes.sum()) * int(sizes.sum()) > _MOST_PAIR_WORK:
        return None
    fit = LikelihoodFit(Targets(counts, 0.0), EdgePenalty(lam2))
    fit.begin(edges, found, *start)
    return ExactFit(fit, fit.fit(_ROUGH_TOLERANCE), work <= _CHEAP_WORK)


def exact_marginals(
    counts: PairCounts, edges: np.ndarray, weights: tuple[np.ndarray, np.ndarray]
) -> LikelihoodFit | None:
    """Return the exact marginals at given weights; None if their tables are large.

    They may be larger than those of :func:`exact_fit`, as a few passes suffice.
    """
    sizes = counts.cardinalities.astype(np.int64)
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = greedy_elimination(edges, sizes, WEIGHTED_FILL, most=float(np.log2(_MOST_ENTRIES)))
    if found is None or found.clique_sizes.sum() > _MOST_ENTRIES:
        return None
    fit = LikelihoodFit(Targets(counts, 0.0))
    fit.begin(edges, found, *weights)
    return fit


Weights = tuple[np.ndarray, np.ndarray, np.ndarray]  # of nodes, flat; edges; their weights, flat


class _Part(NamedTuple):
    """Rows that are fitted and rows that are left out, with their counts."""

    kept: tuple[DiscreteTable, PairCounts]
    left_out: tuple[DiscreteTable, PairCounts]


class Fold(ABC):
    """Fits of a structure to a part of the rows, and their loss on the others."""

    def __init__(self, part: _Part) -> None:
        self._part = part
        self.rows = part.left_out[1].n_rows
        self._fits: dict[Penalty, Weights] = {}

    @functools.cached_property
    def _left_out(self) -> PseudoNetwork:
        return PseudoNetwork(*self._part.left_out)

    @abstractmethod
    def fitted(self, penalty: Penalty) -> Weights:
        """Fit the weights to the rows that are not left out."""

    def loss(self, penalty: Penalty) -> float:
        """Return the loss of the rows left out by which penalties are compared, in nats."""
        return self.nlpl(penalty)

    def nlpl(self, penalty: Penalty) -> float:
        """Return the sum of −Σ_i log p(x_i | rest) over the rows left out."""
        if penalty not in self._fits:
            self._fits[penalty] = self.fitted(penalty)
        self._left_out.follow(*self._fits[penalty])
        free = penalty._replace(lam=0.0, lam2=0.0)
        return self._left_out.evaluate(free).objective * self.rows

    def independent(self) -> float:
        """Return the sum of −Σ_i log p(x_i) over the rows left out, by independent columns."""
        return independent_loss(self._part.kept[1], self._part.left_out[1]) * self.rows


class _ExactFold(Fold):
    """Fold of the exact likelihood, which uses λ₂ of the penalty alone."""

    def __init__(self, part: _Part, whole: LikelihoodFit) -> None:
        super().__init__(part)
        self._targets = Targets(part.left_out[1], 0.0)
        kept = part.kept[1]
        self._fit = LikelihoodFit(Targets(kept, 0.0, unseen=_HALF_A_ROW / kept.n_rows))
        self._fit.begin(whole.edges, whole.elimination, whole.node_weights, whole.edge_weights)

    def fitted(self, penalty: Penalty) -> Weights:
        self._fit.penalty = EdgePenalty(penalty.lam2)
        self._fit.fit(_ROUGH_TOLERANCE)
        return self._fit.node_weights.copy(), self._fit.edges, self._fit.edge_weights.copy()

    def loss(self, penalty: Penalty) -> float:
        self._fits[penalty] = self.fitted(penalty)
        return self._fit.loss(self._targets) * self.rows


class _FoldByRows(Fold):
    """Fold of the pseudo-likelihood."""

    def __init__(self, part: _Part, start: Weights) -> None:
        super().__init__(part)
        self._kept = PseudoNetwork(*part.kept)
        self._kept.follow(*start)
        self._tolerance = _SHARE_OF_NOISE / np.sqrt(part.kept[1].n_rows)

    def fitted(self, penalty: Penalty) -> Weights:
        self._kept.polish(penalty, tolerance=self._tolerance)
        nodes, weights = self._kept.weights_of(np.arange(self._kept.n_edges))
        return nodes, self._kept.edges, weights


class Folds:
    """Partition of the rows of a table by which structures and penalties are compared.

    With many rows one part is left out, else each of three once.

    Parameters
    ----------
    table : DiscreteTable
    distinct : int
        Number of its distinct rows.
    seed : int
        Seed of the partition.
    """

    def __init__(self, table: DiscreteTable, distinct: int, seed: int) -> None:
        self._table, self._seed = table, seed
        self._cells = distinct * table.n_variables

    @property
    def can_choose(self) -> bool:
        """Whether there are enough rows to compare, and not too many for the time it takes."""
        return self._table.total_weight >= FEWEST_ROWS and self._cells <= _MOST_CELLS

    def exact(self, whole: LikelihoodFit) -> Sequence[Fold]:
        """Return the folds of the exact likelihood of a structure fitted to all rows."""
        return [_ExactFold(part, whole) for part in self._parts]

    def by_rows(self, nodes: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> Sequence[Fold]:
        """Return the folds of the pseudo-likelihood of a structure with weights to start from."""
        return [_FoldByRows(part, (nodes, edges, weights)) for part in self._parts]

    @functools.cached_property
    def _parts(self) -> list[_Part]:
        several = self._table.total_weight < _MANY_ROWS
        tables = _parts(self._table, self._seed)[: None if several else 1]
        return [_Part(*((table, PairCounts(table)) for table in pair)) for pair in tables]


class Chosen(NamedTuple):
    """Penalty that predicts the rows left out best.

    Attributes
    ----------
    penalty : Penalty
    loss : float
        Of the rows left out, in nats.
    folds : sequence of Fold
    """

    penalty: Penalty
    loss: float
    folds: Sequence[Fold]

    def nlpl(self) -> HeldOut:
        """Return the mean negative log pseudo-likelihood of the rows left out."""
        rows = sum(fold.rows for fold in self.folds)
        own = sum(fold.nlpl(self.penalty) for fold in self.folds) / rows
        return HeldOut(own, sum(fold.independent() for fold in self.folds) / rows, rows)


def best_penalty(folds: Sequence[Fold], penalties: Sequence[Penalty], first: int) -> Chosen:
    """Return the best of penalties in the order of their strength, found from the `first` on."""
    losses: dict[int, float] = {}

    def loss(at: int) -> float:
        if not 0 <= at < len(penalties):
            return np.inf
        if at not in losses:
            losses[at] = sum(fold.loss(penalties[at]) for fold in folds)
        return losses[at]

    at = first
    direction = 1 if loss(at + 1) < loss(at) else -1
    while loss(at + direction) < loss(at):
        at += direction
    return Chosen(penalties[at], losses[at], folds)


def independent_loss(training: PairCounts, rows: PairCounts) -> float:
    """Return the mean loss of rows by independent columns with the shares of training rows."""
    starts, sizes = training.packed.node_offsets[:-1], training.cardinalities
    smoothed = training.packed.margins + _SMOOTHED
    shares = smoothed / np.repeat(np.add.reduceat(smoothed, starts), sizes)
    return -float(rows.packed.margins @ np.log(shares)) / rows.n_rows


def _parts(table: DiscreteTable, seed: int) -> list[tuple[DiscreteTable, DiscreteTable]]:
    """Return partitions of the rows into those that are kept and those that are left out.

    A row with a weight counts as so many rows, whole or not, so a table and its repeated rows have
    the same partitions.
    """
    codes, multiplicity = merged_rows(np.ascontiguousarray(table.codes), table.weights)
    weights = multiplicity.astype(np.float64)
    units = min(int(np.ceil(weights.sum())), _MOST_UNITS)
    part = np.random.default_rng(seed).permutation(units) % _PARTS
    bounds = np.concatenate([[0.0], np.cumsum(weights)])
    at = np.linspace(0.0, bounds[-1], units + 1)
    found = []
    for k in range(_PARTS):
        inside = np.concatenate([[0.0], np.cumsum(np.where(part == k, np.diff(at), 0.0))])
        out = np.diff(np.interp(bounds, at, inside))
        sides = (np.where(side > _ROUNDING * weights, side, 0.0) for side in (weights - out, out))
        kept, left_out = (
            DiscreteTable(
                np.ascontiguousarray(codes[:, side > 0.0]),
                table.names,
                table.labels,
                weights=side[side > 0.0],
            )
            for side in sides
        )
        found.append((kept, left_out))
    return found


def _work(found: Elimination, edges: np.ndarray) -> float:
    """Return the number of table entries that a pass with all edges processes."""
    own = np.bincount(found.place[edges].min(axis=1), minlength=len(found.order))
    return float(((own + 2.0) * found.clique_sizes).sum())
