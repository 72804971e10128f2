"""Pair counts of a table with missing values, from the rows that have both values of a pair.

Tables of different pairs come from different rows, so their margins differ. Each is scaled to the
margins of all observed values of its two variables by iterative proportional fitting, which leaves
the odds ratios as they are; then all tables agree, as those of complete rows do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.table import AvailableTable

_SWEEPS = 100
_TOLERANCE = 1e-12


class AvailablePairs(NamedTuple):
    """Shares of states of a table with missing values.

    Attributes
    ----------
    rows : float
        Mean total weight of the rows that have both values of a pair.
    margins : float64 array, flat
        Shares of the states of every variable among its observed values.
    cells : float64 array, flat
        Shares of the states of the pairs (0, 1), (0, 2), …, (1, 2), …, with these margins.
    """

    rows: float
    margins: np.ndarray
    cells: np.ndarray


def available_pairs(table: AvailableTable) -> AvailablePairs:
    """Return the shares of all pairs, from the rows in which both values are observed."""
    sizes, weights = table.cardinalities, table.row_weights
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    indicators = np.array(
        [
            (table.codes[i] == k) & table.observed[i]
            for i, size in enumerate(sizes.tolist())
            for k in range(size)
        ],
        dtype=np.float64,
    )
    totals = table.pair_totals
    margins = indicators @ weights / np.repeat(np.diag(totals), sizes)
    parts = []
    for i in range(len(sizes) - 1):
        at = slice(offsets[i], offsets[i + 1])
        block = (indicators[at] * weights) @ indicators[offsets[i + 1] :].T
        for j in range(i + 1, len(sizes)):
            first, last = offsets[j] - offsets[i + 1], offsets[j + 1] - offsets[i + 1]
            cells = np.ascontiguousarray(block[:, first:last])
            fit_margins(cells, margins[at], margins[offsets[j] : offsets[j + 1]])
            parts.append(cells.reshape(-1))
    rows = float(totals[np.triu_indices(len(sizes), 1)].mean())
    return AvailablePairs(rows, margins, np.concatenate(parts))


@njit(cache=True, nogil=True)
def fit_margins(table, rows, columns):
    """Scale a table in place to given margins; without any count it becomes their product."""
    total = table.sum()
    for a in range(len(rows)):
        for b in range(len(columns)):
            table[a, b] = table[a, b] / total if total > 0.0 else rows[a] * columns[b]
    for _ in range(_SWEEPS):
        worst = 0.0
        for a in range(len(rows)):
            found = table[a].sum()
            worst = max(worst, abs(found - rows[a]))
            if found > 0.0:
                table[a] *= rows[a] / found
        for b in range(len(columns)):
            found = table[:, b].sum()
            if found > 0.0:
                table[:, b] *= columns[b] / found
        if worst < _TOLERANCE:
            break
