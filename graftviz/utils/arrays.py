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
