"""Edge appearance probabilities: the probability of each edge in a random spanning forest.

In a uniformly random spanning tree of a graph, the probability of an edge is its effective
resistance when every edge is a resistor of one ohm (Kirchhoff). Each block (biconnected component)
can be treated separately, and a bridge, which is a block of one edge, has probability 1. Where a
block is too large to compute its resistances, the probabilities are those of a packing: spanning
forests built one after the other, each preferring the edges that were in the fewest so far (Thorup,
"Fully-dynamic min-cut", 2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import kernel

_LARGEST_BLOCK = 1500  # nodes n; resistances take O(n²) memory and O(n³) time
_MOST_WORK = 4e10  # largest sum of n³ over all blocks
# A dense block may be this many times as large, because its packing is slow too: it takes as many
# forests as the block has edges per node.
_DENSE, _DENSE_FACTOR = 0.05, 4
_FEWEST_FORESTS = 24
_BASE_SEED = 0


class Appearance(NamedTuple):
    """Edge appearance probabilities.

    Attributes
    ----------
    probabilities : float64 array, shape (m,)
        0 < ρ_e ≤ 1.
    source : str
        Distribution that the probabilities belong to, as a noun phrase.
    """

    probabilities: np.ndarray
    source: str


def edge_appearance(
    n: int, edges: np.ndarray, *, largest_block: int = _LARGEST_BLOCK
) -> Appearance:
    """Return the appearance probabilities of the edges of a graph of `n` nodes.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    largest_block : int
        Sparse blocks with more nodes than this use a packing.
    """
    probabilities = np.ones(len(edges))
    edges = np.ascontiguousarray(edges, dtype=np.int64)
    block_of, n_blocks = blocks(n, edges)
    by_block = np.argsort(block_of, kind="stable")
    ends = np.cumsum(np.bincount(block_of, minlength=n_blocks))
    work, forests = 0.0, 0
    for members in np.split(by_block, ends[:-1]) if n_blocks else []:
        if len(members) == 1:
            continue
        nodes, local = np.unique(edges[members], return_inverse=True)
        local = np.ascontiguousarray(local.reshape(-1, 2))
        is_dense = len(members) >= _DENSE * len(nodes) ** 2
        most = largest_block * (_DENSE_FACTOR if is_dense else 1)
        if len(nodes) <= most and (is_dense or work + len(nodes) ** 3 <= _MOST_WORK):
            work += len(nodes) ** 3
            probabilities[members] = effective_resistances(len(nodes), local)
        else:
            shares, taken = packing(len(nodes), local)
            probabilities[members] = shares
            forests = max(forests, taken)
    if forests:
        return Appearance(probabilities, f"a packing of {forests} spanning forests")
    return Appearance(probabilities, "a uniformly random spanning forest")


def is_forest(model: PairwiseModel) -> bool:
    """Whether the graph of `model` has no cycle."""
    return model.n_edges < model.n_variables and bool(
        heaviest_forest(model.n_variables, model.edges, np.arange(model.n_edges)).all()
    )


def effective_resistances(n: int, edges: np.ndarray) -> np.ndarray:
    """Return the effective resistance of every edge of a connected graph of unit resistors."""
    laplacian = np.zeros((n, n))
    i, j = edges[:, 0], edges[:, 1]
    np.add.at(laplacian, (i, i), 1.0)
    np.add.at(laplacian, (j, j), 1.0)
    laplacian[i, j] = laplacian[j, i] = -1.0
    potential = np.zeros((n, n))  # node 0 is grounded
    potential[1:, 1:] = np.linalg.inv(laplacian[1:, 1:])
    diagonal = potential.diagonal()
    return np.clip(diagonal[i] + diagonal[j] - potential[i, j] - potential[j, i], 0.0, 1.0)


def packing(n: int, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the share of greedily packed spanning forests with each edge, and their number.

    Forests are added until every edge is in at least one.
    """
    base = np.random.default_rng(_BASE_SEED).permutation(len(edges))  # break ties at random
    counts = np.zeros(len(edges), dtype=np.int64)
    taken = 0
    while taken < _FEWEST_FORESTS or counts.min() == 0:
        order = base[np.argsort(counts[base], kind="stable")]
        counts += heaviest_forest(n, edges, order)
        taken += 1
    return counts / taken, taken


@kernel
def heaviest_forest(n, edges, order):
    """Mark the edges of the spanning forest that adds edges in `order` (Kruskal).

    Returns
    -------
    taken : bool array, shape (m,)
    """
    parent = np.arange(n)
    taken = np.zeros(len(edges), dtype=np.bool_)
    for k in range(len(order)):
        e = order[k]
        i, j = edges[e, 0], edges[e, 1]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i != j:
            parent[max(i, j)] = min(i, j)
            taken[e] = True
    return taken


@kernel
def blocks(n, edges):
    """Find the blocks (biconnected components) of a graph (Hopcroft and Tarjan, 1973).

    Returns
    -------
    block_of : int64 array, shape (m,)
    n_blocks : int
    """
    m = len(edges)
    starts = np.zeros(n + 2, dtype=np.int64)
    for e in range(m):
        starts[edges[e, 0] + 2] += 1
        starts[edges[e, 1] + 2] += 1
    for i in range(2, n + 2):
        starts[i] += starts[i - 1]
    incident = np.empty(2 * m, dtype=np.int64)
    for e in range(m):
        for side in range(2):
            i = edges[e, side]
            incident[starts[i + 1]] = e
            starts[i + 1] += 1
    block_of = np.full(m, -1, dtype=np.int64)
    depth = np.full(n, -1, dtype=np.int64)
    low = np.empty(n, dtype=np.int64)
    at = starts[:n].copy()
    by = np.full(n, -1, dtype=np.int64)  # the edge by which a node was reached
    path = np.empty(n, dtype=np.int64)
    open_edges = np.empty(m, dtype=np.int64)
    n_open, n_blocks, clock = 0, 0, 0
    for root in range(n):
        if depth[root] >= 0:
            continue
        path[0], length = root, 1
        depth[root] = low[root] = clock
        clock += 1
        while length > 0:
            i = path[length - 1]
            if at[i] < starts[i + 1]:
                e = incident[at[i]]
                at[i] += 1
                j = edges[e, 0] + edges[e, 1] - i
                if depth[j] < 0:
                    open_edges[n_open] = e
                    n_open += 1
                    by[j] = e
                    depth[j] = low[j] = clock
                    clock += 1
                    path[length] = j
                    length += 1
                elif e != by[i] and depth[j] < depth[i]:
                    open_edges[n_open] = e
                    n_open += 1
                    low[i] = min(low[i], depth[j])
                continue
            length -= 1
            if length > 0:
                above = path[length - 1]
                low[above] = min(low[above], low[i])
                if low[i] >= depth[above]:
                    while True:
                        n_open -= 1
                        block_of[open_edges[n_open]] = n_blocks
                        if open_edges[n_open] == by[i]:
                            break
                    n_blocks += 1
    return block_of, n_blocks
