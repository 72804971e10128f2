"""Choice of the edges to activate: those of the reservoir in the interval I_α (BC alg. 4).

The reservoir is small, so this is plain Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Activation(NamedTuple):
    """Result of the activation rule for a reservoir.

    Attributes
    ----------
    mean, tau, maximum : float
        μ, τ_α = (1 − α) μ + α max, and the maximum; the interval I_α is [τ_α, max].
    chosen : tuple of int
        Positions of the edges to activate, best score first.
    skipped : tuple of int
        Positions of edges with a score of at least τ_α that share a node with a chosen edge.
    """

    mean: float
    tau: float
    maximum: float
    chosen: tuple[int, ...]
    skipped: tuple[int, ...]


def activation(
    edges: np.ndarray, scores: np.ndarray, alpha: float, budget: int | None = None
) -> Activation:
    """Choose edges with score ≥ τ_α, best first, of which no two share a node.

    The edge with the largest score is always chosen; at α = 1 it is the only one.

    Parameters
    ----------
    edges : int array, shape (k, 2)
    scores : float array, shape (k,)
        In non-increasing order.
    alpha : float
        α.
    budget : int, optional
        Largest number of edges to choose.
    """
    maximum = float(scores[0])
    # Rounding may put the mean of nearly equal scores above all of them.
    mean = min(float(scores.mean()), maximum)
    tau = min((1.0 - alpha) * mean + alpha * maximum, maximum)
    eligible = 1 if alpha == 1.0 else int(np.searchsorted(-scores, -tau, side="right"))
    chosen: list[int] = []
    skipped: list[int] = []
    touched: set[int] = set()
    for k in range(eligible):
        i, j = int(edges[k, 0]), int(edges[k, 1])
        if len(chosen) == budget:
            break
        if i in touched or j in touched:
            skipped.append(k)
        else:
            chosen.append(k)
            touched.update((i, j))
    return Activation(mean, tau, maximum, tuple(chosen), tuple(skipped))
