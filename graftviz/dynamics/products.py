"""Products of arrays whose multiplications are counted as they are made."""

from __future__ import annotations

import numpy as np


class Products:
    """Counter of multiplications, which computes the products itself.

    Attributes
    ----------
    count : int
        Multiplications up to now. Those inside a decomposition of an m × n matrix, which a library
        makes, are counted as m n min(m, n), without the constant of its algorithm.

    Examples
    --------
    >>> times = Products()
    >>> times(np.ones((2, 3)), np.ones(3)).shape, times.count
    ((2,), 6)
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return ``left @ right``."""
        self.count += left.size * right.size // left.shape[-1] if left.size else 0
        product: np.ndarray = left @ right
        return product

    def decomposed(self, matrix: np.ndarray) -> None:
        """Count a decomposition of `matrix` by a library."""
        self.count += matrix.size * min(matrix.shape)
