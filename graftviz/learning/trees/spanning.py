"""Maximum spanning forest of mutual information: Kruskal's algorithm and gains of exchanges."""

from __future__ import annotations

import numpy as np

from graftviz.learning.counts.packed import count_pair
from graftviz.utils.compiling import kernel

# Information below this is a rounding error: the sum has a few dozen terms of at most a few nats.
_ROUNDING = 1e-12


@kernel
def information_of_row(packed, i, partners, pseudo_count, table, out):
    """Write the mutual information of every pair (i, j), j in `partners`, in nats, to `out`.

    With c = `pseudo_count` imaginary rows p(x, y) is (count + c / (s_i s_j)) / (N + c).
    """
    offsets, margins = packed.node_offsets, packed.margins
    states_i = offsets[i + 1] - offsets[i]
    rows = packed.rows + pseudo_count
    for k in range(len(partners)):
        j = np.int64(partners[k])
        states_j = offsets[j + 1] - offsets[j]
        count_pair(packed, i, j, table)
        total = 0.0
        for x in range(states_i):
            at_i = margins[offsets[i] + x] + pseudo_count / states_i
            for y in range(states_j):
                joint = table[x * states_j + y] + pseudo_count / (states_i * states_j)
                if joint > 0.0:
                    at_j = margins[offsets[j] + y] + pseudo_count / states_j
                    total += joint / rows * np.log(joint * rows / (at_i * at_j))
        out[k] = total if total > _ROUNDING else 0.0


@kernel(inline="always")
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def next_edge(order, information, starts, second, at, parent):
    """Advance through the sorted pairs to the first that joins two trees, and join them.

    Parameters
    ----------
    order : int64 array
        Pairs by decreasing information, as positions in `information`.
    information : float64 array, shape (k,)
        Information of all pairs (or candidates) (i, j), i < j, in lexicographic order.
    starts : int64 array, shape (n + 1,)
        The pairs (i, ·) are ``starts[i]`` … ``starts[i + 1]``.
    second : int32 array, shape (k,)
        j of every pair.
    at : int
        Position in `order` to continue from.
    parent : int64 array, shape (n,)
        Forest of the union-find structure, updated in place.

    Returns
    -------
    at, tests, i, j : int
        Position to continue from, number of pairs visited, and the edge; i = -1 if there is none.
    """
    start = at
    while at < len(order):
        pair = order[at]
        if information[pair] <= 0.0:
            break
        at += 1
        i = np.searchsorted(starts, pair, side="right") - 1
        j = np.int64(second[pair])
        root_i, root_j = _root(parent, i), _root(parent, j)
        if root_i != root_j:
            parent[max(root_i, root_j)] = min(root_i, root_j)
            return at, at - start, i, j
    return at, at - start, -1, -1


@kernel
def best_exchange(edges, of_edges, information, starts, second, n):
    """Return (gain, i, j) of the best exchange; i = -1 if every pair is an edge.

    The gain of an inactive pair is its information minus the smallest information on the path
    between its ends (minus 0 if there is no path).

    Parameters
    ----------
    of_edges : float64 array
        Information of the edges.
    """
    first = np.full(n, -1, dtype=np.int64)
    following = np.full(2 * len(edges), -1, dtype=np.int64)
    for e in range(len(edges)):
        for side in range(2):
            following[2 * e + side] = first[edges[e, side]]
            first[edges[e, side]] = 2 * e + side
    weakest = np.empty(n)
    hops = np.empty(n, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    best, best_i, best_j = -np.inf, -1, -1
    for i in range(n - 1):
        weakest[:] = 0.0
        hops[:] = -1
        weakest[i], hops[i], stack[0] = np.inf, 0, i
        stack_size = 1
        while stack_size:
            stack_size -= 1
            node = stack[stack_size]
            incidence = first[node]
            while incidence >= 0:
                other = edges[incidence >> 1, 1 - (incidence & 1)]
                if hops[other] < 0:
                    weakest[other] = min(weakest[node], of_edges[incidence >> 1])
                    hops[other] = hops[node] + 1
                    stack[stack_size] = other
                    stack_size += 1
                incidence = following[incidence]
        for k in range(starts[i], starts[i + 1]):
            if hops[second[k]] != 1:
                gain = information[k] - weakest[second[k]]
                if gain > best:
                    best, best_i, best_j = gain, i, second[k]
    return best, best_i, best_j
