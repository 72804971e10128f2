"""Conditional probabilities p(x_i | rest) of every row, updated as the weights change.

The pseudo-likelihood is a function of them alone. Each connected variable has one row-major block
of single-precision probabilities, one lane per state (padded to 4, 8, 16, …). A change of weights
multiplies the rows by a small table and normalises them again, without an exponential per row. Rows
with the same state of the partner are contiguous in the partner's `order`, so that the row of the
table and the sums stay in registers. A variable without edges has one distribution for all rows and
no block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.kernels import inner_kernel

BLOCK = 512  # rows summed in single precision before the sum goes to double precision
SMALLEST = np.float32(1e-30)  # keeps probabilities away from subnormal floats, which are slow
_LANES = 8
_EIGHTS = BLOCK // 8


class Conditionals(NamedTuple):
    """Kernel-side state of the conditionals.

    Attributes
    ----------
    codes : uint8 or uint16 array, shape (n, R)
        States of the R distinct rows.
    multiplicity : float32 array, shape (R,)
        Number of occurrences of each distinct row; they sum to N.
    node_offsets : int64 array, shape (n + 1,)
    margins : float64 array, flat
        Shares p_D(i) of the states.
    alone : float64 array, flat
        p(x_i) of a variable without a block, the same in all rows: `margins`, unless its weights
        are penalised.
    starts : int64 array, shape (n,)
        Start of a variable's block in `probabilities`; -1: it has none.
    places : int64 array, shape (n,)
        Row of `order` and `impurity` of a variable; -1: none.
    lanes : int64 array, shape (n,)
        Number of columns of the block, s_i rounded up.
    probabilities : float32 array, flat
        p(x_i | rest), R rows of `lanes` columns; padding columns are almost 0.
    order : int32 array, shape (places, R)
        Rows sorted by the variable's own state, stable.
    groups : int64 array, flat
        Boundaries of the states within `order`: s_i + 1 entries from ``node_offsets[i] + i``.
    impurity : float32 array, shape (places, R)
        1 - Σ_a p(a | rest)², the variance of the variable's indicators given the rest.
    rows : float64
        N.
    """

    codes: np.ndarray
    multiplicity: np.ndarray
    node_offsets: np.ndarray
    margins: np.ndarray
    alone: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    lanes: np.ndarray
    probabilities: np.ndarray
    order: np.ndarray
    groups: np.ndarray
    impurity: np.ndarray
    rows: float


def lanes_of(states: int) -> int:
    """Return the number of columns for `states` states."""
    return 4 if states <= 4 else -(-states // _LANES) * _LANES


@inner_kernel
def _mix_4(block, order, first, last, multiplicity, factor, sums, squares):
    """Multiply rows by `factor`, normalise, and add p and p² to the sums: 4 lanes."""
    f0, f1, f2, f3 = factor[0], factor[1], factor[2], factor[3]
    zero, one = np.float32(0.0), np.float32(1.0)
    s0 = s1 = s2 = s3 = zero
    q0 = q1 = q2 = q3 = zero
    for k in range(first, last):
        row = block[order[k]]
        v0 = row[0] * f0
        v1 = row[1] * f1
        v2 = row[2] * f2
        v3 = row[3] * f3
        scale = one / ((v0 + v1) + (v2 + v3))
        v0 = max(v0 * scale, SMALLEST)
        v1 = max(v1 * scale, SMALLEST)
        v2 = max(v2 * scale, SMALLEST)
        v3 = max(v3 * scale, SMALLEST)
        row[0] = v0
        row[1] = v1
        row[2] = v2
        row[3] = v3
        u = multiplicity[order[k]]
        s0 += u * v0
        s1 += u * v1
        s2 += u * v2
        s3 += u * v3
        q0 += u * v0 * v0
        q1 += u * v1 * v1
        q2 += u * v2 * v2
        q3 += u * v3 * v3
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    squares[0] += q0
    squares[1] += q1
    squares[2] += q2
    squares[3] += q3


@inner_kernel
def _mix_8(block, order, first, last, multiplicity, factor, sums, squares):
    """Multiply rows by `factor`, normalise, and add p and p² to the sums: 8 lanes."""
    f0, f1, f2, f3 = factor[0], factor[1], factor[2], factor[3]
    f4, f5, f6, f7 = factor[4], factor[5], factor[6], factor[7]
    zero, one = np.float32(0.0), np.float32(1.0)
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = zero
    q0 = q1 = q2 = q3 = q4 = q5 = q6 = q7 = zero
    for k in range(first, last):
        row = block[order[k]]
        v0 = row[0] * f0
        v1 = row[1] * f1
        v2 = row[2] * f2
        v3 = row[3] * f3
        v4 = row[4] * f4
        v5 = row[5] * f5
        v6 = row[6] * f6
        v7 = row[7] * f7
        scale = one / (((v0 + v4) + (v1 + v5)) + ((v2 + v6) + (v3 + v7)))
        v0 = max(v0 * scale, SMALLEST)
        v1 = max(v1 * scale, SMALLEST)
        v2 = max(v2 * scale, SMALLEST)
        v3 = max(v3 * scale, SMALLEST)
        v4 = max(v4 * scale, SMALLEST)
        v5 = max(v5 * scale, SMALLEST)
        v6 = max(v6 * scale, SMALLEST)
        v7 = max(v7 * scale, SMALLEST)
        row[0] = v0
        row[1] = v1
        row[2] = v2
        row[3] = v3
        row[4] = v4
        row[5] = v5
        row[6] = v6
        row[7] = v7
        u = multiplicity[order[k]]
        s0 += u * v0
        s1 += u * v1
        s2 += u * v2
        s3 += u * v3
        s4 += u * v4
        s5 += u * v5
        s6 += u * v6
        s7 += u * v7
        q0 += u * v0 * v0
        q1 += u * v1 * v1
        q2 += u * v2 * v2
        q3 += u * v3 * v3
        q4 += u * v4 * v4
        q5 += u * v5 * v5
        q6 += u * v6 * v6
        q7 += u * v7 * v7
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    sums[4] += s4
    sums[5] += s5
    sums[6] += s6
    sums[7] += s7
    squares[0] += q0
    squares[1] += q1
    squares[2] += q2
    squares[3] += q3
    squares[4] += q4
    squares[5] += q5
    squares[6] += q6
    squares[7] += q7


@inner_kernel
def _mix_any(block, order, first, last, multiplicity, factor, sums, squares):
    """Multiply rows by `factor`, normalise, and add p and p² to the sums: any number of lanes."""
    lanes = block.shape[1]
    for k in range(first, last):
        row = block[order[k]]
        total = np.float32(0.0)
        for a in range(lanes):
            value = row[a] * factor[a]
            row[a] = value
            total += value
        scale = np.float32(1.0) / total
        u = multiplicity[order[k]]
        for a in range(lanes):
            value = max(row[a] * scale, SMALLEST)
            row[a] = value
            sums[a] += u * value
            squares[a] += u * value * value


@njit(cache=True, nogil=True)
def mix(block, order, groups, multiplicity, factors, sums, squares):
    """Multiply each row of a block by the factors of its group, normalise it, and sum per group.

    Parameters
    ----------
    block : float32 array, shape (R, lanes)
        Overwritten.
    order, groups : arrays
        Rows sorted by the state b of the partner; group b is ``order[groups[b]:groups[b + 1]]``.
    factors : float32 array, shape (s_j, lanes)
    sums, squares : float64 arrays, shape (≥ s_j, ≥ lanes)
        Receive Σ p(a | rest) and Σ p(a | rest)² over the rows of each group.
    """
    lanes = block.shape[1]
    for b in range(len(groups) - 1):
        for a in range(lanes):
            sums[b, a] = 0.0
            squares[b, a] = 0.0
        for first in range(groups[b], groups[b + 1], BLOCK):
            last = min(first + BLOCK, groups[b + 1])
            if lanes == 4:
                _mix_4(block, order, first, last, multiplicity, factors[b], sums[b], squares[b])
            elif lanes == 8:
                _mix_8(block, order, first, last, multiplicity, factors[b], sums[b], squares[b])
            else:
                _mix_any(block, order, first, last, multiplicity, factors[b], sums[b], squares[b])


@inner_kernel
def _sum_4(block, order, first, last, multiplicity, sums):
    s0 = s1 = s2 = s3 = np.float32(0.0)
    for k in range(first, last):
        row = block[order[k]]
        u = multiplicity[order[k]]
        s0 += u * row[0]
        s1 += u * row[1]
        s2 += u * row[2]
        s3 += u * row[3]
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3


@inner_kernel
def _sum_8(block, order, first, last, multiplicity, sums):
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0.0)
    for k in range(first, last):
        row = block[order[k]]
        u = multiplicity[order[k]]
        s0 += u * row[0]
        s1 += u * row[1]
        s2 += u * row[2]
        s3 += u * row[3]
        s4 += u * row[4]
        s5 += u * row[5]
        s6 += u * row[6]
        s7 += u * row[7]
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    sums[4] += s4
    sums[5] += s5
    sums[6] += s6
    sums[7] += s7


@njit(cache=True, nogil=True)
def sum_by_group(block, order, groups, multiplicity, sums):
    """Sum the rows of a block per group of `order`, like :func:`mix` but without changing them."""
    lanes = block.shape[1]
    for b in range(len(groups) - 1):
        for a in range(lanes):
            sums[b, a] = 0.0
        for first in range(groups[b], groups[b + 1], BLOCK):
            last = min(first + BLOCK, groups[b + 1])
            if lanes == 4:
                _sum_4(block, order, first, last, multiplicity, sums[b])
            elif lanes == 8:
                _sum_8(block, order, first, last, multiplicity, sums[b])
            else:
                for k in range(first, last):
                    for a in range(lanes):
                        sums[b, a] += multiplicity[order[k]] * block[order[k], a]


@njit(cache=True, nogil=True)
def fill_impurity(block, states, out):
    """Write 1 - Σ_a p(a | rest)² of every row."""
    for m in range(block.shape[0]):
        total = np.float32(0.0)
        for a in range(states):
            total += block[m, a] * block[m, a]
        out[m] = max(np.float32(1.0) - total, np.float32(0.0))


@njit(cache=True, nogil=True)
def mean_product(first, second, multiplicity, rows):
    """Return the mean over all rows of the product of two per-row quantities."""
    eights = len(first) // 8
    shape = (eights, 8)
    one, two = first[: 8 * eights].reshape(shape), second[: 8 * eights].reshape(shape)
    counts = multiplicity[: 8 * eights].reshape(shape)
    total = 0.0
    for start in range(0, eights, _EIGHTS):
        t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = np.float32(0.0)
        # Eight independent sums avoid a chain of dependent additions.
        for k in range(start, min(start + _EIGHTS, eights)):
            a, b, u = one[k], two[k], counts[k]
            t0 += u[0] * a[0] * b[0]
            t1 += u[1] * a[1] * b[1]
            t2 += u[2] * a[2] * b[2]
            t3 += u[3] * a[3] * b[3]
            t4 += u[4] * a[4] * b[4]
            t5 += u[5] * a[5] * b[5]
            t6 += u[6] * a[6] * b[6]
            t7 += u[7] * a[7] * b[7]
        total += float(((t0 + t4) + (t1 + t5)) + ((t2 + t6) + (t3 + t7)))
    for m in range(8 * eights, len(first)):
        total += float(multiplicity[m] * first[m] * second[m])
    return total / rows


@njit(cache=True, nogil=True)
def mean_impurity(impurity, multiplicity, rows):
    """Return the mean over all rows of a per-row quantity."""
    total = 0.0
    for m in range(len(impurity)):
        total += multiplicity[m] * impurity[m]
    return total / rows


@njit(cache=True, nogil=True)
def log_loss(block, codes, multiplicity):
    """Return -Σ_rows log p(x_i | rest) of the variable whose own states are `codes`."""
    loss, product, factors = 0.0, 1.0, 0
    for m in range(len(codes)):
        u = multiplicity[m]
        p = np.float64(block[m, codes[m]])
        if u == np.float32(1.0):
            # One logarithm for eight rows: the product of eight factors ≥ 1e-30 does not underflow.
            product *= p
            factors += 1
            if factors == 8:
                loss -= np.log(product)
                product, factors = 1.0, 0
        else:
            loss -= u * np.log(p)
    return loss - np.log(product)
