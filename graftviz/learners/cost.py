"""Parts of the memory and time of a run that learners share; each learner adds up its own."""

from __future__ import annotations

import math
from typing import Any

from graftviz.costs import GROWTH, CostPart, TableSize
from graftviz.counts import counting_plan, planes_bytes
from graftviz.fitting.conditionals import MOST_PLANES
from graftviz.learners.screening import SAMPLE
from graftviz.learners.settings import BETHE, Methods, methods, rows_fit
from graftviz.scores.registry import all_scores
from graftviz.search.screening import PARTNERS, sampled_rows

SLOT = 77  # bytes per pair in its map and in the search, without hash table and cells
SCANNED_SLOT = 143  # the same in a search that scans all pairs, with the lists of its certificate
LOGGED_TEST = 17  # bytes
TEST = 2.5e-6  # seconds per edge test, besides counting
SCAN = 1e-9  # seconds per pair in a scan of all pairs
_HASH_ENTRY = 16
_EDGE_NUMBERS = 12  # float64 values per cell of an active edge: weights, targets, history
_TYPICAL_EDGES = 3  # edges per variable without a budget

# Seconds.
_SCREENED_PAIR = 30e-9
_SCREENED_BIT = 0.8e-12
_NODE = 20e-6
_NODE_STEP = 0.25e-6
_EDGE_STEP = 0.4e-6
_FIT_CELL = 12e-6  # per cell of an edge, over all its visits
_ROW_LANE = 1.0e-9  # per row and state of a variable in a step of the pseudo-likelihood
_ROW_VISITS = 12  # steps of both ends of an edge, over all its visits


def pair_counts(
    size: TableSize, counted: float, slot: int, cache_bytes: int, growth: float = GROWTH
) -> CostPart:
    """Return the part of counted pairs: cells up to the limit of the cache, and `slot` bytes."""
    table = 2 ** math.ceil(math.log2(2 * max(counted, 128) * 1.3))
    on_demand = size.table is None or size.has_rows or counting_plan(size.table).by_planes
    cells = min(8 * size.cells * counted * growth, cache_bytes) if on_demand else 0.0
    seconds = counted * size.count_seconds if on_demand else 0.0
    return CostPart("pair counts", cells + counted * slot + _HASH_ENTRY * table, seconds)


def methods_for(options: Any, size: TableSize, notes: list[str]) -> Methods:
    """Return the methods of a grafting learner on a table, and note what its size changes."""
    fits = rows_fit(size.sizes, size.n_rows)
    chosen = methods(options, has_rows=size.has_rows, fits=fits)
    usual = methods(options, has_rows=size.has_rows)
    if chosen != usual:
        notes.append(
            f"The conditionals of {size.n_rows:,} rows of {size.n:,} variables need more than 4 "
            f"GB, so preset {options.preset} uses score {chosen.score} and objective "
            f"{chosen.objective} instead of {usual.score} and {usual.objective}."
        )
    return chosen


def candidates_of(size: TableSize, screening: str) -> tuple[int, list[CostPart]]:
    """Return the number of pairs that a screening leaves, and what screening by sample costs."""
    if screening != SAMPLE:
        return size.possible, []
    rows = sampled_rows(size.n, size.n_rows, size.states)
    planes = size.n * max(size.states - 1.0, 1.0) * rows / 8
    per_pair = _SCREENED_PAIR + _SCREENED_BIT * rows * max(size.states - 1.0, 1.0) ** 2
    part = CostPart("screening", planes + size.n * (rows + 32 * PARTNERS), size.possible * per_pair)
    return min(size.possible, PARTNERS * size.n), [part]


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


def fits(size: TableSize, chosen: Methods, edges: float, steps: float) -> list[CostPart]:
    """Return the parts of the active set, its fits, and the conditionals of a pseudo-likelihood.

    Parameters
    ----------
    size : TableSize
    chosen : Methods
    edges, steps : float
    """
    score = all_scores()[chosen.score]
    cells, states = size.cells, size.states
    network = 8 * edges * (_EDGE_NUMBERS * cells + 4 * states) + size.n * (8 * 6 * states + 400)
    parts = [CostPart("model and its history", network * GROWTH, 0.0)]
    seconds = size.n * _NODE + steps * (size.n * _NODE_STEP + edges / 2 * _EDGE_STEP)
    if chosen.reads_rows:
        connected = min(size.n, 2 * edges)
        columns = connected * size.n_rows * 4 * (states + 1)
        by_planes = size.sizes[size.sizes <= MOST_PLANES]
        planes = planes_bytes(size.n_rows, by_planes + 1)  # one for each state
        parts.append(CostPart("conditionals of the rows", planes + columns * GROWTH, 0.0))
        visits = edges * _ROW_VISITS * 2 * size.n_rows * states * _ROW_LANE
        parts.append(CostPart("pseudo-likelihood fits", 0.0, visits))
    parts += score.parts(size, edges, steps)
    if chosen.objective == BETHE:
        seconds += edges * cells * _FIT_CELL
    parts.append(CostPart("fits", 0.0, seconds))
    return parts
