"""Exact maximum likelihood of a finished structure, and the marginals of all its pairs.

The pseudo-likelihood of a model may be the largest although its marginals are not those of the
data, as where several columns are copies of each other. The likelihood has no such gap.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.fitting.likelihood_fit import Fitted, LikelihoodFit, Targets
from graftviz.fitting.merged_rows import merged_rows
from graftviz.fitting.proportional import EdgePenalty
from graftviz.inference.exact.elimination import greedy_elimination
from graftviz.inference.exact.ordering import WEIGHTED_FILL, Elimination
from graftviz.table import DiscreteTable

_LEAST_WORK = 200_000  # table entries that a pass over all cliques may process in any case
_STRENGTHS = (2.0, 0.5, 0.1, 0.02)  # λ₂ N that are tried
_USUAL_STRENGTH = 0.5  # with too few rows to choose
_FEWEST_ROWS = 30
_PARTS = 3  # of the rows, each left out once
_MOST_UNITS = 1_000_000  # into which the rows are divided
_ROUNDING = 1e-9
_ROUGH_TOLERANCE = 1e-4
_MOST_WORK = 100_000_000
_EXCLUDED = -80.0  # added weight that makes a state impossible up to rounding errors
_TOLERANCE = 1e-6  # of the marginals of a fit


class ExactFit(NamedTuple):
    """Weights of largest likelihood of one structure.

    Attributes
    ----------
    fit : LikelihoodFit
    fitted : Fitted
    """

    fit: LikelihoodFit
    fitted: Fitted

    def pair_marginals(self) -> np.ndarray:
        """Return p(x_i = a, x_j = b), shape (Σ s_i, Σ s_j), variables in order.

        One pass over the cliques for each state of each variable, which excludes its other states.
        """
        fit, offsets = self.fit, self.fit.targets.offsets
        weights, beliefs = fit.node_weights, fit.beliefs()
        found = np.zeros((len(beliefs), len(beliefs)))
        for first, last in itertools.pairwise(offsets.tolist()):
            for state in range(first, last):
                fit.node_weights = weights.copy()
                fit.node_weights[first:last] += _EXCLUDED
                fit.node_weights[state] = weights[state]
                fit.calibrate()
                found[state] = beliefs[state] * fit.beliefs()
        fit.node_weights = weights
        fit.calibrate()
        return found


def exact_fit(
    table: DiscreteTable,
    counts: PairCounts,
    edges: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    *,
    lam2: float | None,
    seed: int,
    at_any_cost: bool = False,
) -> ExactFit | None:
    """Return the weights of largest likelihood; None if exact inference costs too much.

    A pass over all cliques may cost as much as one over the rows of the table; with `at_any_cost`
    it must only fit into memory.

    Parameters
    ----------
    table : DiscreteTable
    counts : PairCounts
        Of the table.
    edges : int array, shape (m, 2)
        Pairs i < j.
    start : tuple of float64 arrays, flat
        Node and edge weights to start from.
    lam2 : float, optional
        λ₂ of the edge weights; node weights are not penalised. Default: what predicts rows that
        are left out best, of 2, 0.5, 0.1 and 0.02 over the number of rows.
    seed : int
        Seed of the partition of the rows.
    """
    sizes = counts.cardinalities.astype(np.int64)
    most = max(_LEAST_WORK, int(counts.n_rows) * int(sizes.sum()))
    most = _MOST_WORK if at_any_cost else min(most, _MOST_WORK)
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = greedy_elimination(edges, sizes, WEIGHTED_FILL, most=float(np.log2(most)))
    if found is None or _work(found, edges) > most:
        return None
    fit = LikelihoodFit(Targets(counts, 0.0))
    fit.begin(edges, found, *start)
    if lam2 is None:
        lam2 = _best_strength(table, fit, seed) / counts.n_rows
    fit.penalty = EdgePenalty(lam2)
    return ExactFit(fit, fit.fit(_TOLERANCE))


def _best_strength(table: DiscreteTable, whole: LikelihoodFit, seed: int) -> float:
    """Return λ₂ N with the smallest loss on rows that are left out."""
    if table.total_weight < _FEWEST_ROWS or len(whole.edges) == 0:
        return _USUAL_STRENGTH
    losses = np.zeros(len(_STRENGTHS))
    parts = _parts(table, seed)
    for k in range(_PARTS):
        kept, left_out = (PairCounts(part) for part in parts[k])
        targets = Targets(left_out, 0.0)
        fit = LikelihoodFit(Targets(kept, 0.0))
        fit.begin(whole.edges, whole.elimination, whole.node_weights, whole.edge_weights)
        for at, strength in enumerate(_STRENGTHS):
            fit.penalty = EdgePenalty(strength / kept.n_rows)
            fit.fit(_ROUGH_TOLERANCE)
            losses[at] += fit.loss(targets) * left_out.n_rows
    return _STRENGTHS[int(np.argmin(losses))]


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
