"""What both layouts need: the frame, the sunflower, and how many hops apart the nodes are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.layout.stress import GOLDEN_ANGLE, hop_distances

FRAME = 10_000
REACH = 4_750.0  # from the centre of the frame to where nodes may lie; the rest is margin
PIVOTS = 80


class Distances(NamedTuple):
    """Hop distances of a graph in the form the kernels of :mod:`graftviz.layout.stress` take.

    Attributes
    ----------
    sources : int64 array, shape (k,)
        All nodes, or evenly drawn pivots of a large graph.
    hops : float64 array, shape (k, n)
        Negative for pairs that no path joins: minus the distance they should at least keep.
    offsets, neighbours : int64 arrays, shapes (n + 1,) and (2m,)
        Node i has the neighbours ``neighbours[offsets[i]:offsets[i + 1]]``.
    """

    sources: np.ndarray
    hops: np.ndarray
    offsets: np.ndarray
    neighbours: np.ndarray


def measure(n: int, edges: np.ndarray, largest: int) -> Distances:
    """Return the hop distances of a graph with `edges`, shape (m, 2).

    Up to `largest` nodes they are measured from every node, beyond from `PIVOTS` of them.
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
    _part_components(hops)
    return Distances(sources, hops, offsets, neighbours)


def _part_components(hops: np.ndarray) -> None:
    """Give pairs that no path joins the distance at which their components lie side by side.

    Two discs touch when their centres are two radii apart, and a radius is about the mean distance
    within; the smaller of the two is taken so that small components may nestle in large ones.
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
    """Return n points spread evenly over the unit disc, from its middle outwards, shape (n, 2)."""
    order = np.arange(n)
    radius = np.sqrt((order + 0.5) / max(1, n))
    return radius[:, None] * spokes(n)


def spokes(n: int) -> np.ndarray:
    """Return n unit vectors, each turned by the golden angle against the one before; (n, 2)."""
    angles = np.arange(n) * GOLDEN_ANGLE
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def in_frame(positions: np.ndarray) -> np.ndarray:
    """Turn positions about the centre into whole coordinates of the frame, read-only."""
    placed = np.clip(np.rint(positions + FRAME / 2), 0, FRAME).astype(np.int64)
    placed.flags.writeable = False
    return placed
