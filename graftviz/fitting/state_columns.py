"""Conditionals in columns, for sums over the rows in which another variable has some state.

The fit stores the probabilities of a variable row by row; here each state has its own column. The
rows in a state are given by a plane of bits, as in the counting of pairs. Columns are copies, made
when the conditionals have changed; they save most of the work of a score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.fitting.conditionals import Conditionals
from graftviz.fitting.masked_sums import add_masked
from graftviz.kernels import inner_kernel

_WORD = 64
WORDS_AT_ONCE = 32


class StateColumns(NamedTuple):
    """Kernel-side state; R distinct rows fill W words of bits, padded with zeros.

    Attributes
    ----------
    planes : uint64 array, flat
        W words for each state of each variable except its last.
    plane_offsets : int64 array, shape (n + 1,)
        Planes of variable i are ``plane_offsets[i]`` … ``plane_offsets[i + 1]``.
    columns : float32 array, flat
        u p(x_i = a | rest) of all rows, 64 W numbers for each state a except the last.
    starts : int64 array, shape (n,)
        Start of the columns of a variable; -1: it has none.
    totals : float64 array, flat
        Σ u p(x_i = a | rest) over all rows, all states of all variables.
    words : int
        W.
    """

    planes: np.ndarray
    plane_offsets: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    totals: np.ndarray
    words: int


def new_state_columns(rows: Conditionals) -> StateColumns:
    """Return the planes of all variables, without columns."""
    n, different = rows.codes.shape
    sizes = np.diff(rows.node_offsets)
    words = -(-different // _WORD)
    plane_offsets = np.concatenate([[0], np.cumsum(sizes - 1)])
    planes = np.zeros((int(plane_offsets[-1]), words), dtype="<u8")
    for i in range(n):
        bits = np.zeros((int(sizes[i]) - 1, words * _WORD), dtype=np.bool_)
        bits[:, :different] = rows.codes[i] == np.arange(int(sizes[i]) - 1)[:, None]
        packed = np.packbits(bits, axis=1, bitorder="little")
        planes[plane_offsets[i] : plane_offsets[i + 1]] = packed.view("<u8")
    return StateColumns(
        planes=planes.astype(np.uint64).reshape(-1),
        plane_offsets=plane_offsets,
        columns=np.zeros(0, dtype=np.float32),
        starts=np.full(n, -1, dtype=np.int64),
        totals=np.zeros(int(rows.node_offsets[-1])),
        words=words,
    )


def with_columns(state: StateColumns, nodes: np.ndarray) -> StateColumns:
    """Return the state with columns allocated for `nodes`."""
    new = nodes[state.starts[nodes] < 0]
    if len(new) == 0:
        return state
    sizes = (state.plane_offsets[new + 1] - state.plane_offsets[new]) * state.words * _WORD
    used = int(np.diff(state.plane_offsets)[state.starts >= 0].sum()) * state.words * _WORD
    needed = used + int(sizes.sum())
    columns = state.columns
    if needed > len(columns):
        most = int(state.plane_offsets[-1]) * state.words * _WORD
        columns = np.zeros(min(2 * needed, most), dtype=np.float32)
        columns[:used] = state.columns[:used]
    state.starts[new] = used + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return state._replace(columns=columns)


@njit(cache=True, nogil=True)
def fill_columns(state, block, multiplicity, i, at, states):
    """Copy a block of conditionals, shape (R, lanes), to the columns of variable i.

    Parameters
    ----------
    at : int
        ``totals[at:at + states]`` belong to the variable.
    """
    columns, totals, width = state.columns, state.totals, state.words * _WORD
    start = state.starts[i]
    for a in range(states):
        totals[at + a] = 0.0
    for a in range(states - 1):
        into = columns[start + a * width : start + (a + 1) * width]
        for m in range(block.shape[0]):
            into[m] = multiplicity[m] * block[m, a]
    whole = 0.0
    for m in range(block.shape[0]):
        whole += multiplicity[m]
    totals[at + states - 1] = whole
    for a in range(states - 1):
        total = 0.0
        for m in range(block.shape[0]):
            total += columns[start + a * width + m]
        totals[at + a] = total
        totals[at + states - 1] -= total


@inner_kernel
def _add_tile(state, column, plane, first_word, words, into, out, count):
    """Add the sums of `count` ≤ 4 columns; the length of the tuple is the compile-time count."""
    columns, planes, width = state.columns, state.planes, state.words * _WORD
    at, bits = column + first_word * _WORD, plane * state.words + first_word
    if count == 4:
        add_masked(columns, at, width, planes, bits, words, out, into, (0, 0, 0, 0))
    elif count == 3:
        add_masked(columns, at, width, planes, bits, words, out, into, (0, 0, 0))
    elif count == 2:
        add_masked(columns, at, width, planes, bits, words, out, into, (0, 0))
    else:
        add_masked(columns, at, width, planes, bits, words, out, into, (0,))


@njit(cache=True, nogil=True)
def sum_by_state(state, i, j, at_i, states_i, states_j, counts_j, sums):
    """Write Σ u p(x_i = a | rest) over the rows with x_j = b to ``sums[b * states_i + a]``.

    Parameters
    ----------
    at_i : int
        Start of the totals of variable i.
    counts_j : float64 array, shape (s_j,)
        Number of rows with x_j = b.
    sums : float64 array, flat
    """
    for k in range(states_i * states_j):
        sums[k] = 0.0
    for word in range(0, state.words, WORDS_AT_ONCE):
        add_words(state, i, j, word, states_i, states_j, sums)
    complete_sums(state, at_i, states_i, states_j, counts_j, sums)


@njit(cache=True, nogil=True)
def add_words(state, i, j, word, states_i, states_j, sums):
    """Add the rows of WORDS_AT_ONCE words, or of those left, to the sums of all but last states."""
    words = min(WORDS_AT_ONCE, state.words - word)
    start, plane, width = state.starts[i], state.plane_offsets[j], state.words * _WORD
    for b in range(states_j - 1):
        a = 0
        while a < states_i - 1:
            count = min(4, states_i - 1 - a)
            column, into = start + a * width, b * states_i + a
            _add_tile(state, column, plane + b, word, words, into, sums, count)
            a += count


@njit(cache=True, nogil=True)
def complete_sums(state, at_i, states_i, states_j, counts_j, sums):
    """Write the sums of the last states, which follow from the others and the totals."""
    last_a, last_b = states_i - 1, states_j - 1
    last = last_b * states_i
    for a in range(last_a):
        sums[last + a] = state.totals[at_i + a]
        for b in range(last_b):
            sums[last + a] -= sums[b * states_i + a]
    for b in range(states_j):
        at = b * states_i
        sums[at + last_a] = counts_j[b]
        for a in range(last_a):
            sums[at + last_a] -= sums[at + a]
