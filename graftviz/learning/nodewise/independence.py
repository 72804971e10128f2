"""Distance of pairs of variables from independence."""

from __future__ import annotations

import math

import numpy as np

from graftviz.learning.counts.packed import count_pair
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.utils.compiling import kernel


def distances(counts: PairCounts) -> np.ndarray:
    """Return ‖p_i p_jᵀ − p_D(i, j)‖₂ of every pair, float64, shape (n, n), 0 on the diagonal."""
    n = counts.n_variables
    out = np.zeros((n, n))
    for i in range(n - 1):
        _distances_of_row(counts.packed, i, counts.scratch, out[i])
    return out + out.T


@kernel
def _distances_of_row(packed, i, table, out):
    """Write the distances of the pairs (i, j), j > i, to ``out[j]``."""
    offsets, margins, rows = packed.node_offsets, packed.margins, packed.rows
    states_i = offsets[i + 1] - offsets[i]
    for j in range(i + 1, len(offsets) - 1):
        states_j = offsets[j + 1] - offsets[j]
        count_pair(packed, i, j, table)
        total = 0.0
        for x in range(states_i):
            share = margins[offsets[i] + x] / rows
            for y in range(states_j):
                deviation = share * margins[offsets[j] + y] / rows - table[x * states_j + y] / rows
                total += deviation * deviation
        out[j] = math.sqrt(total)
