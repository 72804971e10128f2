"""Clique tables of a small width: exact marginals of a model during repeated fits.

The junction tree of :mod:`graftviz.inference.exact` is designed for one pass over large tables. A
fit makes thousands of passes over small ones, so here all tables are in one array and are updated
in place. A clique consists of a variable, whose states vary fastest, and the scope of its message,
in the order of elimination; the message goes to the clique of the first variable of the scope.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import inner_kernel, kernel


class CliqueTables(NamedTuple):
    """Cliques of an elimination order with their layout and tables, by position in the order.

    Attributes
    ----------
    order : int64 array, shape (n,)
        The variable at each position.
    parent : int64 array, shape (n,)
        The clique that each message goes to; -1 for none.
    root : int64 array, shape (n,)
        Position at which the elimination of the same component ends.
    states : int64 array, shape (n,)
        Number of states of the variable at each position.
    starts : int64 array, shape (n + 1,)
        Start of each table in `entries`.
    message_starts : int64 array, shape (n + 1,)
        Start of each message in `messages`.
    map_starts, maps : int64 array, shape (n + 1,), and int32 array
        For every entry of the parent's table, the matching entry of the message.
    edge_starts, edge_ids : int64 arrays
        The edges that each clique fits: those from its variable to later ones.
    edge_low, edge_middle, edge_states, edge_high : int64 arrays, one per edge
        Strides of the edge's variables: the table is traversed as high × states of the other
        variable × middle × states of the clique's variable (low).
    edge_turned : bool array, one per edge
        Whether the clique's variable is the second of the edge.
    tour_starts, tour : int64 arrays
        A traversal of each component from clique to neighbouring clique, by root: k + 1 descends
        to clique k, -(k + 1) returns from it to its parent.
    entries, messages : float64 arrays
    """

    order: np.ndarray
    parent: np.ndarray
    root: np.ndarray
    states: np.ndarray
    starts: np.ndarray
    message_starts: np.ndarray
    map_starts: np.ndarray
    maps: np.ndarray
    edge_starts: np.ndarray
    edge_ids: np.ndarray
    edge_low: np.ndarray
    edge_middle: np.ndarray
    edge_states: np.ndarray
    edge_high: np.ndarray
    edge_turned: np.ndarray
    tour_starts: np.ndarray
    tour: np.ndarray
    entries: np.ndarray
    messages: np.ndarray


def clique_tables(
    order: np.ndarray,
    starts: np.ndarray,
    scopes: np.ndarray,
    parent: np.ndarray,
    cardinalities: np.ndarray,
    edges: np.ndarray,
) -> CliqueTables:
    """Return the empty tables of an elimination order, to be filled by :func:`calibrate`.

    Parameters
    ----------
    order, starts, scopes, parent : int64 arrays
        See :class:`graftviz.inference.exact.ordering.Elimination`.
    cardinalities : int64 array, shape (n,)
    edges : int64 array, shape (m, 2)
    """
    states = cardinalities[order]
    places = _places(order, starts, scopes, parent, states)
    root, table_starts, message_starts, map_starts, maps, tour_starts, tour = places
    fitted = _edge_places(order, starts, scopes, states, edges)
    edge_starts, edge_ids, low, middle, other, high, turned = fitted
    return CliqueTables(
        order=order,
        parent=parent,
        root=root,
        states=states,
        starts=table_starts,
        message_starts=message_starts,
        map_starts=map_starts,
        maps=maps,
        edge_starts=edge_starts,
        edge_ids=edge_ids,
        edge_low=low,
        edge_middle=middle,
        edge_states=other,
        edge_high=high,
        edge_turned=turned,
        tour_starts=tour_starts,
        tour=tour,
        entries=np.zeros(int(table_starts[-1])),
        messages=np.zeros(int(message_starts[-1])),
    )


@kernel
def _places(order, starts, scopes, parent, states):
    """Return the roots, the starts of tables, messages and maps, the maps, and the tours."""
    n = len(order)
    root = np.arange(n)
    for k in range(n - 1, -1, -1):
        if parent[k] >= 0:
            root[k] = root[parent[k]]
    table_starts = np.zeros(n + 1, dtype=np.int64)
    message_starts = np.zeros(n + 1, dtype=np.int64)
    for k in range(n):
        product = np.int64(1)
        for at in range(starts[k], starts[k + 1]):
            product *= states[scopes[at]]
        message_starts[k + 1] = message_starts[k] + product
        table_starts[k + 1] = table_starts[k] + product * states[k]
    map_starts = np.zeros(n + 1, dtype=np.int64)
    for k in range(n):
        p = parent[k]
        size = table_starts[p + 1] - table_starts[p] if p >= 0 else 0
        map_starts[k + 1] = map_starts[k] + size
    maps = np.zeros(map_starts[n], dtype=np.int32)
    digit, stride, base = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k in range(n):
        p = parent[k]
        if p < 0:
            continue
        width = starts[p + 1] - starts[p] + 1
        at, step = starts[k], np.int64(1)
        for q in range(width):
            node = p if q == 0 else scopes[starts[p] + q - 1]
            digit[q], base[q], stride[q] = 0, states[node], 0
            if at < starts[k + 1] and scopes[at] == node:
                stride[q] = step
                step *= states[node]
                at += 1
        index = np.int64(0)
        for e in range(map_starts[k], map_starts[k + 1]):
            maps[e] = index
            for q in range(width):
                digit[q] += 1
                index += stride[q]
                if digit[q] < base[q]:
                    break
                index -= stride[q] * base[q]
                digit[q] = 0
    tour_starts, tour = _tours(parent, root)
    return root, table_starts, message_starts, map_starts, maps, tour_starts, tour


@inner_kernel
def _tours(parent, root):
    """Return the traversal of each component; see `CliqueTables.tour`."""
    n = len(parent)
    first, following = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    cliques = np.zeros(n, dtype=np.int64)
    for k in range(n):
        cliques[root[k]] += 1
        if parent[k] >= 0:
            following[k] = first[parent[k]]
            first[parent[k]] = k
    tour_starts = np.zeros(n + 1, dtype=np.int64)
    for k in range(n):
        tour_starts[k + 1] = tour_starts[k] + max(2 * cliques[k] - 1, 0)
    tour = np.empty(tour_starts[n], dtype=np.int64)
    for r in range(n):
        if root[r] != r:
            continue
        at, k = tour_starts[r], r
        tour[at] = r + 1
        at += 1
        while True:
            child = first[k]
            if child >= 0:
                first[k] = following[child]
                tour[at] = child + 1
                at += 1
                k = child
            elif k == r:
                break
            else:
                tour[at] = -(k + 1)
                at += 1
                k = parent[k]
    return tour_starts, tour


@kernel
def _edge_places(order, starts, scopes, states, edges):
    """Return the edges of each clique and the strides of their tables."""
    n, m = len(order), len(edges)
    place = np.empty(n, dtype=np.int64)
    for k in range(n):
        place[order[k]] = k
    edge_starts = np.zeros(n + 1, dtype=np.int64)
    low, middle = np.empty(m, dtype=np.int64), np.ones(m, dtype=np.int64)
    other, high = np.empty(m, dtype=np.int64), np.ones(m, dtype=np.int64)
    turned = np.empty(m, dtype=np.bool_)
    for e in range(m):
        a, b = place[edges[e, 0]], place[edges[e, 1]]
        k, late = min(a, b), max(a, b)
        turned[e] = b < a
        edge_starts[k + 1] += 1
        low[e], other[e] = states[k], states[late]
        for at in range(starts[k], starts[k + 1]):
            if scopes[at] < late:
                middle[e] *= states[scopes[at]]
            elif scopes[at] > late:
                high[e] *= states[scopes[at]]
    for k in range(n):
        edge_starts[k + 1] += edge_starts[k]
    filled = edge_starts[:n].copy()
    ids = np.empty(m, dtype=np.int64)
    for e in range(m):
        k = min(place[edges[e, 0]], place[edges[e, 1]])
        ids[filled[k]] = e
        filled[k] += 1
    return edge_starts, ids, low, middle, other, high, turned


@kernel
def calibrate(tables, node_offsets, node_weights, edge_offsets, edge_weights):
    """Fill every table with the marginal of its clique; return log Z.

    Messages to parents are computed in logarithms, so large weights do not overflow.
    """
    n = len(tables.order)
    entries, messages = tables.entries, tables.messages
    for k in range(n):
        begin, end, own = tables.starts[k], tables.starts[k + 1], tables.states[k]
        first = node_offsets[tables.order[k]]
        for at in range(begin, end, own):
            for x in range(own):
                entries[at + x] = node_weights[first + x]
        for p in range(tables.edge_starts[k], tables.edge_starts[k + 1]):
            e = tables.edge_ids[p]
            _add_edge(tables, begin, e, edge_weights, edge_offsets[e])
    log_partition = 0.0
    for k in range(n):
        begin, own = tables.starts[k], tables.states[k]
        for s in range(tables.message_starts[k], tables.message_starts[k + 1]):
            top = entries[begin]
            for x in range(1, own):
                top = max(top, entries[begin + x])
            total = 0.0
            for x in range(own):
                total += np.exp(entries[begin + x] - top)
            messages[s] = top + np.log(total)
            begin += own
        parent = tables.parent[k]
        if parent < 0:
            log_partition += messages[tables.message_starts[k]]
            continue
        at, first = tables.starts[parent], tables.message_starts[k]
        for e in range(tables.map_starts[k], tables.map_starts[k + 1]):
            entries[at] += messages[first + tables.maps[e]]
            at += 1
    for k in range(n - 1, -1, -1):
        at, own, parent = tables.starts[k], tables.states[k], tables.parent[k]
        first, last = tables.message_starts[k], tables.message_starts[k + 1]
        for s in range(first, last):
            for x in range(own):
                entries[at + x] = np.exp(entries[at + x] - messages[s])
            at += own
        if parent >= 0:
            separator_of_parent(tables, k, messages)
            at = tables.starts[k]
            for s in range(first, last):
                for x in range(own):
                    entries[at + x] *= messages[s]
                at += own
    return log_partition


@inner_kernel
def separator_of_parent(tables, k, messages):
    """Write the marginal of clique k's scope, computed from its parent, to its message."""
    first = tables.message_starts[k]
    messages[first : tables.message_starts[k + 1]] = 0.0
    at = tables.starts[tables.parent[k]]
    for e in range(tables.map_starts[k], tables.map_starts[k + 1]):
        messages[first + tables.maps[e]] += tables.entries[at]
        at += 1


@inner_kernel
def _add_edge(tables, at, e, weights, first):
    """Add an edge's weights to the logarithms of the table that begins at `at`."""
    own, other = tables.edge_low[e], tables.edge_states[e]
    along, across = (1, own) if tables.edge_turned[e] else (other, 1)
    for _ in range(tables.edge_high[e]):
        for y in range(other):
            for _ in range(tables.edge_middle[e]):
                for x in range(own):
                    tables.entries[at] += weights[first + x * along + y * across]
                    at += 1


@inner_kernel
def edge_marginal(tables, at, e, out):
    """Write an edge's marginal to `out`, with the first variable as the row.

    The table begins at `at`. If `edge_turned`, its layout is transposed, which this undoes.
    """
    own, other = tables.edge_low[e], tables.edge_states[e]
    along, across = (1, own) if tables.edge_turned[e] else (other, 1)
    out[: own * other] = 0.0
    for _ in range(tables.edge_high[e]):
        for y in range(other):
            for _ in range(tables.edge_middle[e]):
                for x in range(own):
                    out[x * along + y * across] += tables.entries[at]
                    at += 1


@inner_kernel
def scale_edge(tables, at, e, factors):
    """Multiply the table that begins at `at` by factors of an edge's joint states."""
    own, other = tables.edge_low[e], tables.edge_states[e]
    along, across = (1, own) if tables.edge_turned[e] else (other, 1)
    for _ in range(tables.edge_high[e]):
        for y in range(other):
            for _ in range(tables.edge_middle[e]):
                for x in range(own):
                    tables.entries[at] *= factors[x * along + y * across]
                    at += 1
