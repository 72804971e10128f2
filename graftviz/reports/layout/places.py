"""Layout of the variables shared by all graphs of a race."""

from __future__ import annotations

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.run import learn_network
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.reports.layout.static import static_layout

MOST_COUNTED = 500_000  # pairs counted to compute a layout; beyond, nodes are spread evenly


def common_places(
    table: DiscreteTable,
    positions: np.ndarray | None = None,
    truth: np.ndarray | None = None,
) -> np.ndarray:
    """Return node positions that do not depend on the result of any racer.

    These are `positions` if set, else a layout of `truth` if set, else a layout of the Chow–Liu
    tree, which depends on the data only.

    Parameters
    ----------
    table : DiscreteTable
        The rows to learn from.
    positions : array, shape (n, 2), optional
        Predefined positions, 0 … 10000.
    truth : int array, shape (k, 2), optional

    Returns
    -------
    array, shape (n, 2)
        0 … 10000, y downwards.
    """
    if positions is not None:
        return positions
    n = table.n_variables
    if truth is not None and len(truth):
        return static_layout(n, truth)
    if n * (n - 1) // 2 > MOST_COUNTED or n < 2 or table.n_rows < 2:
        return static_layout(n, np.zeros((0, 2), dtype=np.int64))
    return static_layout(n, learn_network(table, ChowLiu()).model.edges)
