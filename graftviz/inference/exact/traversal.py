"""Breadth-first and depth-first traversal of graphs and elimination trees."""

from __future__ import annotations

import numpy as np

from graftviz.utils.compiling import kernel


def sweeps(starts: np.ndarray, neighbours: np.ndarray) -> list[np.ndarray]:
    """Return the orders of the numbering and of breadth-first search, each from both ends."""
    natural = np.arange(len(starts) - 1)
    there = _breadth_first(starts, neighbours, natural)
    back = _breadth_first(starts, neighbours, there[::-1].copy())
    return [natural, natural[::-1].copy(), back, back[::-1].copy()]


@kernel
def _breadth_first(starts, neighbours, seeds):
    """Visit all nodes breadth first, each component from the first of its nodes in `seeds`."""
    n = len(starts) - 1
    order, seen = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    filled = 0
    for seed in seeds:
        if seen[seed]:
            continue
        seen[seed] = True
        order[filled] = seed
        at = filled
        filled += 1
        while at < filled:
            i = order[at]
            at += 1
            for k in range(starts[i], starts[i + 1]):
                j = neighbours[k]
                if not seen[j]:
                    seen[j] = True
                    order[filled] = j
                    filled += 1
    return order


def depth_first(parent: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the places in a depth-first order with small memory: children before parents.

    Of the children of a place, the first is the one whose subtree needs most memory beyond that of
    its message (Liu, "On the storage requirement in the out-of-core multifrontal method", 1986).
    """
    n = len(parent)
    needs = _subtree_needs(parent, sizes)
    by_parent = np.lexsort((np.arange(n), sizes - needs, parent))
    return _depth_first_order(parent, by_parent)


@kernel
def _subtree_needs(parent, sizes):
    """Return a bound on the memory of each subtree: its own table and those of its children."""
    n = len(parent)
    needs, waiting = sizes.copy(), np.zeros(n)
    for k in range(n):
        needs[k] = max(needs[k], sizes[k] + waiting[k])
        if parent[k] >= 0:
            p = parent[k]
            needs[p] = max(needs[p], needs[k] + waiting[p])
            waiting[p] += sizes[k]
    return needs


@kernel
def _depth_first_order(parent, by_parent):
    """Return all places depth first, children (in the order of `by_parent`) before parents."""
    n = len(parent)
    starts = np.zeros(n + 2, dtype=np.int64)
    for k in range(n):
        starts[parent[k] + 2] += 1
    for k in range(n + 1):
        starts[k + 1] += starts[k]
    order, stack = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    at, filled = starts.copy(), 0
    # The children of k begin at starts[k + 1]; the roots, which have parent -1, at starts[0].
    for r in range(starts[0], starts[1]):
        stack[0], depth = by_parent[r], 1
        while depth > 0:
            k = stack[depth - 1]
            if at[k + 1] < starts[k + 2]:
                stack[depth] = by_parent[at[k + 1]]
                at[k + 1] += 1
                depth += 1
            else:
                order[filled] = k
                filled += 1
                depth -= 1
    return order
