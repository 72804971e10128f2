"""Communities of a model's graph, and the order of its nodes in an adjacency matrix."""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx
import numpy as np

from graftviz.utils.arrays import freeze

MOST_LOUVAIN = 30_000  # edges; Louvain's method takes seconds beyond, label propagation does not


class Communities(NamedTuple):
    """Communities of a graph, largest first; within each, nodes are in the order of their degree.

    Attributes
    ----------
    order : int64 array, shape (n,)
        Nodes in the order of the matrix.
    starts : int64 array, shape (k + 1,)
        Community c has the nodes ``order[starts[c]:starts[c + 1]]``.
    modularity : float
        Share of the edges within communities, minus the share expected at random; nan without
        edges.
    """

    order: np.ndarray
    starts: np.ndarray
    modularity: float


def find_communities(n: int, edges: np.ndarray) -> Communities:
    """Return the communities of a graph, by Louvain's method or, of a large graph, by labels.

    Parameters
    ----------
    n : int
    edges : int array, shape (m, 2)
    """
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges.tolist())
    find = nx.community.louvain_communities
    if len(edges) > MOST_LOUVAIN:
        find = nx.community.fast_label_propagation_communities
    found = [sorted(part) for part in find(graph, seed=0)]
    found.sort(key=lambda part: (-len(part), part))
    degrees = np.bincount(edges.reshape(-1), minlength=n)
    order = np.array(
        [i for part in found for i in sorted(part, key=lambda i: (-degrees[i], i))], dtype=np.int64
    )
    starts = np.cumsum([0, *map(len, found)])
    modularity = nx.community.modularity(graph, found) if len(edges) else float("nan")
    freeze(order, starts)
    return Communities(order, starts, modularity)
