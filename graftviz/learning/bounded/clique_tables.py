"""Clique tables of a small width: exact marginals of a model during repeated fits.

The junction tree of :mod:`graftviz.inference.exact` is designed for one pass over large tables. A
fit makes thousands of passes over small ones, so here all tables are in one array and are updated
in place. A clique consists of a variable, whose states vary fastest, and the scope of its message,
in the order of elimination; the message goes to the clique of the first variable of the scope.

Iterative proportional fitting on a tree of cliques: the exact likelihood, group by group. The group
of an edge is fitted exactly, with all other weights fixed, by multiplying its pair potential by
data marginal over model marginal (Deming and Stephan, 1940); there is no line search, and the
likelihood never decreases. A traversal from clique to neighbouring clique keeps the current table
exact, so that a round over all edges costs about as much as one pass of inference (Jiroušek and
Přeučil, "On the effective implementation of the iterative proportional fitting procedure", 1995).
With λ₂ > 0 the group is fitted by Newton's method instead, with λ₁ > 0 by accelerated proximal
steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.weights.penalty import group_residual
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


_NEWTON_STEPS = 30
_NEWTON_TOLERANCE = 1e-13
_HALVINGS = 40
_PROXIMAL_STEPS = 200
_PROXIMAL_TOLERANCE = 1e-13


class EdgePenalty(NamedTuple):
    """Penalty λ₂ Σ ‖w_e‖₂² + λ₁ Σ ‖w_e‖ on edges; the second norm is the 1- or the 2-norm.

    Attributes
    ----------
    lam2, lam1 : float
    by_feature : bool
        Whether λ₁ penalises the 1-norm (every weight) instead of the 2-norm (all of an edge).
    """

    lam2: float = 0.0
    lam1: float = 0.0
    by_feature: bool = False

    @property
    def is_zero(self) -> bool:
        """Whether there is no penalty."""
        return self.lam2 == 0.0 and self.lam1 == 0.0


NO_PENALTY = EdgePenalty()


class Stage(NamedTuple):
    """Limits of the small steps of a stage-wise fit without a penalty.

    Attributes
    ----------
    length : float
        ε, the largest change of an edge's weights in a round, as a 2-norm; 0 fits the nodes only.
    least : float
        Gradient norm below which the weights of an edge do not change.
    """

    length: float = np.inf
    least: float = 0.0


COMPLETE = Stage()


@kernel
def edge_residual(marginal, targets, weights, penalty):
    """Return the 2-norm of the least subgradient of an edge's weights; zero at an optimum."""
    size, total = len(weights), 0.0
    gaps = np.empty(size)
    for c in range(size):
        gaps[c] = marginal[c] - targets[c]
    if penalty.lam1 > 0.0 and not penalty.by_feature:
        return group_residual(weights, gaps, penalty.lam1, penalty.lam2, size)
    for c in range(size):
        slope = gaps[c] + 2.0 * penalty.lam2 * weights[c]
        if weights[c] != 0.0:
            slope += np.sign(weights[c]) * penalty.lam1
        else:
            slope = np.sign(slope) * max(0.0, abs(slope) - penalty.lam1)
        total += slope**2
    return np.sqrt(total)


@kernel
def fit_round(
    tables, begin, end, pairs, node_offsets, nodes, edge_offsets, edges, penalty, stage, marginal,
    factor,
):  # fmt: skip
    """Traverse a component, fitting every group once.

    Parameters
    ----------
    tables : CliqueTables
        The table of the first clique must be exact; then each table is exact when it is fitted.
    begin, end : int
        Range of the traversal in `tables.tour`.
    pairs : int64 array, shape (m, 2)
        The variables of every edge.
    node_offsets, edge_offsets : int64 arrays
        Starts of the groups in the arrays below.
    nodes, edges : pairs of float64 arrays (weights, targets)
        Weights are changed in place; targets are the marginals of the data.
    penalty : EdgePenalty
    stage : Stage
        `COMPLETE`, or the small steps of edges; only without a penalty.
    marginal, factor : float64 arrays
        Buffers for the largest group.

    Returns
    -------
    float
        The largest violation of a group before it was fitted (see `edge_residual`); with small
        steps of edges, that of an edge.
    """
    node_weights, node_targets = nodes
    edge_weights, edge_targets = edges
    lam2, worst = penalty.lam2, 0.0
    is_penalised = lam2 > 0.0 or penalty.lam1 > 0.0
    is_stage = stage.length < np.inf
    for visit in range(begin, end):
        step = tables.tour[visit]
        if step < 0:
            update_parent(tables, -step - 1)
            continue
        k = step - 1
        if visit > begin:
            update_from_parent(tables, k)
        start = tables.starts[k]
        if is_penalised or is_stage:
            # In a complete fit without a penalty the nodes' conditions follow from those of edges.
            i = tables.order[k]
            first, own = node_offsets[i], tables.states[k]
            violation = _fit_node(tables, k, first, own, node_weights, node_targets, factor)
            if not is_stage or stage.length == 0.0:
                worst = max(worst, violation)
        if stage.length == 0.0:
            continue
        for p in range(tables.edge_starts[k], tables.edge_starts[k + 1]):
            e = tables.edge_ids[p]
            first = edge_offsets[e]
            size = edge_offsets[e + 1] - first
            edge_marginal(tables, start, e, marginal)
            weights = edge_weights[first : first + size]
            if is_penalised and not (penalty.lam1 > 0.0 and penalty.by_feature):
                i, j = pairs[e, 0], pairs[e, 1]
                _centre(
                    weights,
                    node_weights[node_offsets[i] : node_offsets[i + 1]],
                    node_weights[node_offsets[j] : node_offsets[j + 1]],
                )
            targets = edge_targets[first : first + size]
            residual = edge_residual(marginal[:size], targets, weights, penalty)
            worst = max(worst, residual)
            if residual < stage.least:
                continue
            if penalty.lam1 > 0.0:
                _proximal_step(marginal[:size], targets, weights, penalty, factor)
            else:
                if lam2 > 0.0:
                    _penalised_step(marginal[:size], targets, weights, lam2, factor)
                else:
                    for c in range(size):
                        factor[c] = targets[c] / marginal[c] if marginal[c] > 0.0 else 1.0
                if is_stage:
                    _shorten(factor[:size], marginal, stage.length)
                for c in range(size):
                    weights[c] += np.log(factor[c])
            scale_edge(tables, start, e, factor)
    return worst


@inner_kernel
def _shorten(factor, marginal, length):
    """Shorten a change of weights, the logarithm of `factor`, to a length; keep the sum one.

    The likelihood is concave between the current weights and those that maximise it over the edge,
    so that it rises by a shorter step, too.
    """
    size = len(factor)
    mean, norm = 0.0, 0.0
    for c in range(size):
        factor[c] = np.log(factor[c])
        mean += factor[c] / size
    for c in range(size):
        norm += (factor[c] - mean) ** 2
    share = min(1.0, length / np.sqrt(norm)) if norm > 0.0 else 1.0
    total = 0.0
    for c in range(size):
        factor[c] = np.exp(share * (factor[c] - mean))
        total += marginal[c] * factor[c]
    for c in range(size):
        factor[c] /= total


@inner_kernel
def update_from_parent(tables, k):
    """Update the table of clique k from the exact table of its parent."""
    messages, entries = tables.messages, tables.entries
    separator_of_parent(tables, k, messages)
    at, own = tables.starts[k], tables.states[k]
    for s in range(tables.message_starts[k], tables.message_starts[k + 1]):
        total = 0.0
        for x in range(own):
            total += entries[at + x]
        if total > 0.0:
            ratio = messages[s] / total
            for x in range(own):
                entries[at + x] *= ratio
        at += own


@inner_kernel
def update_parent(tables, k):
    """Update the table of clique k's parent from the exact table of clique k."""
    messages, entries = tables.messages, tables.entries
    separator_of_parent(tables, k, messages)
    at, own = tables.starts[k], tables.states[k]
    for s in range(tables.message_starts[k], tables.message_starts[k + 1]):
        total = 0.0
        for x in range(own):
            total += entries[at + x]
        messages[s] = total / messages[s] if messages[s] > 0.0 else 0.0
        at += own
    at, first = tables.starts[tables.parent[k]], tables.message_starts[k]
    for e in range(tables.map_starts[k], tables.map_starts[k + 1]):
        entries[at] *= messages[first + tables.maps[e]]
        at += 1


@inner_kernel
def _fit_node(tables, k, first, own, weights, targets, factor):
    """Fit the weights of clique k's variable; return the previous violation."""
    entries = tables.entries
    begin, end = tables.starts[k], tables.starts[k + 1]
    factor[:own] = 0.0
    for at in range(begin, end, own):
        for x in range(own):
            factor[x] += entries[at + x]
    violation = 0.0
    for x in range(own):
        violation += (factor[x] - targets[first + x]) ** 2
        factor[x] = targets[first + x] / factor[x] if factor[x] > 0.0 else 1.0
        weights[first + x] += np.log(factor[x])
    for at in range(begin, end, own):
        for x in range(own):
            entries[at + x] *= factor[x]
    return np.sqrt(violation)


@inner_kernel
def _centre(weights, own, other):
    """Move the row and column means of an edge's table to its nodes.

    The model does not change, and the penalty falls; without it the fit would converge slowly.
    """
    rows, columns = len(own), len(other)
    for x in range(rows):
        mean = 0.0
        for y in range(columns):
            mean += weights[x * columns + y] / columns
        for y in range(columns):
            weights[x * columns + y] -= mean
        own[x] += mean
    for y in range(columns):
        mean = 0.0
        for x in range(rows):
            mean += weights[x * columns + y] / rows
        for x in range(rows):
            weights[x * columns + y] -= mean
        other[y] += mean


@inner_kernel
def _penalised_step(marginal, targets, weights, lam2, factor):
    """Write the factors that minimise log Σ p f − Σ q log f + λ₂ ‖w + log f‖².

    It uses Newton's method on log f. The matrix is diag(μ) − μ μᵀ + 2 λ₂, inverted by the
    Sherman–Morrison formula.
    """
    size = len(marginal)
    change, belief, step = np.zeros(size), np.empty(size), np.empty(size)
    for _ in range(_NEWTON_STEPS):
        value = _penalised(marginal, targets, weights, change, lam2, belief)
        own, shared, steepness, worst = 0.0, 0.0, 0.0, 0.0
        for c in range(size):
            slope = belief[c] - targets[c] + 2.0 * lam2 * (weights[c] + change[c])
            worst = max(worst, abs(slope))
            step[c] = slope
            inverse = 1.0 / (belief[c] + 2.0 * lam2)
            shared += belief[c] * slope * inverse
            own += belief[c] * belief[c] * inverse
        if worst <= _NEWTON_TOLERANCE:
            break
        share = shared / (1.0 - own)
        for c in range(size):
            slope = step[c]
            step[c] = (slope + belief[c] * share) / (belief[c] + 2.0 * lam2)
            steepness += slope * step[c]
        length = 1.0
        for _ in range(_HALVINGS):
            for c in range(size):
                factor[c] = change[c] - length * step[c]
            reached = _penalised(marginal, targets, weights, factor[:size], lam2, belief)
            if reached <= value - 1e-4 * length * steepness or length * steepness < 1e-16:
                break
            length *= 0.5
        for c in range(size):
            change[c] = factor[c]
    _penalised(marginal, targets, weights, change, lam2, belief)
    top = np.log(np.sum(marginal * np.exp(change)))
    for c in range(size):
        factor[c] = np.exp(change[c] - top)
        weights[c] += top  # the factors are normalised; the weights change by `change`


@inner_kernel
def _penalised(marginal, targets, weights, change, lam2, belief):
    """Return the objective of a penalised step; write the marginal to `belief`."""
    total, value = 0.0, 0.0
    for c in range(len(marginal)):
        belief[c] = marginal[c] * np.exp(change[c])
        total += belief[c]
        value += lam2 * (weights[c] + change[c]) ** 2 - targets[c] * change[c]
    for c in range(len(marginal)):
        belief[c] /= total
    return value + np.log(total)


@inner_kernel
def _proximal_step(marginal, targets, weights, penalty, factor):
    """Write the factors that minimise log Σ p f − Σ q log f + penalty(w + log f).

    Accelerated proximal gradient steps, restarted when the direction turns. The curvature of the
    smooth part is at most 1/2 + 2 λ₂, the largest eigenvalue of a multinomial covariance.
    """
    size, lam2 = len(marginal), penalty.lam2
    curvature = 0.5 + 2.0 * lam2
    now, ahead = weights.copy(), weights.copy()
    belief, after = np.empty(size), np.empty(size)
    momentum = 1.0
    for _ in range(_PROXIMAL_STEPS):
        total = 0.0
        for c in range(size):
            belief[c] = marginal[c] * np.exp(ahead[c] - weights[c])
            total += belief[c]
        for c in range(size):
            slope = belief[c] / total - targets[c] + 2.0 * lam2 * ahead[c]
            after[c] = ahead[c] - slope / curvature
        _shrink(after, penalty.lam1 / curvature, penalty.by_feature)
        turned, change = 0.0, 0.0
        for c in range(size):
            turned += (ahead[c] - after[c]) * (after[c] - now[c])
            change = max(change, abs(after[c] - ahead[c]))
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        share = 0.0 if turned > 0.0 else (momentum - 1.0) / following
        momentum = 1.0 if turned > 0.0 else following
        for c in range(size):
            ahead[c] = after[c] + share * (after[c] - now[c])
            now[c] = after[c]
        if change <= _PROXIMAL_TOLERANCE:
            break
    total = 0.0
    for c in range(size):
        total += marginal[c] * np.exp(now[c] - weights[c])
    top = np.log(total)
    for c in range(size):
        factor[c] = np.exp(now[c] - weights[c] - top)
        weights[c] = now[c]


@inner_kernel
def _shrink(weights, threshold, by_feature):
    """Apply the proximal operator of the 1-norm or of the 2-norm in place."""
    norm = 0.0
    for c in range(len(weights)):
        norm += weights[c] ** 2
    norm = np.sqrt(norm)
    for c in range(len(weights)):
        if by_feature:
            weights[c] = np.sign(weights[c]) * max(0.0, abs(weights[c]) - threshold)
        else:
            weights[c] *= max(0.0, 1.0 - threshold / norm) if norm > 0.0 else 0.0
