"""Positions of nodes on a lattice."""

from __future__ import annotations

import numpy as np

_CANVAS = 10_000  # positions range from 0 to this, as the player expects them
_MARGIN = 500


def lattice_positions(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return coordinates in 0 … 10000, shape (n, 2), for nodes on a lattice; row 0 is at the top.

    Both axes have the same scale, and the lattice is centred.
    """
    places = np.stack([columns, rows], axis=-1).astype(np.float64)
    places -= places.min(axis=0)
    extent = places.max(axis=0)
    scale = (_CANVAS - 2 * _MARGIN) / max(extent.max(), 1.0)
    return _CANVAS / 2 + (places - extent / 2) * scale
