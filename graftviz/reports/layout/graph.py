"""Shared parts of the layouts: frame, sunflower arrangement and hop distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.reports.layout.stress import GOLDEN_ANGLE, hop_distances
from graftviz.utils.arrays import read_only

FRAME = 10_000
REACH = 4_750.0  # maximum distance of nodes from the centre in x and y; the rest is margin
PIVOTS = 80


class Distances(NamedTuple):
    """Hop distances of a graph, as arguments of the kernels in ``stress.py``.

    Attributes
    ----------
    sources : int64 array, shape (k,)
        All nodes, or evenly spaced pivots of a large graph.
    hops : float64 array, shape (k, n)
        Hop distances; for pairs in different components, the negative of their minimum distance.
    offsets, neighbours : int64 arrays, shapes (n + 1,) and (2m,)
        Node i has the neighbours ``neighbours[offsets[i]:offsets[i + 1]]``.
    """

    sources: np.ndarray
    hops: np.ndarray
    offsets: np.ndarray
    neighbours: np.ndarray


def measure(n: int, edges: np.ndarray, largest: int) -> Distances:
    """Return the hop distances of a graph with `edges`, shape (m, 2).

    With up to `largest` nodes, distances are computed from every node, otherwise from `PIVOTS`
    nodes.
    """
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n))])
    neighbours = np.ascontiguousarray(both[:, 1])
    sources = np.arange(n)
    if n > largest:
        sources = np.linspace(0, n - 1, PIVOTS).astype(np.int64)
    hops = np.empty((len(sources), n))
    hop_distances(offsets, neighbours, sources, hops)
    _separate_components(hops)
    return Distances(sources, hops, offsets, neighbours)


def _separate_components(hops: np.ndarray) -> None:
    """Set the minimum distances of pairs in different components, as negative numbers, in place.

    Two discs touch if their centres are two radii apart, and the radius is about the mean distance
    within a component. The smaller radius is used, so that small components can be placed in gaps
    of large ones.
    """
    joined = hops >= 0.0
    if joined.all():
        return
    within = np.where(joined, hops, 0.0)
    of_source = within.sum(axis=1) / joined.sum(axis=1)
    of_node = within.sum(axis=0) / np.maximum(1, joined.sum(axis=0))
    apart = 1.0 + 2.0 * np.minimum(of_source[:, None], of_node[None, :])
    hops[~joined] = -apart[~joined]


def sunflower(n: int) -> np.ndarray:
    """Return n evenly spread points of the unit disc, from its centre outwards, shape (n, 2)."""
    order = np.arange(n)
    radius = np.sqrt((order + 0.5) / max(1, n))
    return radius[:, None] * spokes(n)


def spokes(n: int) -> np.ndarray:
    """Return n unit vectors, each rotated by the golden angle from the previous one, (n, 2)."""
    angles = np.arange(n) * GOLDEN_ANGLE
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def in_frame(positions: np.ndarray) -> np.ndarray:
    """Return positions relative to the centre as integer coordinates of the frame, read-only."""
    return read_only(np.clip(np.rint(positions + FRAME / 2), 0, FRAME).astype(np.int64))
