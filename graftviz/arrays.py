"""Read-only arrays."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array
