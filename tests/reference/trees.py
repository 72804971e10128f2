"""Tables of random trees, drawn exactly with NetworkX and NumPy alone."""

from __future__ import annotations

import networkx as nx
import numpy as np

from graftviz.data.table import DiscreteTable


def tree_table(n, states, rows, seed, *, edge_sigma=1.0):
    """Return rows of a preferential-attachment tree with N(0, 1) pair potentials, and its edges."""
    rng = np.random.default_rng(seed)
    graph = nx.barabasi_albert_graph(n, 1, seed=seed)
    order = list(nx.bfs_edges(graph, 0))
    pair = {edge: rng.normal(0.0, edge_sigma, (states, states)) for edge in order}
    upward = rng.normal(0.0, 0.5, (n, states))  # node potentials, then with those below
    for parent, child in reversed(order):
        upward[parent] += np.log(np.exp(pair[parent, child] + upward[child]).sum(axis=1))
    codes = np.empty((rows, n), dtype=np.int64)
    codes[:, 0] = _draw(np.tile(upward[0], (rows, 1)), rng)
    for parent, child in order:
        codes[:, child] = _draw((pair[parent, child] + upward[child])[codes[:, parent]], rng)
    table = DiscreteTable.from_codes(codes, cardinalities=[states] * n)
    return table, {(min(edge), max(edge)) for edge in order}


def _draw(logs, rng):
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    above = rng.random(len(logs))[:, None] > cumulative
    return np.minimum(above.sum(axis=1), logs.shape[1] - 1)
