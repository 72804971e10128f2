"""Elimination of a graph given by its edges and numbers of states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.inference.exact.ordering import eliminate, greedy_order

MIN_FILL, WEIGHTED_FILL, MIN_WEIGHT = 0, 1, 2


class Elimination(NamedTuple):
    """Elimination order of a graph with the resulting scopes, by place.

    Attributes
    ----------
    order, place : int64 arrays, shape (n,)
    starts, scopes, parent : int64 arrays
        See :class:`graftviz.inference.exact.ordering.Scopes`.
    clique_sizes : float64 array, shape (n,)
    """

    order: np.ndarray
    place: np.ndarray
    starts: np.ndarray
    scopes: np.ndarray
    parent: np.ndarray
    clique_sizes: np.ndarray

    @property
    def width(self) -> int:
        """Number of variables of the largest scope."""
        return int(np.diff(self.starts).max())

    @property
    def entries(self) -> float:
        """Total number of entries of all cliques."""
        return float(self.clique_sizes.sum())

    def operations(self, cardinalities: np.ndarray, edges: np.ndarray) -> float:
        """Return the size of the arithmetic circuit of the elimination.

        Its nodes are the additions and multiplications of two numbers that compute Z. A clique of
        C joint states, whose variable has s states, multiplies its f factors (the node potential,
        the potentials of edges to variables eliminated later, and the messages it receives) entry
        by entry with (f − 1) C multiplications, and sums the variable out with C − C / s additions.
        The results of the connected components are multiplied at the end.

        Parameters
        ----------
        cardinalities : int64 array, shape (n,)
        edges : int64 array, shape (m, 2)
        """
        n = len(self.order)
        owners = self.place[edges].min(axis=1)
        targets = self.parent[self.parent >= 0]
        factors = np.bincount(owners, minlength=n) + np.bincount(targets, minlength=n)
        sizes, states = self.clique_sizes, cardinalities[self.order]
        roots = int(np.count_nonzero(self.parent < 0))
        return float((factors * sizes + sizes - sizes / states).sum()) + roots - 1


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
    _, begins, scopes, parent, clique_sizes = eliminate(order, starts, neighbours, sizes, np.inf)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Elimination(order, place, begins, scopes, parent, clique_sizes)


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
