"""Kernels for blocks: parts of a clique's product that fit into the processor's cache.

A block has an entry for each state v of a variable and each joint state i of some others, v varying
fastest. Where `in_logs` is true, products are sums of logarithms.
"""

from __future__ import annotations

import numpy as np

from graftviz.utils.compiling import inner_kernel


@inner_kernel
def fill(array, begin, count, value):
    """Set `count` entries, from `begin` on, to a value."""
    for i in range(begin, begin + count):
        array[i] = value


@inner_kernel
def join_column(own, states, entries, at, in_logs):
    """Multiply `own` by a factor's entries for each v (add, in logarithms)."""
    for v in range(states):
        if in_logs:
            own[v] += entries[at + v]
        else:
            own[v] *= entries[at + v]


@inner_kernel
def run_length(cliques, scope, inner, states, strides, f):
    """Return the number of consecutive factor entries that match consecutive block entries."""
    run = states
    for p in range(inner):
        if strides[f, p] == 0:
            break
        run *= cliques.states[scope[p]]
    return run


@inner_kernel
def join_table(block, source, entries, at, firsts, run, in_logs):
    """Set block = source · table, entry by entry (source + table, in logarithms)."""
    if in_logs:
        for r in range(len(block) // run):
            first, begin = at + firsts[r], r * run
            for i in range(run):
                block[begin + i] = source[begin + i] + entries[first + i]
    elif run == len(block):
        table = entries[at : at + run]  # indices are provably not negative: twice as fast
        for i in range(run):
            block[i] = source[i] * table[i]
    elif run == 1:
        for i in range(len(block)):
            block[i] = source[i] * entries[at + firsts[i]]
    elif run == 2:
        for r in range(len(block) // 2):
            first = at + firsts[r]
            block[2 * r] = source[2 * r] * entries[first]
            block[2 * r + 1] = source[2 * r + 1] * entries[first + 1]
    else:
        for r in range(len(block) // run):
            first, begin = at + firsts[r], r * run
            for i in range(run):
                block[begin + i] = source[begin + i] * entries[first + i]


@inner_kernel
def add_to_table(entries, at, firsts, run, block):
    """Add a block to a table, entry by entry."""
    if run == len(block):
        table = entries[at : at + run]
        for i in range(run):
            table[i] += block[i]
    elif run == 1:
        for i in range(len(block)):
            entries[at + firsts[i]] += block[i]
    elif run == 2:
        for r in range(len(block) // 2):
            first = at + firsts[r]
            entries[first] += block[2 * r]
            entries[first + 1] += block[2 * r + 1]
    else:
        for r in range(len(block) // run):
            first, begin = at + firsts[r], r * run
            for i in range(run):
                entries[first + i] += block[begin + i]


@inner_kernel
def index_block(cliques, scope, inner, states, strides, f, index):
    """Write the offset of the factor's entry for each entry of a block to `index`."""
    for v in range(states):
        index[v] = v
    filled = states
    for p in range(inner):
        size = cliques.states[scope[p]]
        for x in range(1, size):
            for i in range(filled):
                index[x * filled + i] = index[i] + x * strides[f, p]
        filled *= size


@inner_kernel
def sum_out(block, factor, out, begin, count, in_logs):
    """Set out[begin + i] = Σ_v factor[v] · block[i, v]."""
    states = len(factor)
    if in_logs:
        for i in range(count):
            top, total = -np.inf, 0.0
            for v in range(states):
                top = max(top, block[i * states + v] + factor[v])
            if top > -np.inf:
                for v in range(states):
                    total += np.exp(block[i * states + v] + factor[v] - top)
                top += np.log(total)
            out[begin + i] = top
        return
    if states == 2:
        a, b = factor[0], factor[1]
        for i in range(count):
            out[begin + i] = a * block[2 * i] + b * block[2 * i + 1]
        return
    # Four sums at a time, because a single sum is limited by the latency of additions.
    whole = count - count % 4
    for i in range(0, whole, 4):
        a = b = c = d = 0.0
        at = i * states
        for v in range(states):
            x = factor[v]
            a += x * block[at + v]
            b += x * block[at + states + v]
            c += x * block[at + 2 * states + v]
            d += x * block[at + 3 * states + v]
        out[begin + i], out[begin + i + 1] = a, b
        out[begin + i + 2], out[begin + i + 3] = c, d
    for i in range(whole, count):
        total = 0.0
        for v in range(states):
            total += factor[v] * block[i * states + v]
        out[begin + i] = total


@inner_kernel
def spread(block, factor, belief, begin, totals, in_logs):
    """Set block[i, v] to belief[begin + i] · factor[v] block[i, v] / Σ_v factor[v] block[i, v]."""
    states = len(factor)
    if in_logs:
        for i in range(len(totals)):
            top, total = -np.inf, 0.0
            for v in range(states):
                block[i * states + v] += factor[v]
                top = max(top, block[i * states + v])
            for v in range(states):
                share = np.exp(block[i * states + v] - top) if top > -np.inf else 0.0
                block[i * states + v] = share
                total += share
            totals[i] = total
        for v in range(states):
            factor[v] = 1.0
    else:
        sum_out(block, factor, totals, 0, len(totals), False)
    if states == 2:
        a, b = factor[0], factor[1]
        for i in range(len(totals)):
            share = belief[begin + i] / totals[i] if totals[i] > 0.0 else 0.0
            block[2 * i] *= a * share
            block[2 * i + 1] *= b * share
        return
    for i in range(len(totals)):
        share = belief[begin + i] / totals[i] if totals[i] > 0.0 else 0.0
        for v in range(states):
            block[i * states + v] *= factor[v] * share


@inner_kernel
def column_sums(block, column):
    """Set column[v] = Σ_i block[i, v]."""
    states = len(column)
    rows = len(block) // states
    whole = rows - rows % 4
    for v in range(states):
        a = b = c = d = 0.0  # see sum_out
        for i in range(v, v + whole * states, 4 * states):
            a += block[i]
            b += block[i + states]
            c += block[i + 2 * states]
            d += block[i + 3 * states]
        for i in range(whole, rows):
            a += block[i * states + v]
        column[v] = a + b + c + d
