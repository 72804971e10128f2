"""Predictions of one variable from the states of others, row by row, by the softmax of weights.

There is one weight per state and *cell*; a cell is a state of a neighbour, and each row is in one
cell of each neighbour. Cell 0 is the intercept, which contains all rows.
"""

from __future__ import annotations

import math

import numpy as np

from graftviz.utils.array_kernels import exponentiate
from graftviz.utils.compiling import inner_kernel, kernel

LANES = 4  # states other than the first are processed four at a time
BLOCK = 256  # rows processed together, so that they stay in the L1 cache


@kernel(inline="always")
def lanes_of(states):
    """Return s − 1 rounded up to a multiple of LANES."""
    return (states - 1 + LANES - 1) // LANES * LANES


@inner_kernel
def predict(codes, cells, start, count, states, lanes, weights, out, top, bits):
    """Write p(x_i = a | x_A) − 1{x_i = a} of some rows, a ≥ 1, to `out`; return their loss.

    Parameters
    ----------
    codes : unsigned array, shape (N,)
        x_i.
    cells : int32 array, shape (N, A)
        For each row the cell of every neighbour, from 1; cell 0 is the intercept.
    start, count : int
        First row and number of rows, at most BLOCK.
    states, lanes : int
        s_i, and s_i − 1 rounded up to a multiple of LANES.
    weights : float64 array, shape (C · lanes,)
        Weights of the states a ≥ 1 minus those of state 0, cell after cell.
    out : float64 array, shape (BLOCK · lanes,)
    top : float64 array, shape (BLOCK,)
        Scratch.
    bits : int64 array, shape (BLOCK · lanes,)
        Scratch.

    Returns
    -------
    float
        Σ −log p(x_i | x_A).
    """
    width = cells.shape[1]
    step = np.uint64(lanes)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for m in range(count):
        row = cells[start + m]
        for lane in range(0, lanes, LANES):
            at = np.uint64(lane)
            w0, w1, w2, w3 = weights[at], weights[at + one], weights[at + two], weights[at + three]
            for k in range(width):
                at = np.uint64(row[k]) * step + np.uint64(lane)
                w0 += weights[at]
                w1 += weights[at + one]
                w2 += weights[at + two]
                w3 += weights[at + three]
            at = np.uint64(m) * step + np.uint64(lane)
            out[at] = w0
            out[at + one] = w1
            out[at + two] = w2
            out[at + three] = w3
    loss = 0.0
    for m in range(count):
        at = m * lanes
        highest = 0.0
        for a in range(states - 1):
            highest = max(highest, out[at + a])
        for a in range(states - 1):
            out[at + a] -= highest
        for a in range(states - 1, lanes):
            out[at + a] = 0.0
        top[m] = -highest
        code = codes[start + m]
        loss -= out[at + code - 1] if code > 0 else -highest
    exponentiate(out, bits, count * lanes)
    exponentiate(top, bits, count)
    product = 1.0
    for m in range(count):
        at = m * lanes
        total = top[m]
        for a in range(states - 1):
            total += out[at + a]
        # Each total lies between 1 and the number of states: the product of 16 cannot overflow,
        # and one logarithm is enough for all.
        product *= total
        if m & 15 == 15:
            loss += math.log(product)
            product = 1.0
        for a in range(states - 1):
            out[at + a] /= total
        for a in range(states - 1, lanes):
            out[at + a] = 0.0
        code = codes[start + m]
        if code > 0:
            out[at + code - 1] -= 1.0
    return loss + math.log(product)


@inner_kernel
def _scatter(cells, start, count, lanes, residuals, sums):
    """Add the residuals of rows to the sums of their cells."""
    width = cells.shape[1]
    step = np.uint64(lanes)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for m in range(count):
        row = cells[start + m]
        for lane in range(0, lanes, LANES):
            at = np.uint64(m) * step + np.uint64(lane)
            r0, r1 = residuals[at], residuals[at + one]
            r2, r3 = residuals[at + two], residuals[at + three]
            at = np.uint64(lane)
            sums[at] += r0
            sums[at + one] += r1
            sums[at + two] += r2
            sums[at + three] += r3
            for k in range(width):
                at = np.uint64(row[k]) * step + np.uint64(lane)
                sums[at] += r0
                sums[at + one] += r1
                sums[at + two] += r2
                sums[at + three] += r3


@inner_kernel
def to_lanes(weights, lanes, out):
    """Write the weights (C, s) relative to state 0, cell after cell, padded to `lanes`."""
    cells, states = weights.shape
    for c in range(cells):
        for a in range(1, states):
            out[c * lanes + a - 1] = weights[c, a] - weights[c, 0]
        for a in range(states - 1, lanes):
            out[c * lanes + a] = 0.0


@kernel
def loss_and_gradient(codes, cells, weights, gradient):
    """Return the loss −Σ_m log p(x_i | x_A) / N; write its gradient, shape (C, s).

    Parameters
    ----------
    codes : unsigned array, shape (N,)
        x_i.
    cells : int32 array, shape (N, A)
        For each row the cell of every neighbour, from 1; cell 0 is the intercept.
    weights : float64 array, shape (C, s)
    """
    rows = len(codes)
    n_cells, states = weights.shape
    lanes = lanes_of(states)
    relative, sums = np.empty(n_cells * lanes), np.zeros(n_cells * lanes)
    out, top = np.empty(BLOCK * lanes), np.empty(BLOCK)
    bits = np.empty(BLOCK * lanes, dtype=np.int64)
    to_lanes(weights, lanes, relative)
    loss = 0.0
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        loss += predict(codes, cells, start, count, states, lanes, relative, out, top, bits)
        _scatter(cells, start, count, lanes, out, sums)
    for c in range(n_cells):
        gradient[c, 0] = 0.0
        for a in range(1, states):
            gradient[c, a] = sums[c * lanes + a - 1] / rows
            gradient[c, 0] -= gradient[c, a]
    return loss / rows


@kernel
def residuals(codes, cells, weights, column, out):
    """Write p(x_i = a | x_A) − 1{x_i = a}, a ≥ 1, to the columns of `out` from `column`."""
    states = weights.shape[1]
    lanes = lanes_of(states)
    relative = np.empty(len(weights) * lanes)
    to_lanes(weights, lanes, relative)
    block, top = np.empty(BLOCK * lanes), np.empty(BLOCK)
    bits = np.empty(BLOCK * lanes, dtype=np.int64)
    for start in range(0, len(codes), BLOCK):
        count = min(BLOCK, len(codes) - start)
        predict(codes, cells, start, count, states, lanes, relative, block, top, bits)
        for m in range(count):
            for a in range(states - 1):
                out[start + m, column + a] = block[m * lanes + a]
