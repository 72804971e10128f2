"""Elimination of a graph given by its edges and numbers of states."""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.inference.exact.ordering import MIN_FILL, Elimination, eliminate, greedy_order


def eliminated(edges: np.ndarray, cardinalities: np.ndarray, order: np.ndarray) -> Elimination:
    """Return the elimination of a graph in the given order.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    order : int64 array, shape (n,)
    """
    starts, neighbours = neighbour_lists(len(cardinalities), edges)
    order = np.array(order, dtype=np.int64)
    sizes = cardinalities.astype(np.float64)
    return Elimination(order, *eliminate(order, starts, neighbours, sizes, np.inf)[1:])


def greedy_elimination(
    edges: np.ndarray, cardinalities: np.ndarray, kind: int = MIN_FILL, most: float = np.inf
) -> Elimination | None:
    """Return a greedy elimination.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    kind : int
        MIN_FILL ignores numbers of states; WEIGHTED_FILL and MIN_WEIGHT use them.
    most : float
        Largest width; None is returned if the order exceeds it.
    """
    n = len(cardinalities)
    starts, neighbours = neighbour_lists(n, edges)
    sizes = np.full(n, 2) if kind == MIN_FILL else cardinalities
    bits = np.log2(sizes.astype(np.float64))
    done, order, _ = greedy_order(starts, neighbours, bits, kind, np.zeros(n), most + 1.0)
    return eliminated(edges, cardinalities, order) if done else None


@njit(cache=True, nogil=True)
def neighbour_lists(n, edges):
    """Return compressed neighbour lists of a graph."""
    starts = np.zeros(n + 1, dtype=np.int64)
    for e in range(len(edges)):
        starts[edges[e, 0] + 1] += 1
        starts[edges[e, 1] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    free = starts[:n].copy()
    neighbours = np.empty(2 * len(edges), dtype=np.int64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        neighbours[free[i]] = j
        neighbours[free[j]] = i
        free[i] += 1
        free[j] += 1
    return starts, neighbours
