"""Elimination of a graph given by its edges and numbers of states."""

from __future__ import annotations

import numpy as np

from graftviz.inference.exact.ordering import MIN_FILL, Elimination, eliminate, greedy_order
from graftviz.utils.compiling import kernel


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


def junction_tree_of(
    n: int, edges: np.ndarray, order: np.ndarray
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the junction tree of an elimination order (a forest if the graph is disconnected).

    Parameters
    ----------
    n : int
        Number of variables.
    edges : int array, shape (m, 2)
    order : int array, shape (n,)
        A permutation of the variables.

    Returns
    -------
    cliques : tuple of int32 arrays
        Maximal cliques of the triangulated graph, each ascending. A variable without edges forms
        its own clique.
    links : int32 array, shape (k, 2)
        Pairs of cliques (by index) that are adjacent in the tree. Cliques with a common variable
        are connected through cliques with that variable.
    """
    found = eliminated(edges.astype(np.int64), np.full(n, 2), order)
    members: list[set[int]] = []
    links: list[tuple[int, int]] = []
    clique_at = [-1] * n  # clique that contains each variable and its scope, by position
    # In reverse order, the clique of the first variable of a scope exists already. Either it equals
    # the scope, and the variable is added to it, or a new clique becomes its child.
    for k in range(n - 1, -1, -1):
        scope = set(found.order[found.scope(k)].tolist())
        parent, variable = int(found.parent[k]), int(found.order[k])
        if parent >= 0 and members[clique_at[parent]] == scope:
            clique_at[k] = clique_at[parent]
            members[clique_at[k]].add(variable)
            continue
        clique_at[k] = len(members)
        members.append(scope | {variable})
        if parent >= 0:
            links.append((clique_at[parent], clique_at[k]))
    cliques = tuple(np.array(sorted(clique), dtype=np.int32) for clique in members)
    return cliques, np.array(links, dtype=np.int32).reshape(-1, 2)


@kernel
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
