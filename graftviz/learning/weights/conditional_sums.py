"""Pseudo-likelihood, its gradient and the conditionals from one pass over the rows.

The other kernels of the pseudo-likelihood update the conditionals edge by edge. If all weights
change at once, as tied weights do, the conditionals are computed from scratch here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.array_kernels import exponentiate
from graftviz.utils.compiling import kernel

_BLOCK = 512  # rows whose logits are processed together, so that they stay in the L1 cache


class Structure(NamedTuple):
    """Edges of a graph, and the layout of flat arrays over its nodes and edges.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
        Entries of node i are ``node_offsets[i]`` … ``node_offsets[i + 1]``, one per state.
    edges : int64 array, shape (m, 2)
        Pairs i < j.
    edge_offsets : int64 array, shape (m + 1,)
        Entries of edge e, row-major with x_i as the row.
    starts, incident : int64 arrays, shapes (n + 1,), (2m,)
        Node i has the edges ``incident[starts[i]:starts[i + 1]]``.
    """

    node_offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray
    starts: np.ndarray
    incident: np.ndarray


def structure_of(cardinalities: np.ndarray, edges: np.ndarray) -> Structure:
    """Return the structure of a graph.

    Parameters
    ----------
    cardinalities : int64 array, shape (n,)
    edges : int array, shape (m, 2)
        Distinct pairs i < j.
    """
    n = len(cardinalities)
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    ends = edges.reshape(-1)
    incident = np.argsort(ends, kind="stable") // 2
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
    sizes = cardinalities[edges].prod(axis=1)
    return Structure(
        node_offsets=np.concatenate([[0], np.cumsum(cardinalities)]).astype(np.int64),
        edges=edges,
        edge_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        starts=starts.astype(np.int64),
        incident=incident.astype(np.int64),
    )


@kernel
def conditional_sums(
    codes,
    multiplicity,
    structure,
    node_weights,
    tables,
    node_losses,
    node_sums,
    edge_sums,
    probabilities,
    keep,
):
    """Sum losses and residuals over all rows.

    With r_i(a) = p(x_i = a | rest) − 1{x_i = a} and u the multiplicity of a row

    - ``node_losses[i]`` = −Σ u log p(x_i | rest),
    - ``node_sums`` of state a of node i = Σ u r_i(a),
    - ``edge_sums`` of (a, b) of edge (i, j) = Σ u (r_i(a) 1{x_j = b} + r_j(b) 1{x_i = a}).

    Parameters
    ----------
    codes : unsigned array, shape (n, R)
    multiplicity : float64 array, shape (R,)
    structure : Structure
    node_weights, tables : float64 arrays, flat
        w_i and w_ij.
    node_losses, node_sums, edge_sums : float64 arrays, flat
        Overwritten.
    probabilities : float32 array, flat
        With `keep`: p(x_i = a | rest) of row m is written to ``[(node_offsets[i] + a) * R + m]``.
    keep : bool
        Whether to write `probabilities`.
    """
    n, rows = codes.shape
    node_offsets, edges, edge_offsets = (
        structure.node_offsets,
        structure.edges,
        structure.edge_offsets,
    )
    starts, incident = structure.starts, structure.incident
    most = 1
    for i in range(n):
        most = max(most, node_offsets[i + 1] - node_offsets[i])
    logits = np.empty((most, _BLOCK))
    chosen = np.empty(_BLOCK)
    top = np.empty(_BLOCK)
    total = np.empty(_BLOCK)
    bits = np.empty(_BLOCK, dtype=np.int64)
    move = np.empty(most)
    bins = np.empty(most)
    edge_sums[:] = 0.0
    for i in range(n):
        at = node_offsets[i]
        states = node_offsets[i + 1] - at
        loss = 0.0
        for a in range(states):
            node_sums[at + a] = 0.0
        for first in range(0, rows, _BLOCK):
            count = min(_BLOCK, rows - first)
            own = codes[i, first : first + count]
            weight = multiplicity[first : first + count]
            # All logits are relative to state 0, whose logit is 0.
            for a in range(1, states):
                logits[a, :count] = node_weights[at + a] - node_weights[at]
            for k in range(starts[i], starts[i + 1]):
                e = incident[k]
                i_is_row = edges[e, 0] == i
                j = edges[e, 1] if i_is_row else edges[e, 0]
                states_j = node_offsets[j + 1] - node_offsets[j]
                table = tables[edge_offsets[e] : edge_offsets[e + 1]]
                seen = codes[j, first : first + count]
                for a in range(1, states):
                    for b in range(states_j):
                        if i_is_row:
                            move[b] = table[a * states_j + b] - table[b]
                        else:
                            move[b] = table[b * states + a] - table[b * states]
                    logit = logits[a]
                    if states_j == 2:
                        low, rise = move[0], move[1] - move[0]
                        for m in range(count):
                            logit[m] += low + rise * seen[m]
                    else:
                        for m in range(count):
                            logit[m] += move[seen[m]]
            for m in range(count):
                top[m] = 0.0
                chosen[m] = 0.0
            for a in range(1, states):
                for m in range(count):
                    value = logits[a, m]
                    top[m] = max(top[m], value)
                    if own[m] == a:
                        chosen[m] = value
            for a in range(1, states):
                logit = logits[a]
                for m in range(count):
                    logit[m] -= top[m]
                exponentiate(logit, bits, count)
            product, factors = 1.0, 0
            for m in range(count):
                loss += weight[m] * (top[m] - chosen[m])
                top[m] = -top[m]
            exponentiate(top, bits, count)
            for m in range(count):
                total[m] = top[m]
            for a in range(1, states):
                logit = logits[a]
                for m in range(count):
                    total[m] += logit[m]
            for m in range(count):
                # Each total lies between 1 and the number of states, so the product of 16 cannot
                # overflow, and one logarithm is enough for all.
                if weight[m] == 1.0:
                    product *= total[m]
                    factors += 1
                    if factors == 16:
                        loss += np.log(product)
                        product, factors = 1.0, 0
                else:
                    loss += weight[m] * np.log(total[m])
                total[m] = 1.0 / total[m]
            loss += np.log(product)
            if keep:
                base = at * rows + first
                for m in range(count):
                    probabilities[base + m] = top[m] * total[m]
            for a in range(1, states):
                residual = logits[a]
                if keep:
                    base = (at + a) * rows + first
                    for m in range(count):
                        probabilities[base + m] = residual[m] * total[m]
                added = 0.0
                for m in range(count):
                    hit = 1.0 if own[m] == a else 0.0
                    residual[m] = weight[m] * (residual[m] * total[m] - hit)
                    added += residual[m]
                node_sums[at + a] += added
                node_sums[at] -= added
                for k in range(starts[i], starts[i + 1]):
                    e = incident[k]
                    i_is_row = edges[e, 0] == i
                    j = edges[e, 1] if i_is_row else edges[e, 0]
                    states_j = node_offsets[j + 1] - node_offsets[j]
                    seen = codes[j, first : first + count]
                    if states_j == 2:
                        # Four independent sums avoid a chain of dependent additions.
                        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
                        for m in range(0, count - 3, 4):
                            sum_0 += residual[m] * seen[m]
                            sum_1 += residual[m + 1] * seen[m + 1]
                            sum_2 += residual[m + 2] * seen[m + 2]
                            sum_3 += residual[m + 3] * seen[m + 3]
                        for m in range(count - count % 4, count):
                            sum_0 += residual[m] * seen[m]
                        bins[1] = (sum_0 + sum_1) + (sum_2 + sum_3)
                        bins[0] = added - bins[1]
                    else:
                        for b in range(states_j):
                            bins[b] = 0.0
                        for m in range(count):
                            bins[seen[m]] += residual[m]
                    start = edge_offsets[e]
                    for b in range(states_j):
                        if i_is_row:
                            edge_sums[start + a * states_j + b] += bins[b]
                            edge_sums[start + b] -= bins[b]
                        else:
                            edge_sums[start + b * states + a] += bins[b]
                            edge_sums[start + b * states] -= bins[b]
        node_losses[i] = loss
