"""Small functions of arrays."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


def freeze(*arrays: np.ndarray) -> None:
    """Make arrays read-only."""
    for array in arrays:
        array.flags.writeable = False


def places_of(edges: np.ndarray, i: int, j: int) -> np.ndarray:
    """Return the rows of an array of edges, shape (k, 2), that are the edge (i, j)."""
    return np.flatnonzero((edges == (i, j)).all(axis=1))


def flat_positions(offsets: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the flat positions of `groups`: arange(o[g], o[g + 1]), group after group."""
    groups = np.asarray(groups, dtype=np.int64)
    sizes = offsets[groups + 1] - offsets[groups]
    before = np.cumsum(sizes) - sizes
    positions: np.ndarray = np.repeat(offsets[groups] - before, sizes) + np.arange(sizes.sum())
    return positions
