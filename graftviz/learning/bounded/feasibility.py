"""Feasibility of an edge under a bound on the width of an elimination.

The width of an order is an upper bound on the treewidth, and the order is the proof. A pair is
checked in three stages, the cheapest first:

1. Does the current order keep the bound with the edge? Only the scopes that grow are visited; a
   pair within a clique needs no check.
2. Does a subgraph prove that no order keeps it? If every variable of a subgraph has more than τ
   neighbours in it, the treewidth is above τ permanently.
3. Does min-fill from scratch find an order that keeps it? It eliminates no variable with too many
   neighbours, so it either keeps the bound or fails.

Min-fill is a heuristic: a pair that it refused may be accepted later.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.exact.elimination import neighbour_lists
from graftviz.inference.exact.ordering import MIN_FILL, greedy_order
from graftviz.utils.compiling import kernel

# Status of a pair.
UNKNOWN, REFUSED, PROVED, TAKEN = 0, 1, 2, 3


@kernel
def keeps_width(place, starts, scopes, i, j, most, joining, merged):
    """Return whether the order keeps a width of at most `most` with the edge (i, j).

    The later end joins the scope of the earlier one, and every scope is contained in that of its
    first variable: new members propagate along one path until a scope contains all of them.

    Parameters
    ----------
    place, starts, scopes : int64 arrays
        See :class:`graftviz.inference.exact.ordering.Elimination`.
    i, j, most : int
    joining, merged : int64 arrays, shape (n + 1,)
        Buffers.
    """
    k, joining_size = min(place[i], place[j]), 1
    joining[0] = max(place[i], place[j])
    while True:
        # Both are ascending: the scope of k and the variables that join it.
        a, b, size, added = starts[k], 0, 0, 0
        while a < starts[k + 1] or b < joining_size:
            if b == joining_size or (a < starts[k + 1] and scopes[a] < joining[b]):
                merged[size] = scopes[a]
                a += 1
            else:
                if a < starts[k + 1] and scopes[a] == joining[b]:
                    a += 1
                else:
                    added += 1
                merged[size] = joining[b]
                b += 1
            size += 1
        if added == 0:
            return True
        if size > most:
            return False
        k, joining_size = merged[0], size - 1
        if joining_size == 0:
            return True
        for at in range(joining_size):
            joining[at] = merged[at + 1]


@kernel
def is_too_dense(edge_starts, neighbours, i, j, most, degree, queue):
    """Return whether a subgraph of the graph with edge (i, j) has all degrees above `most`.

    Parameters
    ----------
    edge_starts, neighbours : int64 arrays
        Neighbour lists of the graph without the edge.
    i, j, most : int
    degree, queue : int64 arrays, shape (n,)
        Buffers.
    """
    n = len(edge_starts) - 1
    for k in range(n):
        degree[k] = edge_starts[k + 1] - edge_starts[k]
    degree[i] += 1
    degree[j] += 1
    waiting = 0
    for k in range(n):
        if degree[k] <= most:
            degree[k] = -1
            queue[waiting] = k
            waiting += 1
    removed = 0
    while removed < waiting:
        k = queue[removed]
        removed += 1
        if k in (i, j):
            return False  # the graph without the edge keeps the bound
        for at in range(edge_starts[k], edge_starts[k + 1]):
            other = neighbours[at]
            if degree[other] < 0:
                continue
            degree[other] -= 1
            if degree[other] <= most:
                degree[other] = -1
                queue[waiting] = other
                waiting += 1
    return waiting < n


@kernel
def first_feasible(firsts, seconds, status, edges, elimination, most, rechecks):
    """Return the first of ranked pairs with which an order of width at most `most` is found.

    Parameters
    ----------
    firsts, seconds : int64 arrays, shape (k,)
        Pairs i < j, best first.
    status : int8 array, shape (k,)
        UNKNOWN, or REFUSED by min-fill before; updated in place.
    edges : int64 array, shape (m, 2)
    elimination : Elimination
        Elimination of the current graph.
    most : int
    rechecks : int
        Number of refused pairs that are checked with min-fill again; the current order is checked
        for every pair.

    Returns
    -------
    int
        Position of the pair in the ranking; -1 if none is feasible.
    """
    n = len(elimination.order)
    starts, neighbours = neighbour_lists(n, edges)
    room, merged = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    bits, ties = np.ones(n), np.zeros(n)
    with_edge = np.empty((len(edges) + 1, 2), dtype=np.int64)
    for e in range(len(edges)):
        with_edge[e, 0], with_edge[e, 1] = edges[e, 0], edges[e, 1]
    for at in range(len(firsts)):
        i, j = firsts[at], seconds[at]
        if keeps_width(
            elimination.place,
            elimination.starts,
            elimination.scopes,
            i,
            j,
            most,
            room,
            merged,
        ):
            return at
        if status[at] == REFUSED:
            if rechecks == 0:
                continue
            rechecks -= 1
        if is_too_dense(starts, neighbours, i, j, most, room[:n], merged[:n]):
            status[at] = PROVED
            continue
        with_edge[len(edges)] = i, j
        grown_starts, grown = neighbour_lists(n, with_edge)
        if greedy_order(grown_starts, grown, bits, np.int64(MIN_FILL), ties, most + 1.0)[0]:
            return at
        status[at] = REFUSED
    return -1
