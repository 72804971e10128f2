"""Quantile bins with edges that are easy to read."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context

import numpy as np

_DIGITS = 17  # digits that distinguish a double from its neighbours


def quantile_edges(values: np.ndarray, bins: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the inner edges of quantile bins; each bin holds at least one value.

    Ties can reduce the number of bins, but never below two.

    Parameters
    ----------
    values : float64 array
        Finite numbers, at least two of them distinct.
    bins : int
        At least 2.
    weights : float64 array, optional
        Case weights: a value of weight 2 counts as two values.

    Returns
    -------
    float64 array, ascending, length 1 … bins − 1
        Bin k is ``edges[k - 1] <= value < edges[k]``. Each edge is the shortest decimal number
        that gives the same division, so that parsing a label returns the exact edge.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    distinct = np.unique(ordered)
    # Edges are values of the data: interpolated edges could leave a bin empty.
    ends = np.arange(1.0, len(values) + 1.0) if weights is None else np.cumsum(weights[order])
    places = np.ceil(np.arange(1, bins) * (ends[-1] - 1.0) / bins)
    inner = ordered[np.searchsorted(ends, places, side="right").clip(0, len(ordered) - 1)]
    # If the smallest value fills a whole quantile, the edge is the next distinct value.
    edges = np.unique(np.where(inner == distinct[0], distinct[1], inner))
    below = distinct[np.searchsorted(distinct, edges) - 1]
    return np.array([_shortest_between(*pair) for pair in zip(below, edges, strict=True)])


def _shortest_between(low: float, high: float) -> float:
    """Return the largest of the numbers with the fewest digits in (low, high]."""
    exact = repr(float(high))
    for digits in range(1, _DIGITS):
        candidate = float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(exact))
        if low < candidate <= high:
            return candidate
    return float(high)
