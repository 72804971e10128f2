"""Parameter tying: assignment of parameters to K shared values by exact 1-D k-means.

In one dimension the clusters of an optimal k-means are intervals of the sorted numbers, so dynamic
programming finds them: the best cost of the first j numbers in q clusters is the best cost of the
first l in q − 1 clusters plus the spread of the rest. The best l does not decrease with j, so
divide and conquer takes O(K n log n) instead of O(K n²).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import kernel


class Tying(NamedTuple):
    """Map from parameters to shared values.

    Attributes
    ----------
    assignment : int64 array, shape (p,)
        a_j, the cluster of every parameter.
    centres : float64 array, shape (K,)
        μ, ascending.
    """

    assignment: np.ndarray
    centres: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Shared value μ_{a_j} of every parameter, shape (p,)."""
        tied: np.ndarray = self.centres[self.assignment]
        return tied

    def cost(self, values: np.ndarray) -> float:
        """Return Σ_j (θ_j − μ_{a_j})²."""
        return float(((values - self.values) ** 2).sum())


def untied(values: np.ndarray) -> Tying:
    """Return the trivial tying with K = p, in which every parameter has its own value."""
    order = np.argsort(values, kind="stable")
    assignment = np.empty(len(values), dtype=np.int64)
    assignment[order] = np.arange(len(values))
    return Tying(assignment, values[order])


def tie(values: np.ndarray, clusters: int) -> Tying:
    """Return the tying into at most `clusters` values with the least Σ_j (θ_j − μ_{a_j})².

    Parameters
    ----------
    values : float64 array, shape (p,)
        θ.
    clusters : int
        K, at least 1; if it is p or more, nothing is tied.

    References
    ----------
    Chou, Sahoo, Sarkhel, Ruozzi and Gogate, "Automatic parameter tying" (AAAI 2018), eq. 2; the
    dynamic programme is that of Wang and Song, "Ckmeans.1d.dp" (2011).
    """
    if clusters >= len(values):
        return untied(values)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    ends = interval_ends(ascending, clusters)
    starts = np.concatenate([[0], ends[:-1]])
    assignment = np.empty(len(values), dtype=np.int64)
    assignment[order] = np.repeat(np.arange(clusters), ends - starts)
    centres = np.add.reduceat(ascending, starts) / (ends - starts)
    return Tying(assignment, centres)


@kernel(inline="always")
def _spread(sums, squares, first, last):
    """Return the sum of squared deviations from the mean of the numbers first … last − 1."""
    total = sums[last] - sums[first]
    return max(squares[last] - squares[first] - total * total / (last - first), 0.0)


@kernel
def interval_ends(ascending, clusters):
    """Return the ends of the K intervals of an optimal partition.

    Parameters
    ----------
    ascending : float64 array, shape (n,)
        Sorted.
    clusters : int
        K, from 1 to n.

    Returns
    -------
    int64 array, shape (K,)
        Interval q holds numbers ``ends[q - 1]`` … ``ends[q] - 1``; none is empty.
    """
    n = len(ascending)
    middle = ascending[n // 2]  # sums of squares around it lose fewer digits
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        value = ascending[j] - middle
        sums[j + 1] = sums[j] + value
        squares[j + 1] = squares[j] + value * value
    costs = np.empty((2, n + 1))
    splits = np.zeros((clusters, n + 1), dtype=np.int32)
    for j in range(1, n + 1):
        costs[0, j] = _spread(sums, squares, 0, j)
    stack = np.empty((2 * n + 2, 4), dtype=np.int64)
    for q in range(1, clusters):
        previous, current = costs[(q - 1) % 2], costs[q % 2]
        # Of the first j numbers, at least q are in the previous clusters and one is in this one.
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = q + 1, n, q, n - 1
        stack_size = 1
        while stack_size:
            stack_size -= 1
            first, last = stack[stack_size, 0], stack[stack_size, 1]
            low, high = stack[stack_size, 2], stack[stack_size, 3]
            j = (first + last) // 2
            best, best_split = np.inf, low
            for split in range(low, min(high, j - 1) + 1):
                cost = previous[split] + _spread(sums, squares, split, j)
                if cost < best:
                    best, best_split = cost, split
            current[j], splits[q, j] = best, best_split
            if first < j:
                stack[stack_size, 0], stack[stack_size, 1] = first, j - 1
                stack[stack_size, 2], stack[stack_size, 3] = low, best_split
                stack_size += 1
            if j < last:
                stack[stack_size, 0], stack[stack_size, 1] = j + 1, last
                stack[stack_size, 2], stack[stack_size, 3] = best_split, high
                stack_size += 1
    ends = np.empty(clusters, dtype=np.int64)
    end = n
    for q in range(clusters - 1, -1, -1):
        ends[q] = end
        end = splits[q, end]
    return ends
