"""Facts on a whole model for queries: influences, their limits, and a query with a small bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from graftviz.inference.local.influence import dobrushin_coefficient, influence_matrix
from graftviz.inference.local.marginal import grow_region
from graftviz.model.pairwise import PairwiseModel

_LEVELS = 255
_FAINTEST = 1e-4  # smallest influence that is drawn
_MOST_TERMS = 60
_TRIED, _SEEN = 12, 8  # variables tried for a first query, nodes in the region of each
_STRONGEST = 1e6  # stands for the norm of edges with zero potentials


class Influence(NamedTuple):
    """Dobrushin's matrix of a model, and c, its largest row sum."""

    matrix: sparse.csr_array
    coefficient: float

    def reach(self, query: int) -> np.ndarray | None:
        """Return the query's row of D = Σ_r C^r, shape (n,); None if c ≥ 1 (no convergence)."""
        if self.coefficient >= 1.0:
            return None
        transposed = self.matrix.T
        term = np.zeros(transposed.shape[0])
        term[query] = 1.0
        total = term.copy()
        for _ in range(_MOST_TERMS):
            term = transposed @ term
            total += term
            if term.max() < _FAINTEST:
                break
        return total

    def halo(self, query: int) -> list[int] | None:
        """Return 0 … 255 for every variable, on a logarithmic scale; None if c ≥ 1."""
        reached = self.reach(query)
        if reached is None:
            return None
        with np.errstate(divide="ignore"):
            height = 1.0 - np.log(np.minimum(reached, 1.0)) / math.log(_FAINTEST)
        levels: list[int] = np.rint(_LEVELS * np.clip(height, 0.0, 1.0)).astype(int).tolist()
        return levels


def influence_of(model: PairwiseModel) -> Influence:
    """Return the influence of the variables of a model on each other."""
    matrix = influence_matrix(model)
    return Influence(matrix, float(matrix.sum(axis=1).max()))


def coefficient_map(
    model: PairwiseModel, fields: Sequence[float], couplings: Sequence[float]
) -> Iterator[list[list[float]]]:
    """Compute c for multiples of the node weights (columns) and of the edge weights (rows).

    Yields the complete rows so far, and the map at the end.
    """
    nodes, edges = np.split(model.weights, [int(model.node_offsets[-1])])
    rows: list[list[float]] = []
    for t2 in couplings:
        row = []
        for t1 in fields:
            scaled = replace(model, weights=np.concatenate([t1 * nodes, t2 * edges]))
            row.append(round(dobrushin_coefficient(scaled), 4))
            yield rows
        rows.append(row)
    yield rows


def promising_query(model: PairwiseModel) -> int:
    """Return a variable for which a small region gives a small bound.

    Of some variables with weak edges, but two of them at least, the one whose bound gets smallest:
    around hubs there is nothing to see.
    """
    degrees = model.degrees()
    norms = np.repeat(np.minimum(model.edge_norms(), _STRONGEST), 2)
    pulls = np.bincount(model.edges.reshape(-1), norms, minlength=len(degrees))
    weakest = np.argsort(np.where(degrees >= min(2, degrees.max()), pulls, np.inf), kind="stable")

    def smallest_bound(query: int) -> float:
        return min(step.bound for step in grow_region(model, query, tolerance=0.0, max_size=_SEEN))

    return min((int(i) for i in weakest[:_TRIED]), key=smallest_bound)
