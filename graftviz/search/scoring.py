"""The belief score of inactive edges (BC eq. 5), as kernels over pair tables.

s_e = ‖b_i b_jᵀ - p_D(e)‖₂ / d_e: the gradient of the Bethe likelihood in the weights of an
inactive edge, in units of λ.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graftviz.counts import table_cells
from graftviz.fitting.penalty import group_dimension


@njit(cache=True, nogil=True)
def belief_score(cells, scale, belief_i, belief_j, square_root):
    """Score one pair.

    Parameters
    ----------
    cells : int32 array
        Counts, row-major; times `scale` they are p_D(e).
    """
    states_i, states_j = len(belief_i), len(belief_j)
    total = 0.0
    for a in range(states_i):
        weight = belief_i[a]
        for b in range(states_j):
            gap = weight * belief_j[b] - scale * cells[a * states_j + b]
            total += gap * gap
    return np.sqrt(total) / group_dimension(states_i * states_j, square_root)


@njit(cache=True, nogil=True)
def score_slot(slot, packed, store, beliefs, square_root, scratch):
    """Score the pair of a slot at the given node beliefs, counting its table if need be."""
    i, j = store.pairs.first[slot], store.pairs.second[slot]
    offsets = packed.node_offsets
    cells = table_cells(packed, store, slot, scratch)
    return belief_score(
        cells,
        1.0 / packed.rows,
        beliefs[offsets[i] : offsets[i + 1]],
        beliefs[offsets[j] : offsets[j + 1]],
        square_root,
    )


@njit(cache=True, nogil=True)
def score_slots(slots, packed, store, beliefs, square_root, scratch, out):
    """Score many slots into `out`."""
    for k in range(len(slots)):
        out[k] = score_slot(slots[k], packed, store, beliefs, square_root, scratch)
