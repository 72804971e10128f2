"""Possible states of a model with zero potentials.

Arc consistency (Mackworth, "Consistency in networks of relations", 1977): a state that has no state
with a positive potential at some neighbour has probability zero and is removed, until no more
states can be removed. On forests exactly the states of positive probability remain. Message passing
over the remaining states has no zero messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel


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
