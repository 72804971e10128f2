"""Kernels for the upward and downward passes over tables, and for exact samples.

The clique of place k consists of its variable v and the variables S of its scope. Its factors are
the node potential of v, the potentials of edges to later variables, and the messages that k
receives; each is a table over v and some of S. The message of k is Σ_v of their product, a table
over S. In the downward pass, the belief of S times p(v | S) = product / Σ_v product gives the
marginal of every factor. The product is never stored: it is computed in blocks that fit into the
processor's cache.

The first place of every table varies fastest, so v varies fastest in all factors of its clique. A
block has an entry for each state of v and each joint state of as many of the first places of S as
fit; factors that vary within a block are multiplied entry by entry, others once per block.

Tables are scaled to a maximum of 1, so products do not overflow, and underflow loses only numbers
below 1e-300. Where that could affect an entry of a message, its clique is computed in logarithms
instead (`in_logs`: products are sums), and so is every clique that receives a message whose range
requires logarithms.
"""

from __future__ import annotations

import numpy as np

from graftviz.utils.compiling import inner_kernel, kernel

_BLOCK = 2048  # entries: 16 kB, so that a few blocks fit into the innermost cache
_TINY = 1e-280  # smaller sums of products may be inaccurate because of underflow
_SAFE_SPAN = 600.0  # nats between the largest and the smallest positive entry of a table


@kernel
def sweep(cliques, tables, weights, begin, end, only_to, down):
    """Compute the messages (upwards) or marginals (downwards) of places `begin` … `end` - 1.

    Upwards with `only_to` ≥ 0, compute only messages to places before it. Return False as soon as a
    message is zero everywhere.
    """
    for step in range(end - begin):
        k = end - 1 - step if down else begin + step
        parent = cliques.parent[k]
        if not down and only_to >= 0 and (parent < 0 or parent >= only_to):
            continue
        # A single call site, because each call would be compiled separately.
        again = True
        while again:
            if down:
                _clear_beliefs(cliques, tables, k)
                spans = 0.0
            else:
                spans = _prepare(cliques, tables, weights, k)
            value_at, belief_at, strides = factors_of(cliques, tables, k)
            if tables.in_logs[k]:
                turn_to_logs(cliques, tables, k)
            _process_clique(
                cliques, tables, k, value_at, belief_at, strides, tables.in_logs[k], down
            )
            again = spans > _SAFE_SPAN and _has_underflow(cliques, tables, k, value_at, strides)
            tables.in_logs[k] = tables.in_logs[k] or again
        if not down and not _scale(cliques, tables, k):
            return False
    return True


@inner_kernel
def _prepare(cliques, tables, weights, k):
    """Load the potentials of k, and decide whether it must be computed in logarithms.

    Return the sum of the spans of all its factors, or 0 in logarithms: up to the safe span,
    underflow is impossible.
    """
    tables.log_scale[k] = 0.0
    widest, spans = _load_potentials(cliques, tables, weights, k, False)
    in_logs = tables.in_logs[k] or widest > _SAFE_SPAN
    for c in range(cliques.child_starts[k], cliques.child_starts[k + 1]):
        spans += tables.span[cliques.children[c]]
        in_logs = in_logs or tables.is_log[cliques.children[c]]
    tables.in_logs[k], tables.is_log[k] = in_logs, False
    if in_logs:
        tables.log_scale[k] = 0.0
        _load_potentials(cliques, tables, weights, k, True)
        return 0.0
    return spans


@inner_kernel
def _scale(cliques, tables, k):
    """Scale the message of k to a maximum of 1; return False if it is zero everywhere."""
    entries = tables.entries
    begin, end = tables.message_at[k], tables.message_at[k] + cliques.message_sizes[k]
    in_logs = tables.in_logs[k]
    zero = -np.inf if in_logs else 0.0
    top, low = zero, np.inf
    for i in range(begin, end):
        x = entries[i]
        top = max(top, x)
        low = min(low, x if x > zero else np.inf)
    if top == zero:
        return False
    if not in_logs:
        scale = 1.0 / top
        for i in range(begin, end):
            entries[i] *= scale
        top, low = np.log(top), np.log(low)
    tables.log_scale[k] += top
    tables.span[k] = top - low
    if in_logs:
        tables.is_log[k] = tables.span[k] > _SAFE_SPAN
        for i in range(begin, end):
            entries[i] -= top
            if not tables.is_log[k]:
                entries[i] = np.exp(entries[i])
    return True


@inner_kernel
def _load_potentials(cliques, tables, weights, k, in_logs):
    """Write the potentials of k, each scaled to a maximum of 1.

    Return their largest span and the sum of spans, in nats, ignoring zeros. The scales are added to
    the log scale of k.
    """
    entries, states = tables.entries, cliques.states[k]
    widest, total = 0.0, 0.0
    for f in range(cliques.potential_starts[k], cliques.potential_starts[k + 1]):
        others = 1 if cliques.other[f] < 0 else cliques.states[cliques.other[f]]
        start = cliques.value_at[f]
        top, low = -np.inf, np.inf
        for i in range(start, start + states * others):
            top = max(top, weights[i])
            if weights[i] > -np.inf:
                low = min(low, weights[i])
        if top > -np.inf:
            widest, total = max(widest, top - low), total + top - low
            tables.log_scale[k] += top
        else:
            top = 0.0
        for v in range(states):
            for u in range(others):
                at = start + (v * others + u if cliques.is_turned[f] else u * states + v)
                weight = weights[at] - top
                entries[start + u * states + v] = weight if in_logs else np.exp(weight)
    return widest, total


@inner_kernel
def turn_to_logs(cliques, tables, k):
    """Replace the messages to k by their logarithms, unless this has been done."""
    entries = tables.entries
    for c in range(cliques.child_starts[k], cliques.child_starts[k + 1]):
        child = cliques.children[c]
        if not tables.is_log[child]:
            tables.is_log[child] = True
            at = tables.message_at[child]
            for i in range(at, at + cliques.message_sizes[child]):
                entries[i] = np.log(entries[i]) if entries[i] > 0.0 else -np.inf


@inner_kernel
def factors_of(cliques, tables, k):
    """Return the offsets of the factors of k and of their beliefs, and their strides in scope k."""
    first, last = cliques.potential_starts[k], cliques.potential_starts[k + 1]
    begin, end = cliques.child_starts[k], cliques.child_starts[k + 1]
    scope = cliques.scopes[cliques.starts[k] : cliques.starts[k + 1]]
    count = last - first + end - begin
    value_at, belief_at = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    strides = np.zeros((count, len(scope)), dtype=np.int64)
    for f in range(first, last):
        value_at[f - first], belief_at[f - first] = cliques.value_at[f], cliques.marginal_at[f]
        if cliques.other[f] >= 0:
            p = 0
            while scope[p] != cliques.other[f]:
                p += 1
            strides[f - first, p] = cliques.states[k]
    for c in range(begin, end):
        child, f = cliques.children[c], last - first + c - begin
        value_at[f], belief_at[f] = tables.message_at[child], tables.belief_at[child]
        stride, p = cliques.states[k], 0
        for at in range(cliques.starts[child] + 1, cliques.starts[child + 1]):
            while scope[p] != cliques.scopes[at]:
                p += 1
            strides[f, p] = stride
            stride *= cliques.states[scope[p]]
    return value_at, belief_at, strides


@inner_kernel
def _has_underflow(cliques, tables, k, value_at, strides):
    """Return whether a nonzero entry of the message of k may be inaccurate through underflow."""
    entries = tables.entries
    states, begins = cliques.states[k], cliques.starts[k]
    for i in range(cliques.message_sizes[k]):
        if entries[tables.message_at[k] + i] >= _TINY:
            continue
        for v in range(states):
            positive = True
            for f in range(len(value_at)):
                at, rest = value_at[f] + v, i
                for p in range(strides.shape[1]):
                    size = cliques.states[cliques.scopes[begins + p]]
                    at += rest % size * strides[f, p]
                    rest //= size
                if entries[at] == 0.0:
                    positive = False
                    break
            if positive:
                return True
    return False


@inner_kernel
def _clear_beliefs(cliques, tables, k):
    """Set the beliefs of all factors of k to zero, and the belief of a root to 1."""
    entries = tables.entries
    if cliques.parent[k] < 0:
        entries[tables.belief_at[k]] = 1.0
    for c in range(cliques.child_starts[k], cliques.child_starts[k + 1]):
        child = cliques.children[c]
        fill(entries, tables.belief_at[child], cliques.message_sizes[child], 0.0)
    for f in range(cliques.potential_starts[k], cliques.potential_starts[k + 1]):
        others = 1 if cliques.other[f] < 0 else cliques.states[cliques.other[f]]
        fill(entries, cliques.marginal_at[f], cliques.states[k] * others, 0.0)


@inner_kernel
def _process_clique(cliques, tables, k, value_at, belief_at, strides, in_logs, down):
    """Process the clique of k in blocks.

    Upwards, write its message; downwards, add to the beliefs of its factors.
    """
    entries, states = tables.entries, cliques.states[k]
    scope = cliques.scopes[cliques.starts[k] : cliques.starts[k + 1]]
    depth, count = len(scope), len(value_at)
    inner, length = 0, 1
    while inner < depth and states * length * cliques.states[scope[inner]] <= _BLOCK:
        length *= cliques.states[scope[inner]]
        inner += 1
    blocks = 1
    for p in range(inner, depth):
        blocks *= cliques.states[scope[p]]
    # Classify factors: dependent on v alone, within a block, between blocks, or both.
    alone, n_alone = np.empty(count, dtype=np.int64), 0
    within, n_within = np.empty(count, dtype=np.int64), 0
    across, n_across = np.empty(count, dtype=np.int64), 0
    both, n_both = np.empty(count, dtype=np.int64), 0
    for f in range(count):
        varies_within = varies_across = False
        for p in range(depth):
            if strides[f, p] > 0:
                varies_within = varies_within or p < inner
                varies_across = varies_across or p >= inner
        if varies_within and varies_across:
            both[n_both] = f
            n_both += 1
        elif varies_within:
            within[n_within] = f
            n_within += 1
        elif varies_across:
            across[n_across] = f
            n_across += 1
        else:
            alone[n_alone] = f
            n_alone += 1
    width = states * length
    base, index = np.empty(width), np.empty(width, dtype=np.int64)
    own = np.empty(states)
    fill(own, 0, states, 0.0 if in_logs else 1.0)
    for a in range(n_alone):
        join_column(own, states, entries, value_at[alone[a]], in_logs)
    for i in range(width):
        base[i] = own[i % states]
    for a in range(n_within):
        index_block(cliques, scope, inner, states, strides, within[a], index)
        join_table(base, base, entries, value_at[within[a]], index, 1, in_logs)
    # A factor without some places of the block is used in runs of consecutive entries.
    runs, n_runs = np.empty(n_both, dtype=np.int64), np.zeros(n_both + 1, dtype=np.int64)
    for a in range(n_both):
        runs[a] = run_length(cliques, scope, inner, states, strides, both[a])
        n_runs[a + 1] = n_runs[a] + width // runs[a]
    firsts = np.zeros(n_runs[n_both], dtype=np.int64)
    for a in range(n_both):
        index_block(cliques, scope, inner, states, strides, both[a], index)
        for r in range(n_runs[a + 1] - n_runs[a]):
            firsts[n_runs[a] + r] = index[r * runs[a]]
    digits = np.zeros(depth - inner, dtype=np.int64)
    at_both, at_across = np.zeros(n_both, dtype=np.int64), np.zeros(n_across, dtype=np.int64)
    block, sums = np.empty(width), np.zeros(width)
    factor, column, totals = np.empty(states), np.empty(states), np.empty(length)
    for b in range(blocks):
        fill(factor, 0, states, 0.0 if in_logs else 1.0)
        for a in range(n_across):
            join_column(factor, states, entries, value_at[across[a]] + at_across[a], in_logs)
        if n_both == 0:
            for i in range(width):
                block[i] = base[i]
        for a in range(n_both):
            source, at = base if a == 0 else block, value_at[both[a]] + at_both[a]
            join_table(block, source, entries, at, firsts[n_runs[a] :], runs[a], in_logs)
        if not down:
            sum_out(block, factor, entries, tables.message_at[k] + b * length, length, in_logs)
        else:
            source_at = tables.belief_at[k] + b * length
            spread(block, factor, entries, source_at, totals, in_logs)
            for i in range(width):
                sums[i] += block[i]
            for a in range(n_both):
                at = belief_at[both[a]] + at_both[a]
                add_to_table(entries, at, firsts[n_runs[a] :], runs[a], block)
            if n_across > 0:
                column_sums(block, column)
                for a in range(n_across):
                    at = belief_at[across[a]] + at_across[a]
                    for v in range(states):
                        entries[at + v] += column[v]
        for p in range(depth - inner):
            digits[p] += 1
            size = cliques.states[scope[inner + p]]
            for a in range(n_both):
                at_both[a] += strides[both[a], inner + p]
            for a in range(n_across):
                at_across[a] += strides[across[a], inner + p]
            if digits[p] < size:
                break
            digits[p] = 0
            for a in range(n_both):
                at_both[a] -= size * strides[both[a], inner + p]
            for a in range(n_across):
                at_across[a] -= size * strides[across[a], inner + p]
    if down:
        column_sums(sums, column)
        for a in range(n_alone):
            for v in range(states):
                entries[belief_at[alone[a]] + v] = column[v]
        for a in range(n_within):
            index_block(cliques, scope, inner, states, strides, within[a], index)
            add_to_table(entries, belief_at[within[a]], index, 1, sums)


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


@kernel
def draw(cliques, tables, begin, end, uniforms, codes):
    """Draw independent states of places `end` - 1 … `begin`, each given those of later places.

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
