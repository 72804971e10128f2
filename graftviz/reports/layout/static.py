"""Layout of a static graph, such as the true structure of a sample."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from graftviz.reports.layout.graph import REACH, Distances, in_frame, measure, sunflower
from graftviz.reports.layout.stress import anneal, push_apart, settle

LARGEST_ANNEALED = 2_000  # above this, annealing, which visits all pairs, is omitted
SETTLING = 5  # sweeps of majorisation, which remove the noise of annealing, or of the start
ELBOW_ROOM = 0.55  # minimum distance of two nodes, in units of an even spread over the square


def static_layout(n: int, edges: np.ndarray, seed: int = 0, iterations: int = 30) -> np.ndarray:
    """Return a layout of a graph that fills the frame.

    Parameters
    ----------
    n : int
    edges : int array, shape (m, 2)
    seed : int
        Seed of the order in which pairs are visited.
    iterations : int
        Annealing sweeps over all pairs, at least 2.

    Returns
    -------
    int64 array, shape (n, 2), read-only
        Coordinates 0 … 10000.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    distances = measure(n, edges, LARGEST_ANNEALED)
    widest = max(1.0, float(np.abs(distances.hops).max()))
    positions = _start(n, distances) * widest / 2
    sweeps = SETTLING
    if n <= LARGEST_ANNEALED:
        rates = np.geomspace(widest**2, 0.05, max(2, iterations))
        rng = np.random.default_rng(seed)
        orders = np.stack([rng.permutation(n) for _ in rates])
        anneal(positions, distances.hops, rates, orders)
    settle(
        positions,
        distances.sources,
        distances.hops,
        distances.offsets,
        distances.neighbours,
        1.0,
        sweeps,
    )
    positions = _fill_square(positions)
    push_apart(positions, ELBOW_ROOM * 2 * REACH / math.sqrt(n), 60)
    return in_frame(np.clip(positions, -REACH, REACH))


def _start(n: int, distances: Distances) -> np.ndarray:
    """Return an initial layout in the unit disc, with nodes of high degree in the centre, (n, 2).

    A connected part of more than half of a large graph is arranged by a breadth-first tree, so that
    the edges of the tree do not cross.
    """
    degrees = np.diff(distances.offsets)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(-degrees, kind="stable")] = np.arange(n)
    positions = np.ascontiguousarray(sunflower(n)[rank])
    if n <= LARGEST_ANNEALED:
        return positions
    ones = np.ones(len(distances.neighbours))
    graph = csr_array((ones, distances.neighbours, distances.offsets), shape=(n, n))
    _, parts = connected_components(graph, directed=False)
    members = np.flatnonzero(parts == np.argmax(np.bincount(parts)))
    if 2 * len(members) > n:
        root = int(members[np.argmax(degrees[members])])
        order, parents = breadth_first_order(graph, root, directed=False)
        positions[order] = _radial(order, parents) * math.sqrt(len(order) / n)
    return positions


def _radial(order: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Return a radial layout of a tree in the unit disc: rings by depth, of equal density, (k, 2).

    A subtree fills a sector of an angle in proportion to its number of nodes.

    Parameters
    ----------
    order : int array, shape (k,)
        Nodes of the tree in breadth-first order.
    parents : int array, shape (n,)
        Parent of each node; that of the root is negative.
    """
    sizes = dict.fromkeys(order.tolist(), 1)
    for node in order[:0:-1].tolist():
        sizes[parents[node]] += sizes[node]
    root = int(order[0])
    depths, starts, widths = {root: 0}, {root: 0.0}, {root: 2.0 * math.pi}
    used = dict(starts)  # up to which angle the sector of a node is divided among its children
    for node in order[1:].tolist():
        parent = int(parents[node])
        depths[node] = depths[parent] + 1
        widths[node] = widths[parent] * sizes[node] / (sizes[parent] - 1)
        starts[node] = used[node] = used[parent]
        used[parent] += widths[node]
    depth = np.array([depths[node] for node in order.tolist()])
    angles = np.array([starts[node] + widths[node] / 2 for node in order.tolist()])
    inside = np.concatenate([[0], np.cumsum(np.bincount(depth))])
    radii = np.sqrt((inside[depth] + inside[depth + 1] - 1) / (2 * len(order)))
    return np.asarray(radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _fill_square(positions: np.ndarray) -> np.ndarray:
    """Return a layout rotated, stretched and spread so that it fills the square."""
    centred = positions - positions.mean(axis=0)
    angles = np.linspace(0.0, math.pi / 2, 180, endpoint=False)
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    across = centred[:, 0] * cosine - centred[:, 1] * sine
    down = centred[:, 0] * sine + centred[:, 1] * cosine
    # The smallest bounding square also aligns a grid with the axes.
    best = int(np.maximum(np.ptp(across, axis=1), np.ptp(down, axis=1)).argmin())
    turned = np.stack([across[best], down[best]], axis=1)
    low, high = turned.min(axis=0), turned.max(axis=0)
    spans = np.maximum(high - low, 1e-9)
    units = (turned - (low + high) / 2) / (spans / 2)
    # x ↦ x (1 + c (1 − x²)) spreads a crowded centre; with c, |x| has the mean of an even spread.
    room = np.maximum((np.abs(units) * (1.0 - units**2)).mean(axis=0), 1e-9)
    opening = np.clip((0.5 - np.abs(units).mean(axis=0)) / room, 0.0, 0.45)
    stretch = np.minimum(1.0, 1.25 * spans / spans.max())
    return np.ascontiguousarray(units * (1.0 + opening * (1.0 - units**2)) * stretch * REACH)
