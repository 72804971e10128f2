"""Kernel that draws independent joint states: each variable given those eliminated after it."""

from __future__ import annotations

import numpy as np

from graftviz.inference.exact.blocks import fill, join_column
from graftviz.inference.exact.tables import factors_of, turn_to_logs
from graftviz.utils.compiling import kernel


@kernel
def draw(cliques, tables, begin, end, uniforms, codes):
    """Draw states of places `end` - 1 … `begin` given those of later places.

    Parameters
    ----------
    uniforms : float64 array, shape (end - begin, rows)
        Uniform random numbers in the order of use.
    codes : int64 array, shape (n, rows)
        States by place; rows of places before `end` are overwritten.
    """
    entries = tables.entries
    for k in range(end - 1, begin - 1, -1):
        states = cliques.states[k]
        value_at, _, strides = factors_of(cliques, tables, k)
        if tables.in_logs[k]:
            turn_to_logs(cliques, tables, k)
        in_logs = tables.in_logs[k]
        begins = cliques.starts[k]
        chances = np.empty(states)
        for row in range(codes.shape[1]):
            fill(chances, 0, states, 0.0 if in_logs else 1.0)
            for f in range(len(value_at)):
                at = value_at[f]
                for p in range(strides.shape[1]):
                    at += strides[f, p] * codes[cliques.scopes[begins + p], row]
                join_column(chances, states, entries, at, in_logs)
            top, total = chances[0], 0.0
            for v in range(states):
                top = max(top, chances[v])
            for v in range(states):
                if in_logs:
                    chances[v] = np.exp(chances[v] - top)
                total += chances[v]
            left = uniforms[end - 1 - k, row] * total
            state = states - 1
            for v in range(states):
                left -= chances[v]
                if left < 0.0:
                    state = v
                    break
            while chances[state] == 0.0 and state > 0:  # rounding may pass the last possible state
                state -= 1
            codes[k, row] = state
