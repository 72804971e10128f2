"""An elimination of a graph that grows edge by edge, by edges and numbers of states alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.inference.exact.ordering import eliminate, greedy_order

MIN_FILL, WEIGHTED_FILL, MIN_WEIGHT = 0, 1, 2


class Elimination(NamedTuple):
    """An elimination order of a graph and what it joins, by place.

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
        """Variables of the largest scope."""
        return int(np.diff(self.starts).max())

    @property
    def entries(self) -> float:
        """Entries of all cliques together."""
        return float(self.clique_sizes.sum())

    def operations(self, cardinalities: np.ndarray, edges: np.ndarray) -> float:
        """Return the size of the arithmetic circuit that the elimination traces.

        Its nodes are the additions and multiplications of two numbers that compute Z. A clique of
        C joint states, of a variable with s states, multiplies its f factors (the variable's own,
        those of its edges to variables eliminated later, and the messages it receives) entry by
        entry, which takes (f − 1) C multiplications, and sums the variable out, which takes
        C − C / s additions. Components are multiplied at the end.

        Parameters
        ----------
        cardinalities : int64 array, shape (n,)
        edges : int64 array, shape (m, 2)
        """
        n = len(self.order)
        owners = self.place[edges].min(axis=1)
        heard = self.parent[self.parent >= 0]
        factors = np.bincount(owners, minlength=n) + np.bincount(heard, minlength=n)
        sizes, states = self.clique_sizes, cardinalities[self.order]
        roots = int(np.count_nonzero(self.parent < 0))
        return float((factors * sizes + sizes - sizes / states).sum()) + roots - 1


def eliminated(edges: np.ndarray, cardinalities: np.ndarray, order: np.ndarray) -> Elimination:
    """Return what eliminating a graph in this order joins.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    order : int64 array, shape (n,)
    """
    starts, neighbours = neighbour_lists(len(cardinalities), edges)
    order = np.ascontiguousarray(order, dtype=np.int64)
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
        MIN_FILL counts variables; the others look at their numbers of states.
    most : float
        Largest width; None is returned where the order gets stuck above it.
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
