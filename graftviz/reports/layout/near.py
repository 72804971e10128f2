"""Layout of a small graph near target positions, such as those of a related graph."""

from __future__ import annotations

import math

import numpy as np

from graftviz.reports.layout.graph import FRAME, REACH, in_frame
from graftviz.reports.layout.stress import push_apart

ROOM = 0.92  # minimum distance of two nodes, in units of an even spread over the square
PULL = 0.16  # strength of the attraction along edges, per round
ROUNDS = 12


def layout_near(places: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return positions near `places` without overlaps, with connected nodes closer together.

    Parameters
    ----------
    places : array, shape (n, 2)
        Target positions, 0 … 10000, possibly equal for several nodes.
    edges : int array, shape (m, 2)

    Returns
    -------
    int64 array, shape (n, 2), read-only
        Coordinates 0 … 10000.
    """
    targets = np.asarray(places, dtype=np.float64).reshape(-1, 2) - FRAME / 2
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    n = len(targets)
    if n == 0:
        return in_frame(targets)
    spread = np.abs(targets).max()
    positions = np.ascontiguousarray(targets * (REACH / spread if spread > 0.0 else 1.0))
    gap = ROOM * 2 * REACH / math.sqrt(max(n, 4))
    counts = np.maximum(1, np.bincount(pairs.reshape(-1), minlength=n))[:, None]
    for _ in range(ROUNDS):
        pull = np.zeros_like(positions)
        across = positions[pairs[:, 1]] - positions[pairs[:, 0]]
        np.add.at(pull, pairs[:, 0], across)
        np.add.at(pull, pairs[:, 1], -across)
        positions += PULL * pull / counts
        push_apart(positions, gap, 8)
    push_apart(positions, gap, 60)
    return in_frame(_stretch_to_frame(positions))


def _stretch_to_frame(positions: np.ndarray) -> np.ndarray:
    """Return a layout stretched along each axis towards the margins of the frame."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    spans = np.maximum(high - low, 1.0)
    stretch = np.minimum(2 * REACH / spans, 2.0)
    return np.asarray((positions - (low + high) / 2) * stretch)
