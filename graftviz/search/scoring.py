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
def belief_score(cells, start, scale, beliefs, at_i, states_i, at_j, states_j, square_root):
    """Score one pair.

    Parameters
    ----------
    cells : int32 array
        ``cells[start:]`` holds the counts, row-major; times `scale` they are p_D(e).
    beliefs : float64 array, flat
        b_i begins at `at_i`, b_j at `at_j`.
    """
    total = 0.0
    at = start
    for a in range(states_i):
        weight = beliefs[at_i + a]
        for b in range(states_j):
            gap = weight * beliefs[at_j + b] - scale * cells[at]
            total += gap * gap
            at += 1
    return np.sqrt(total) / group_dimension(states_i * states_j, square_root)


@njit(cache=True, nogil=True, inline="always")
def score_slot(slot, packed, store, beliefs, square_root, scratch):
    """Score the pair of a slot at the given node beliefs, counting its table if need be.

    Inlined, because handing the nested state to a function costs more than the score itself.
    """
    i, j = store.pairs.first[slot], store.pairs.second[slot]
    at_i, at_j = packed.node_offsets[i], packed.node_offsets[j]
    states_i = packed.node_offsets[i + 1] - at_i
    states_j = packed.node_offsets[j + 1] - at_j
    cells, start = table_cells(packed, store, slot, scratch)
    scale = 1.0 / packed.rows
    return belief_score(cells, start, scale, beliefs, at_i, states_i, at_j, states_j, square_root)


@njit(cache=True, nogil=True)
def score_slots(slots, packed, store, beliefs, square_root, scratch, out):
    """Score many slots into `out`."""
    # Taking an array out of a tuple costs a reference count: once here, not once per pair.
    first, second, cell_offsets = store.pairs.first, store.pairs.second, store.cell_offsets
    offsets, cells, scale = packed.node_offsets, store.cells, 1.0 / packed.rows
    for k in range(len(slots)):
        slot = slots[k]
        start = cell_offsets[slot]
        if start < 0:
            out[k] = score_slot(slot, packed, store, beliefs, square_root, scratch)
            continue
        at_i, at_j = offsets[first[slot]], offsets[second[slot]]
        states_i = offsets[first[slot] + 1] - at_i
        states_j = offsets[second[slot] + 1] - at_j
        out[k] = belief_score(
            cells, start, scale, beliefs, at_i, states_i, at_j, states_j, square_root
        )
