"""Possible states of a model with zero potentials, and the search for a possible joint state.

Arc consistency (Mackworth, "Consistency in networks of relations", 1977): a state that has no state
with a positive potential at some neighbour has probability zero and is removed, until no more
states can be removed. On forests exactly the states of positive probability remain. Message passing
over the remaining states has no zero messages.

A joint state of positive probability is found by a depth-first search that maintains arc
consistency (Sabin and Freuder, "Contradicting conventional wisdom in constraint satisfaction",
1994). The next variable is the one with the smallest ratio of remaining states to failures, its
most likely state is tried first, and a variable without states undoes the last decision.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel

_ROUNDS, _FIRST_FAILURES = 6, 500  # every round restarts and may fail twice as often


class Support(NamedTuple):
    """Possible states of all variables.

    Attributes
    ----------
    possible : bool array, flat, with the layout of the node weights
    empty_node : int
        A variable without a possible state, so that all joint states have probability zero; -1 if
        there is none.
    """

    possible: np.ndarray
    empty_node: int

    def node_weights(self, model: PairwiseModel) -> np.ndarray:
        """Return the node weights of `model`, −inf for impossible states."""
        return np.where(self.possible, model.weights[: len(self.possible)], -np.inf)


def support(model: PairwiseModel) -> Support:
    """Return the states of `model` that are arc consistent."""
    offsets = model.node_offsets
    possible = model.weights[: int(offsets[-1])] > -np.inf
    edge_weights = model.weights[int(offsets[-1]) :]
    forbidden = edge_weights == -np.inf
    if possible.all() and not forbidden.any():
        return Support(possible, -1)
    starts, neighbours, edges = model.incidence
    places = model.edge_offsets - offsets[-1]
    empty = strike_out(offsets, starts, neighbours, edges, places, forbidden, possible)
    return Support(possible, int(empty))


def impossible_beliefs(model: PairwiseModel, method: str, empty_node: int = -1) -> Beliefs:
    """Return the result for a model in which no joint state is possible, with uniform beliefs.

    `empty_node` is a variable without a possible state; -1 if there is no such variable.
    """
    nodes = tuple(_uniform((int(size),)) for size in model.cardinalities)
    sizes = model.cardinalities[model.edges].tolist()
    edges = tuple(_uniform((states_i, states_j)) for states_i, states_j in sizes)
    cause = f"leave variable {model.names[empty_node]!r} no state"
    sentence = (
        "No joint state has a positive probability: the zero potentials "
        f"{cause if empty_node >= 0 else 'exclude each other'}. The marginals are undefined."
    )
    return Beliefs(nodes, edges, -np.inf, True, 0, 0.0, method, "exact", notes=(sentence,))


def _uniform(shape: tuple[int, ...]) -> np.ndarray:
    belief = np.full(shape, 1.0 / np.prod(shape))
    belief.flags.writeable = False
    return belief


@kernel
def strike_out(node_offsets, starts, neighbours, edges, edge_offsets, forbidden, possible):
    """Make `possible` arc consistent, in place.

    Parameters
    ----------
    starts, neighbours, edges : int64 arrays
        Incidence of the graph.
    edge_offsets : int64 array, shape (m + 1,)
        Start of each edge in `forbidden`.
    forbidden : bool array, flat, row-major, edge after edge
        Pairs of states with a zero potential. The first node of an edge is the smaller one.
    possible : bool array, flat

    Returns
    -------
    empty_node : int
        A node without a possible state, -1 if every node has one.
    """
    n = len(node_offsets) - 1
    for i in range(n):
        if _count(possible, node_offsets[i], node_offsets[i + 1]) == 0:
            return i
    waiting = np.arange(n)  # ring of nodes whose states changed and were not yet propagated
    is_waiting = np.ones(n, dtype=np.bool_)
    head, length = 0, n
    while length > 0:
        j = waiting[head]
        head = head + 1 if head + 1 < n else 0
        length -= 1
        is_waiting[j] = False
        start_j, end_j = node_offsets[j], node_offsets[j + 1]
        for k in range(starts[j], starts[j + 1]):
            i, at = neighbours[k], edge_offsets[edges[k]]
            start_i, end_i = node_offsets[i], node_offsets[i + 1]
            step_i, step_j = (end_j - start_j, 1) if i < j else (1, end_i - start_i)
            changed = False
            for x in range(end_i - start_i):
                if not possible[start_i + x]:
                    continue
                has_support = False
                for y in range(end_j - start_j):
                    if possible[start_j + y] and not forbidden[at + x * step_i + y * step_j]:
                        has_support = True
                        break
                if not has_support:
                    possible[start_i + x] = False
                    changed = True
            if changed:
                if _count(possible, start_i, end_i) == 0:
                    return i
                if not is_waiting[i]:
                    is_waiting[i] = True
                    tail = head + length
                    waiting[tail if tail < n else tail - n] = i
                    length += 1
    return -1


@inner_kernel
def _count(possible, start, end):
    total = 0
    for x in range(start, end):
        total += possible[x]
    return total


def consistent_states(
    model: PairwiseModel, states: Support, likely: np.ndarray
) -> tuple[np.ndarray | None, bool]:
    """Search for a joint state of `model` without zero potentials.

    Parameters
    ----------
    states : Support
        With at least one possible state of every variable.
    likely : float64 array, flat, with the layout of the node weights
        States with larger values are tried first.

    Returns
    -------
    state : int64 array, shape (n,), or None
        None if none was found.
    is_settled : bool
        Whether the answer is certain: either a state was found, or it is proven that none exists.
    """
    offsets = model.node_offsets
    forbidden = model.weights[int(offsets[-1]) :] == -np.inf
    starts, neighbours, edges = model.incidence
    places = model.edge_offsets - offsets[-1]
    found = np.empty(model.n_variables, dtype=np.int64)
    failure_counts = np.ones(model.n_variables)
    for k in range(_ROUNDS):
        answer = _search(
            *(offsets, starts, neighbours, edges, places, forbidden, states.possible, likely),
            *(_FIRST_FAILURES * 2**k, failure_counts, found),
        )
        if answer != 0:
            return (found, True) if answer > 0 else (None, True)
    return None, False


def is_possible(model: PairwiseModel) -> bool:
    """Return False if all joint states of `model` are proven to have probability zero.

    Return True if the search ends without a result.
    """
    if np.isfinite(model.weights).all():
        return True
    states = support(model)
    if states.empty_node >= 0:
        return False
    likely = model.weights[: int(model.node_offsets[-1])].copy()
    state, is_settled = consistent_states(model, states, likely)
    return state is not None or not is_settled


@kernel
def _search(
    offsets,
    starts,
    neighbours,
    edges,
    places,
    forbidden,
    possible,
    likely,
    most_failures,
    failure_counts,
    found,
):
    """Search until `most_failures`; return 1 if found, -1 if proven not to exist, 0 otherwise.

    Parameters
    ----------
    failure_counts : float64 array, shape (n,)
        1 + how often each variable was left without a state; updated in place.
    found : int64 array, shape (n,)
        Written if a state was found.
    """
    n = len(offsets) - 1
    alive = possible.copy()
    counts = np.zeros(n, dtype=np.int64)
    owner = np.empty(len(alive), dtype=np.int64)
    heap = [(0.0, np.int64(0))]
    for i in range(n):
        for x in range(offsets[i], offsets[i + 1]):
            counts[i] += alive[x]
            owner[x] = i
        heappush(heap, (counts[i] / failure_counts[i], np.int64(i)))
    removed = np.empty(len(alive), dtype=np.int64)  # removed states in order, for backtracking
    n_removed, depth, failures = 0, 0, 0
    marks = np.empty(n, dtype=np.int64)  # number of removed states before each decision
    chosen = np.empty(n, dtype=np.int64)
    graph = (offsets, starts, neighbours, edges, places, forbidden)
    waiting, is_waiting = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    while True:
        node = np.int64(-1)
        while len(heap) > 0:
            key, nearest = heappop(heap)
            # An outdated entry has been replaced by a later one.
            if counts[nearest] > 1 and key == counts[nearest] / failure_counts[nearest]:
                node = nearest
                break
        if node < 0:
            for x in range(len(alive)):
                if alive[x]:
                    found[owner[x]] = x - offsets[owner[x]]
            return 1
        best = -1
        for x in range(offsets[node], offsets[node + 1]):
            if alive[x] and (best < 0 or likely[x] > likely[best]):
                best = x
        marks[depth], chosen[depth] = n_removed, best
        depth += 1
        for x in range(offsets[node], offsets[node + 1]):
            if alive[x] and x != best:
                alive[x] = False
                removed[n_removed] = x
                n_removed += 1
        counts[node] = 1
        while True:
            before = n_removed
            empty, n_removed = _propagate(
                graph, node, alive, counts, removed, n_removed, waiting, is_waiting
            )
            for k in range(before, n_removed):
                i = owner[removed[k]]
                if counts[i] > 1:
                    heappush(heap, (counts[i] / failure_counts[i], i))
            if empty < 0:
                break
            failures += 1
            failure_counts[empty] += 1.0
            while empty >= 0:
                if depth == 0:
                    return -1
                if failures > most_failures:
                    return 0
                depth -= 1
                while n_removed > marks[depth]:
                    n_removed -= 1
                    x = removed[n_removed]
                    alive[x] = True
                    i = owner[x]
                    counts[i] += 1
                    if counts[i] > 1:
                        heappush(heap, (counts[i] / failure_counts[i], i))
                node = owner[chosen[depth]]
                alive[chosen[depth]] = False
                removed[n_removed] = chosen[depth]
                n_removed += 1
                counts[node] -= 1
                if counts[node] > 1:
                    heappush(heap, (counts[node] / failure_counts[node], node))
                if counts[node] > 0:
                    empty = -1


@inner_kernel
def _propagate(graph, node, alive, counts, removed, n_removed, waiting, is_waiting):
    """Restore arc consistency after the states of `node` have changed.

    Returns
    -------
    empty : int
        A node without a state, or -1.
    n_removed : int
    """
    offsets, starts, neighbours, edges, places, forbidden = graph
    n = len(offsets) - 1
    waiting[0], head, length = node, 0, 1
    is_waiting[node] = True
    empty = -1
    while length > 0:
        j = waiting[head]
        head = head + 1 if head + 1 < n else 0
        length -= 1
        is_waiting[j] = False
        if empty >= 0:
            continue  # only empty the ring
        start_j, states_j = offsets[j], offsets[j + 1] - offsets[j]
        for k in range(starts[j], starts[j + 1]):
            i, at = neighbours[k], places[edges[k]]
            start_i, states_i = offsets[i], offsets[i + 1] - offsets[i]
            step_i, step_j = (states_j, 1) if i < j else (1, states_i)
            changed = False
            for x in range(states_i):
                if not alive[start_i + x]:
                    continue
                has_support = False
                for y in range(states_j):
                    if alive[start_j + y] and not forbidden[at + x * step_i + y * step_j]:
                        has_support = True
                        break
                if not has_support:
                    alive[start_i + x] = False
                    removed[n_removed] = start_i + x
                    n_removed += 1
                    counts[i] -= 1
                    changed = True
            if counts[i] == 0:
                empty = i
                break
            if changed and not is_waiting[i]:
                is_waiting[i] = True
                tail = head + length
                waiting[tail if tail < n else tail - n] = i
                length += 1
    return empty, n_removed
