"""Facts on the nodes and edges of a model and on its marginals. Logarithms are natural."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from graftviz.model.pairwise import PairwiseModel

_EQUAL = 1e-9  # largest distance of marginals that counts as rounding


def degree_ranks(model: PairwiseModel) -> np.ndarray:
    """Return the rank of every node by degree, 1 for the largest; ties share the better rank."""
    degrees = model.degrees()
    return 1 + np.searchsorted(np.sort(-degrees), -degrees, side="left")


def degree_counts(model: PairwiseModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees that occur, ascending, and the number of nodes with each."""
    return np.unique(model.degrees(), return_counts=True)


def strongest_partners(model: PairwiseModel, strengths: np.ndarray | None = None) -> np.ndarray:
    """Return the edge of every node with the largest strength, int64, shape (n,); −1 for none.

    Parameters
    ----------
    model : PairwiseMRF
    strengths : array, shape (m,), optional
        By default the zero-sum norm ‖w_ij‖₂.
    """
    strengths = model.edge_norms() if strengths is None else strengths
    best = np.full(model.n_variables, -1, dtype=np.int64)
    # Later assignments overwrite: the strongest edges come last, the first of ties after others.
    for e in np.lexsort((-np.arange(len(strengths)), strengths)):
        best[model.edges[e]] = e
    return best


def entropies(marginals: Sequence[np.ndarray]) -> np.ndarray:
    """Return −Σ p log p of every marginal, shape (n,)."""
    return _sums(marginals, entr(np.concatenate([np.zeros(0), *marginals])))


def total_variations(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> np.ndarray:
    """Return ½ Σ |p − q| between two lists of marginals, shape (n,): 0 equal, 1 disjoint."""
    gaps = np.abs(np.concatenate([np.zeros(0), *before]) - np.concatenate([np.zeros(0), *after]))
    return 0.5 * _sums(before, gaps)


class Change(NamedTuple):
    """State of a node whose probability changed most, and this probability before and after."""

    node: int
    state: int
    before: float
    after: float


def changes_by_size(
    before: Sequence[np.ndarray], after: Sequence[np.ndarray], observed: Collection[int] = ()
) -> list[Change]:
    """Return the nodes whose marginals differ, most changed first, without the observed ones."""
    size = total_variations(before, after)
    changes = []
    for i in np.argsort(-size, kind="stable").tolist():
        if i not in observed and size[i] > _EQUAL:
            k = int(np.argmax(np.abs(after[i] - before[i])))
            changes.append(Change(i, k, float(before[i][k]), float(after[i][k])))
    return changes


def mutual_informations(pairs: Sequence[np.ndarray]) -> np.ndarray:
    """Return Σ p(x,y) log p(x,y) / (p(x) p(y)) of every pair marginal, shape (m,), at least 0."""
    result = np.zeros(len(pairs))
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for e, pair in enumerate(pairs):
        by_shape.setdefault(pair.shape, []).append(e)
    for members in by_shape.values():
        stacked = np.stack([pairs[e] for e in members])
        rows = entr(stacked.sum(axis=2)).sum(axis=1)
        columns = entr(stacked.sum(axis=1)).sum(axis=1)
        result[members] = rows + columns - entr(stacked).sum(axis=(1, 2))
    return np.maximum(result, 0.0)


def deviation_from_independence(pair: np.ndarray) -> np.ndarray:
    """Return p(x,y) − p(x) p(y), shape (s_i, s_j); positive if x and y occur together."""
    deviation: np.ndarray = pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))
    return deviation


def _sums(parts: Sequence[np.ndarray], flat: np.ndarray) -> np.ndarray:
    """Return the sum of `flat` over every part; no part is empty."""
    starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
    sums: np.ndarray = np.add.reduceat(flat, starts) if len(parts) else np.zeros(0)
    return sums
