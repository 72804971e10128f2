"""Whether another edge keeps the width of an elimination bounded.

The width of an order is an upper bound on the treewidth, and the order proves it. Whether a pair
may become an edge is asked in turn, cheapest question first:

1. Does the order in hand keep the bound with it? Only the scopes that the edge adds to are looked
   at; a pair that stands in a common clique needs no look at all.
2. Does a subgraph prove that no order does? Where every variable of a subgraph has more than τ
   neighbours in it, the treewidth is above τ, now and forever.
3. Does min-fill from scratch find an order that does? It takes no variable with too many
   neighbours, so that it either keeps the bound or is stuck.

What min-fill gives is an estimate: a pair that it refused may be accepted later.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.inference.exact.elimination import MIN_FILL, neighbour_lists
from graftviz.inference.exact.ordering import greedy_order

# What is known of a pair.
UNKNOWN, REFUSED, PROVED, TAKEN = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def keeps_width(place, starts, scopes, i, j, most, room, merged):
    """Return whether the order keeps a width of at most `most` with the edge (i, j).

    The later end joins the scope of the earlier one, and everything in a scope joins that of its
    first variable: so what is new goes along one way, until all of it is known where it arrives.

    Parameters
    ----------
    place, starts, scopes : int64 arrays
        See :class:`graftviz.inference.exact.elimination.Elimination`.
    i, j, most : int
    room, merged : int64 arrays, shape (n + 1,)
        Room to work in.
    """
    k, fresh = min(place[i], place[j]), 1
    room[0] = max(place[i], place[j])
    while True:
        # Both are ascending: the scope of k, and what is to join it.
        a, b, size, news = starts[k], 0, 0, 0
        while a < starts[k + 1] or b < fresh:
            if b == fresh or (a < starts[k + 1] and scopes[a] < room[b]):
                merged[size] = scopes[a]
                a += 1
            else:
                if a < starts[k + 1] and scopes[a] == room[b]:
                    a += 1
                else:
                    news += 1
                merged[size] = room[b]
                b += 1
            size += 1
        if news == 0:
            return True
        if size > most:
            return False
        k, fresh = merged[0], size - 1
        if fresh == 0:
            return True
        for at in range(fresh):
            room[at] = merged[at + 1]


@njit(cache=True, nogil=True)
def is_too_dense(edge_starts, neighbours, i, j, most, degree, queue):
    """Return whether a subgraph of the graph with edge (i, j) has all degrees above `most`.

    Parameters
    ----------
    edge_starts, neighbours : int64 arrays
        Neighbour lists of the graph without the edge.
    i, j, most : int
    degree, queue : int64 arrays, shape (n,)
        Room to work in.
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
    gone = 0
    while gone < waiting:
        k = queue[gone]
        gone += 1
        if k in (i, j):
            return False  # without it the graph is as it was, and that keeps the bound
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


@njit(cache=True, nogil=True)
def first_that_fits(firsts, seconds, known, edges, elimination, most, rechecks, found):
    """Return the first of ranked pairs with which an order of width at most `most` is known.

    Parameters
    ----------
    firsts, seconds : int64 arrays, shape (k,)
        Pairs i < j, best first.
    known : int8 array, shape (k,)
        UNKNOWN, or REFUSED by min-fill before; what is found out is written here.
    edges : int64 array, shape (m, 2)
    elimination : Elimination
        Of the graph as it is.
    most : int
    rechecks : int
        How many of the pairs refused before are asked min-fill about again; the order in hand is
        asked about every one.
    found : int64 array, shape (n,)
        Receives the order that min-fill found.

    Returns
    -------
    at : int
        Place of the pair in the ranking; -1 if none fits.
    by_min_fill : bool
        Whether `found` holds the order that shows it; else the order in hand does.
    looked : int
        How many pairs min-fill was asked about.
    """
    n = len(elimination.order)
    starts, neighbours = neighbour_lists(n, edges)
    room, merged = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    bits, ties = np.ones(n), np.zeros(n)
    with_edge = np.empty((len(edges) + 1, 2), dtype=np.int64)
    with_edge[: len(edges)] = edges
    looked = 0
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
            return at, False, looked
        if known[at] == REFUSED:
            if rechecks == 0:
                continue
            rechecks -= 1
        if is_too_dense(starts, neighbours, i, j, most, room[:n], merged[:n]):
            known[at] = PROVED
            continue
        looked += 1
        with_edge[len(edges)] = i, j
        grown_starts, grown = neighbour_lists(n, with_edge)
        done, order, _ = greedy_order(grown_starts, grown, bits, MIN_FILL, ties, most + 1.0)
        if done:
            found[:] = order
            return at, True, looked
        known[at] = REFUSED
    return -1, False, looked
