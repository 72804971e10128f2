"""Conditional distributions of one variable, for every joint state of its neighbours.

Joint states are numbered in row-major order: the first neighbour varies slowest. Where a joint
state of the neighbours leaves the variable no possible state, it has probability zero and the
conditional is arbitrary; it is set to uniform, in the model and in the local model alike.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.local.neighbourhood import table_of
from graftviz.utils.compiling import inner_kernel


@inner_kernel
def joint_states(flat, i, slots, limit):
    """Return the number of joint states of the neighbours at `slots` of i, at most limit + 1."""
    count = 1
    for slot in slots:
        count *= flat.sizes[flat.neighbours[flat.starts[i] + slot]]
        if count > limit:
            return limit + 1
    return count


@inner_kernel
def add_neighbours(flat, i, slots, logs, count):
    """Expand `count` rows of log-potentials of x_i over the joint states of more neighbours.

    Return the new number of rows. For a neighbour with s states, row c becomes the rows
    c·s … c·s + s − 1, in reverse order so that no row is overwritten before it is read.
    """
    own_states = flat.sizes[i]
    for slot in slots:
        start, own, other, states = table_of(flat, i, slot)
        for c in range(count - 1, -1, -1):
            for x in range(states - 1, -1, -1):
                for a in range(own_states):
                    logs[c * states + x, a] = logs[c, a] + flat.weights[start + a * own + x * other]
        count *= states
    return count


@inner_kernel
def normalise(rows, count):
    """Turn the first `count` rows of log-potentials into distributions, in place."""
    states = rows.shape[1]
    for c in range(count):
        largest = -np.inf
        for a in range(states):
            largest = max(largest, rows[c, a])
        if largest == -np.inf:
            for a in range(states):
                rows[c, a] = 1.0 / states
            continue
        total = 0.0
        for a in range(states):
            rows[c, a] = np.exp(rows[c, a] - largest)
            total += rows[c, a]
        for a in range(states):
            rows[c, a] /= total


@inner_kernel
def total_variation(first, second):
    """Return ½ Σ |first − second|."""
    total = 0.0
    for a in range(len(first)):
        total += abs(first[a] - second[a])
    return 0.5 * total


@inner_kernel
def largest_by_neighbour(rows, stride, states):
    """Return the largest distance of two rows that differ only in the state of one neighbour.

    The neighbour has `states` states; rows whose states differ by one are `stride` rows apart.
    """
    largest = 0.0
    block = stride * states
    for begin in range(0, len(rows), block):
        for rest in range(begin, begin + stride):
            for a in range(states - 1):
                for b in range(a + 1, states):
                    distance = total_variation(rows[rest + a * stride], rows[rest + b * stride])
                    largest = max(largest, distance)
    return largest
