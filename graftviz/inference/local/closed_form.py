"""Bounds on total variation that need no enumeration of the neighbours, for hubs.

If two log-potentials of x_i differ by Δ(x_i), their distributions differ by at most
tanh(osc(Δ)/4) in total variation, osc = max − min. For two states there is a tighter bound: with t
the log-odds of state 1, the distance is |σ(t + d) − σ(t + e)|, where t lies in an interval that
depends on the other neighbours; the maximum over that interval has a closed form.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.local.neighbourhood import table_of
from graftviz.utils.compiling import inner_kernel, kernel


@inner_kernel
def by_oscillation(oscillation):
    """Return tanh(osc/4); 1 for an infinite oscillation, 0 for a negative one."""
    return np.tanh(0.25 * max(oscillation, 0.0))


@kernel
def logistic(t):
    """Return σ(t) without overflow."""
    if t >= 0.0:
        return 1.0 / (1.0 + np.exp(-t))
    return np.exp(t) / (1.0 + np.exp(t))


@kernel
def logistic_gap(low, high, d, e):
    """Return the maximum of |σ(t + d) − σ(t + e)| over low ≤ t ≤ high.

    The gap is largest at t = −(d + e)/2 and decreases on both sides, symmetrically.
    """
    t = min(max(-0.5 * (d + e), low), high)
    return abs(logistic(t + d) - logistic(t + e))


@inner_kernel
def pair_gains(flat, i, slot, gains):
    """Write max over x_k of w_ik[a, x_k] − w_ik[b, x_k] into gains[a, b].

    States of the neighbour under which both a and b are impossible are ignored; −inf if no other
    state remains.
    """
    start, own, other, states = table_of(flat, i, slot)
    for a in range(flat.sizes[i]):
        for b in range(flat.sizes[i]):
            best = -np.inf
            for x in range(states):
                first = flat.weights[start + a * own + x * other]
                second = flat.weights[start + b * own + x * other]
                if first > -np.inf or second > -np.inf:
                    best = max(best, first - second)
            gains[a, b] = best


@inner_kernel
def flip_oscillation(flat, i, slot, x, y):
    """Return osc of w_ik[·, x] − w_ik[·, y] over the states x_i can have."""
    start, own, other, _ = table_of(flat, i, slot)
    highest, lowest = -np.inf, np.inf
    for a in range(flat.sizes[i]):
        first = flat.weights[start + a * own + x * other]
        second = flat.weights[start + a * own + y * other]
        if flat.weights[flat.node_offsets[i] + a] == -np.inf or first == second == -np.inf:
            continue
        if first == -np.inf or second == -np.inf:
            return np.inf
        highest, lowest = max(highest, first - second), min(lowest, first - second)
    return highest - lowest


@inner_kernel
def is_finite_star(flat, i):
    """Return whether all weights around variable i are finite."""
    for a in range(flat.sizes[i]):
        if flat.weights[flat.node_offsets[i] + a] == -np.inf:
            return False
    for at in range(flat.starts[i], flat.starts[i + 1]):
        e = flat.edges[at]
        for w in range(flat.edge_offsets[e], flat.edge_offsets[e + 1]):
            if flat.weights[w] == -np.inf:
                return False
    return True
