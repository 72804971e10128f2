"""Parts of the memory and time of a run that learners share; each learner adds up its own.

A part is a number of items or operations times the cost of one. Bytes per item follow from the
arrays; times per operation were measured on one 2.5 GHz core and are meant to distinguish seconds
from hours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.counts import counting_plan, planes_bytes
from graftviz.learners.settings import Methods
from graftviz.table import DiscreteTable

SLOT = 77  # bytes per pair in its map and in the search, without hash table and cells
SCANNED_SLOT = 143  # the same in a search that scans all pairs, with the lists of its certificate
LOGGED_TEST = 17  # bytes
TEST = 2.5e-6  # seconds per edge test, besides counting
SCAN = 1e-9  # seconds per pair in a scan of all pairs
_HASH_ENTRY = 16
_GROWTH = 1.25  # overhead of arrays that grow by doubling, and of their copies
_EDGE_NUMBERS = 12  # float64 values per cell of an active edge: weights, targets, history
_TYPICAL_EDGES = 3  # edges per variable without a budget

# Seconds.
_WORD = 0.25e-9  # per word of a cell
_PAIR = 0.5e-6  # per pair, besides its words
_FETCH = 0.07e-9  # per byte of planes outside the cache
_NEAR_CACHE = 8_000_000
_SCORE_CELL = 4e-9
_NODE = 20e-6
_NODE_STEP = 0.25e-6
_EDGE_STEP = 0.4e-6
_FIT_CELL = 12e-6  # per cell of an edge, over all its visits
_ROW_LANE = 1.0e-9  # per row and state of a variable in a step of the pseudo-likelihood
_ROW_STATES = 0.06e-9  # per row and pair of states in a score by rows
_ROW_VISITS = 12  # steps of both ends of an edge, over all its visits
_SOLVE = 10e-9  # per number of the response in an edge test


class CostPart(NamedTuple):
    """Part of the memory or time of a run."""

    name: str
    bytes: float
    seconds: float


class TableSize(NamedTuple):
    """Size of a table, as required for a forecast.

    Attributes
    ----------
    rows : int
    sizes : array of int
        Number of states of each variable.
    has_rows : bool
        Whether the rows are in memory.
    code_bytes : int
    loaded : bool
        Whether the memory of the table is in use already.
    table : DiscreteTable or None
    """

    rows: int
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
        planes = planes_bytes(self.rows, self.sizes)
        per_plane = planes / max(int((self.sizes - 1).sum()), 1)
        free = float((self.sizes - 1).mean())
        fetch = _FETCH * 2 * free * per_plane if planes > _NEAR_CACHE else 0.0
        return _PAIR + _WORD * free**2 * per_plane / 8 + fetch


def pair_counts(
    size: TableSize, counted: float, slot: int, cache_bytes: int, growth: float = _GROWTH
) -> CostPart:
    """Return the part of counted pairs: cells up to the limit of the cache, and `slot` bytes."""
    table = 2 ** math.ceil(math.log2(2 * max(counted, 128) * 1.3))
    on_demand = size.table is None or size.has_rows or counting_plan(size.table).by_planes
    cells = min(4 * size.cells * counted * growth, cache_bytes) if on_demand else 0.0
    seconds = counted * size.count_seconds if on_demand else 0.0
    return CostPart("pair counts", cells + counted * slot + _HASH_ENTRY * table, seconds)


def every_pair(size: TableSize, cache_bytes: int) -> list[CostPart]:
    """Return the part of counting every pair."""
    return [pair_counts(size, size.possible, SLOT, cache_bytes)]


def assumed_edges(size: TableSize, budget: int, notes: list[str]) -> int:
    """Return the budget; without one, a typical number of edges, which is noted."""
    if budget < size.possible:
        return budget
    edges = min(_TYPICAL_EDGES * size.n, size.possible)
    notes.append(
        f"Without an edge budget, {edges:,} edges ({_TYPICAL_EDGES} a variable) are assumed."
    )
    return edges


def score_seconds(size: TableSize, score: str, edges: float) -> float:
    """Return the time to score one counted pair, in seconds."""
    if score == "pseudo-likelihood":
        # A pair of two variables without edges is scored from its counts.
        alone = (1 - min(edges / size.n, 1)) ** 2
        by_rows = 2 * size.rows * _ROW_STATES * (size.states - 1) ** 2
        return alone * _SCORE_CELL * size.cells + (1 - alone) * by_rows
    if score == "linear-response":
        return _SCORE_CELL * size.cells + _SOLVE * size.states**2 * edges
    return _SCORE_CELL * size.cells


def fits(
    size: TableSize, methods: Methods, edges: float, steps: float, *, is_dense: bool = False
) -> list[CostPart]:
    """Return the parts of the active set, its fits, and the conditionals of a pseudo-likelihood.

    Parameters
    ----------
    size : TableSize
    methods : Methods
    edges, steps : float
    is_dense : bool
        Whether the linear response is computed for all pairs of variables.
    """
    score, objective, _, refit = methods
    cells, states = size.cells, size.states
    network = 8 * edges * (_EDGE_NUMBERS * cells + 4 * states) + size.n * (8 * 6 * states + 400)
    parts = [CostPart("model and its history", network * _GROWTH, 0.0)]
    seconds = size.n * _NODE + steps * (size.n * _NODE_STEP + edges / 2 * _EDGE_STEP)
    if "pseudo-likelihood" in (score, objective) or refit:
        connected = min(size.n, 2 * edges)
        lanes = 4 * math.ceil(states / 4)  # probabilities of a row are padded to groups of four
        block = size.rows * (4 * lanes + 8)
        parts.append(CostPart("conditionals of the rows", connected * block * _GROWTH, 0.0))
        if score == "pseudo-likelihood":
            columns = size.rows * 4 * (states - 1)
            parts.append(CostPart("columns for scores", connected * columns * _GROWTH, 0.0))
            parts.append(CostPart("planes of states", planes_bytes(size.rows, size.sizes), 0.0))
        visits = edges * _ROW_VISITS * 2 * size.rows * states * _ROW_LANE
        parts.append(CostPart("pseudo-likelihood fits", 0.0, visits))
    if objective == "bethe":
        seconds += edges * cells * _FIT_CELL
    if score == "linear-response":
        numbers = min(size.n, 2 * edges) * states
        room = 8 * numbers**2 * 1.5 if is_dense else 8 * edges * cells * 20
        update = numbers**2 * 8 * 0.3e-9 * states if is_dense else edges * cells * 60e-9
        parts.append(CostPart("linear response", room, steps * update))
    parts.append(CostPart("fits", 0.0, seconds))
    return parts
