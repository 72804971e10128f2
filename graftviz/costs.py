"""Size of a table and parts of the memory and time of a run, from which forecasts are added up.

A part is a number of items or operations times the cost of one. Bytes per item follow from the
arrays; times per operation were measured on one 2.5 GHz core and are meant to distinguish seconds
from hours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.counts import planes_bytes
from graftviz.table import DiscreteTable

GROWTH = 1.25  # overhead of arrays that grow by doubling, and of their copies
SCORE_CELL = 4e-9  # seconds per cell of a scored pair

# Seconds.
_WORD = 0.25e-9  # per word of a cell
_PAIR = 0.5e-6  # per pair, besides its words
_FETCH = 0.07e-9  # per byte of planes outside the cache
_NEAR_CACHE = 8_000_000


class CostPart(NamedTuple):
    """Part of the memory or time of a run."""

    name: str
    bytes: float
    seconds: float


class TableSize(NamedTuple):
    """Size of a table, as required for a forecast.

    Attributes
    ----------
    n_rows : int
    sizes : array of int
        Number of states of each variable.
    has_rows : bool
        Whether the rows are in memory.
    code_bytes : int
    loaded : bool
        Whether the memory of the table is in use already.
    table : DiscreteTable or None
    """

    n_rows: int
    sizes: np.ndarray
    has_rows: bool
    code_bytes: int
    loaded: bool
    table: DiscreteTable | None

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.sizes)

    @property
    def possible(self) -> int:
        """Number of pairs."""
        return self.n * (self.n - 1) // 2

    @property
    def states(self) -> float:
        """Mean number of states."""
        return float(self.sizes.mean())

    @property
    def cells(self) -> float:
        """Mean number of cells of a pair table."""
        return self.states**2

    @property
    def count_seconds(self) -> float:
        """Time to count one pair."""
        planes = planes_bytes(self.n_rows, self.sizes)
        per_plane = planes / max(int((self.sizes - 1).sum()), 1)
        free = float((self.sizes - 1).mean())
        fetch = _FETCH * 2 * free * per_plane if planes > _NEAR_CACHE else 0.0
        return _PAIR + _WORD * free**2 * per_plane / 8 + fetch
