"""Parameter tying: numbers that share one of K values, found by exact 1-D k-means.

In one dimension the clusters of an optimal k-means are intervals of the sorted numbers, so dynamic
programming finds them: the best cost of the first j numbers in q clusters is the best cost of the
first l in q − 1 plus the spread of the rest. The best l never falls as j grows, so that divide and
conquer needs O(K n log n) instead of O(K n²).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Tying(NamedTuple):
    """An index map from parameters to the values they share.

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
        """μ_{a_j} of every parameter, shape (p,)."""
        tied: np.ndarray = self.centres[self.assignment]
        return tied

    def cost(self, values: np.ndarray) -> float:
        """Return Σ_j (θ_j − μ_{a_j})²."""
        return float(((values - self.values) ** 2).sum())


def untied(values: np.ndarray) -> Tying:
    """Return the tying that ties nothing: K = all, every parameter has a value of its own."""
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
        K, at least 1; where it is p or more, nothing is tied.

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


@njit(cache=True, nogil=True, inline="always")
def _spread(sums, squares, first, last):
    """Return the sum of squared distances from their mean of numbers first … last − 1."""
    total = sums[last] - sums[first]
    return max(squares[last] - squares[first] - total * total / (last - first), 0.0)


@njit(cache=True, nogil=True)
def interval_ends(ascending, clusters):
    """Return where each of the K intervals of an optimal partition ends.

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
    middle = ascending[n // 2]  # sums of squares lose fewer digits around it
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        value = ascending[j] - middle
        sums[j + 1] = sums[j] + value
        squares[j + 1] = squares[j] + value * value
    costs = np.empty((2, n + 1))
    splits = np.zeros((clusters, n + 1), dtype=np.int32)
    for j in range(1, n + 1):
        costs[0, j] = _spread(sums, squares, 0, j)
    waiting = np.empty((2 * n + 2, 4), dtype=np.int64)
    for q in range(1, clusters):
        before, now = costs[(q - 1) % 2], costs[q % 2]
        # Of the first j numbers, at least q go to the clusters before and one to this one.
        waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = q + 1, n, q, n - 1
        held = 1
        while held:
            held -= 1
            first, last = waiting[held, 0], waiting[held, 1]
            low, high = waiting[held, 2], waiting[held, 3]
            j = (first + last) // 2
            best, best_split = np.inf, low
            for split in range(low, min(high, j - 1) + 1):
                cost = before[split] + _spread(sums, squares, split, j)
                if cost < best:
                    best, best_split = cost, split
            now[j], splits[q, j] = best, best_split
            if first < j:
                waiting[held, 0], waiting[held, 1] = first, j - 1
                waiting[held, 2], waiting[held, 3] = low, best_split
                held += 1
            if j < last:
                waiting[held, 0], waiting[held, 1] = j + 1, last
                waiting[held, 2], waiting[held, 3] = best_split, high
                held += 1
    ends = np.empty(clusters, dtype=np.int64)
    end = n
    for q in range(clusters - 1, -1, -1):
        ends[q] = end
        end = splits[q, end]
    return ends
