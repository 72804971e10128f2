"""Influence of every variable on the query, as shades of the nodes outside a region."""

from __future__ import annotations

import math

import numpy as np

from graftviz.ui.regions import work as region_work
from graftviz.ui.regions.jobs import Influence
from graftviz.ui.regions.models import ShownModel

_LEVELS = 255
_FAINTEST = 1e-4  # smallest influence that is drawn
_MOST_TERMS = 60


def halo(shown: ShownModel, query: int) -> list[int] | None:
    """Return 0 … 255 for every variable, on a logarithmic scale; None if unknown."""
    work = region_work.influence(shown)
    influence = None if work.latest is None else reach(work.latest, query)
    if influence is None:
        return None
    with np.errstate(divide="ignore"):
        height = 1.0 - np.log(np.minimum(influence, 1.0)) / math.log(_FAINTEST)
    levels: list[int] = np.rint(_LEVELS * np.clip(height, 0.0, 1.0)).astype(int).tolist()
    return levels


def reach(influence: Influence, query: int) -> np.ndarray | None:
    """Return the query's row of D = Σ_r C^r, shape (n,); None if c ≥ 1 (no convergence)."""
    if influence.coefficient >= 1.0:
        return None
    transposed = influence.matrix.T
    term = np.zeros(transposed.shape[0])
    term[query] = 1.0
    total = term.copy()
    for _ in range(_MOST_TERMS):
        term = transposed @ term
        total += term
        if term.max() < _FAINTEST:
            break
    return total
