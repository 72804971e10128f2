"""Ring layout of a few nodes, with the neighbours in a tree close together."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, depth_first_order

SIDE = 10_000


def ring_layout(n: int, tree: np.ndarray) -> np.ndarray:
    """Return positions on a ring, in the order of a depth-first traversal of a tree.

    Parameters
    ----------
    n : int
    tree : int array, shape (k, 2)
        Edges of a forest; its components follow one another.

    Returns
    -------
    int array, shape (n, 2)
        Coordinates 0 … 10000, y downwards.
    """
    ones = np.ones(len(tree))
    graph = coo_array((ones, (tree[:, 0], tree[:, 1])), shape=(n, n)).tocsr()
    _, parts = connected_components(graph, directed=False)
    starts = np.unique(parts, return_index=True)[1]
    order = np.concatenate(
        [
            depth_first_order(graph, start, directed=False, return_predecessors=False)
            for start in starts.tolist()
        ]
    )
    angles = np.empty(n)
    angles[order] = 2.0 * np.pi * np.arange(n) / n - 0.5 * np.pi
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.rint(SIDE / 2 * (1.0 + circle)).astype(np.int64)
