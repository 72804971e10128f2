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

Gradients of the exact likelihood for inactive edges: all pairs of a component at once. The gradient
of a pair is the marginal of the data minus that of the model; with an ℓ₁ penalty it is the least
subgradient at zero weights. The marginals of a variable with all others come from one pass over its
component: the joint table of the variable with a clique is computed from that with the neighbouring
clique, through the shared scope.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.exact.ordering import MIN_FILL, greedy_order, neighbour_lists
from graftviz.learning.bounded.clique_tables import (
    NO_PENALTY,
    CliqueTables,
    EdgePenalty,
    edge_residual,
)
from graftviz.learning.bounded.likelihood_fit import Targets
from graftviz.learning.counts.pair_counts import find_slot, table_cells
from graftviz.utils.compiling import inner_kernel, kernel


def independent_gradients(targets: Targets, penalty: EdgePenalty = NO_PENALTY) -> np.ndarray:
    """Return ‖p̃(i, j) − p̃(i) p̃(j)‖₂ of all pairs, symmetric, shape (n, n).

    This is the gradient between components as long as nodes have the marginals of the data. All
    pairs must have been counted.
    """
    n = len(targets.offsets) - 1
    found = np.zeros((n, n))
    counts = targets.counts
    _independent(
        counts.packed, counts.store, counts.scratch, targets.offsets, targets.shares,
        targets.dependence_share, penalty, found,
    )  # fmt: skip
    return found


def update_gradients(
    gradients: np.ndarray,
    targets: Targets,
    tables: CliqueTables,
    member: int,
    penalty: EdgePenalty = NO_PENALTY,
) -> None:
    """Update the gradient norms of all pairs of one component, including active ones.

    Parameters
    ----------
    gradients : float64 array, shape (n, n)
        Symmetric; updated in place.
    targets : Targets
        All pairs must have been counted.
    tables : CliqueTables
        Calibrated tables.
    member : int
        Position in the order of a variable of the component.
    penalty : EdgePenalty, optional
    """
    counts = targets.counts
    _component(
        tables, member, counts.packed, counts.store, counts.scratch, targets.offsets,
        targets.shares, targets.nodes, targets.dependence_share, penalty, gradients,
    )  # fmt: skip


@kernel
def _independent(packed, store, scratch, offsets, shares, dependence_share, penalty, found):
    n, most = len(offsets) - 1, np.max(np.diff(offsets))
    gaps, zeros = np.empty(most * most), np.zeros(most * most)
    for i in range(n):
        for j in range(i + 1, n):
            slot = find_slot(store.pairs, i, j)
            cells, at = table_cells(packed, store, slot, scratch)
            size = 0
            for a in range(offsets[i], offsets[i + 1]):
                for b in range(offsets[j], offsets[j + 1]):
                    gaps[size] = dependence_share * (
                        cells[at] / packed.rows - shares[a] * shares[b]
                    )
                    size += 1
                    at += 1
            norm = edge_residual(gaps[:size], zeros[:size], zeros[:size], penalty)
            found[i, j] = found[j, i] = norm


@kernel
def _component(
    tables, member, packed, store, scratch, offsets, shares, nodes, dependence_share, penalty,
    gradients,
):  # fmt: skip
    """Update the gradients of one component; see `update_gradients`."""
    n, root = len(tables.order), tables.root[member]
    cliques, widest, largest = np.empty(n, dtype=np.int64), np.int64(0), np.int64(0)
    size, most, whole = 0, np.int64(0), np.int64(0)
    begins = np.full(n, -1, dtype=np.int64)  # where a clique's part of the joint tables begins
    for k in range(n - 1, -1, -1):  # parents before their children
        if tables.root[k] == root:
            cliques[size] = k
            size += 1
            begins[k] = whole
            whole += tables.starts[k + 1] - tables.starts[k]
            most = max(most, tables.states[k])
            widest = max(widest, tables.message_starts[k + 1] - tables.message_starts[k])
            largest = max(largest, tables.starts[k + 1] - tables.starts[k])
    joint = np.empty((most, whole))
    message = np.empty((most, widest))
    separators = _separators(tables, cliques[:size])
    done = np.zeros(n, dtype=np.int64)
    pair, seen, zeros = np.empty(most * most), np.empty(most * most), np.zeros(most * most)
    for at in range(size):
        a = cliques[at]
        i = tables.order[a]
        states = tables.states[a]
        # The joint table with the variable's own clique, in which its states vary fastest.
        for e in range(tables.starts[a + 1] - tables.starts[a]):
            for x in range(states):
                joint[x, begins[a] + e] = 0.0
            joint[e % states, begins[a] + e] = tables.entries[tables.starts[a] + e]
        done[a] = at + 1
        k = a
        while tables.parent[k] >= 0:
            _to_parent(tables, k, states, joint, begins, message, separators)
            k = tables.parent[k]
            done[k] = at + 1
        for step in range(at):
            k = cliques[step]
            if done[k] != at + 1:
                _from_parent(tables, k, states, joint, begins, message, separators)
                done[k] = at + 1
        for step in range(at):
            k = cliques[step]
            j, others = tables.order[k], tables.states[k]
            pair[: states * others] = 0.0
            # Rows of the pair table are states of the variable with the smaller number.
            along, across = (others, 1) if i < j else (1, states)
            for x in range(states):
                e = begins[k]
                for _ in range((tables.starts[k + 1] - tables.starts[k]) // others):
                    for y in range(others):
                        pair[x * along + y * across] += joint[x, e]
                        e += 1
            first, second = min(i, j), max(i, j)
            slot = find_slot(store.pairs, first, second)
            cells, c = table_cells(packed, store, slot, scratch)
            p = 0
            for u in range(offsets[first], offsets[first + 1]):
                for v in range(offsets[second], offsets[second + 1]):
                    deviation = dependence_share * (cells[c] / packed.rows - shares[u] * shares[v])
                    seen[p] = nodes[u] * nodes[v] + deviation
                    c += 1
                    p += 1
            norm = edge_residual(pair[:p], seen[:p], zeros[:p], penalty)
            gradients[first, second] = gradients[second, first] = norm


@inner_kernel
def _separators(tables, cliques):
    """Return the marginals of all scopes, in the layout of messages."""
    found = np.zeros(len(tables.messages))
    for k in cliques:
        at, own = tables.starts[k], tables.states[k]
        for s in range(tables.message_starts[k], tables.message_starts[k + 1]):
            for x in range(own):
                found[s] += tables.entries[at + x]
            at += own
    return found


@inner_kernel
def _to_parent(tables, k, states, joint, begins, message, separators):
    """Compute the joint table with the parent of clique k from that with clique k."""
    parent, own = tables.parent[k], tables.states[k]
    first = tables.message_starts[k]
    count = tables.message_starts[k + 1] - first
    for x in range(states):
        at = begins[k]
        for s in range(count):
            total = 0.0
            for _ in range(own):
                total += joint[x, at]
                at += 1
            share = separators[first + s]
            message[x, s] = total / share if share > 0.0 else 0.0
        at, into = tables.starts[parent], begins[parent]
        for e in range(tables.map_starts[k], tables.map_starts[k + 1]):
            joint[x, into] = tables.entries[at] * message[x, tables.maps[e]]
            at += 1
            into += 1


@inner_kernel
def _from_parent(tables, k, states, joint, begins, message, separators):
    """Compute the joint table with clique k from that with its parent."""
    parent, own = tables.parent[k], tables.states[k]
    first = tables.message_starts[k]
    count = tables.message_starts[k + 1] - first
    for x in range(states):
        message[x, :count] = 0.0
        at = begins[parent]
        for e in range(tables.map_starts[k], tables.map_starts[k + 1]):
            message[x, tables.maps[e]] += joint[x, at]
            at += 1
        at, into = tables.starts[k], begins[k]
        for s in range(count):
            share = separators[first + s]
            ratio = message[x, s] / share if share > 0.0 else 0.0
            for _ in range(own):
                joint[x, into] = tables.entries[at] * ratio
                at += 1
                into += 1


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
