"""Forecast of the memory and time of a run.

Both are sums of parts: a number of items or operations times the cost of one. Bytes per item follow
from the arrays; times per operation were measured on one 2.5 GHz core and are meant to distinguish
seconds from hours. The number of edge tests is exact only for edge grafting; for the streaming
learners it is estimated from the edge budget and the tests per step, and without a budget every
pair is tested eventually.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graftviz.counts import (
    DEFAULT_CACHE_BYTES,
    counting_plan,
    planes_bytes,
)
from graftviz.learners.base import Learner
from graftviz.learners.grafting_options import GraftingOptions
from graftviz.learners.settings import methods
from graftviz.memory import resident_bytes, size_text
from graftviz.table import ChunkedTable, DiscreteTable, Extent

PROGRAM_BYTES = 280_000_000  # Python, its libraries, and the compiled kernels
_ROW_TERM = 6e-9  # seconds per row and state, or side of an edge, in a pass over the rows
_ROW_PRODUCT = 0.3e-9  # seconds per row and pair of columns in a sum of products
_TYPICAL_WIDTH = 3
_PAIR_MARGINAL = 5e-9  # seconds per entry of a clique and state of another variable
_CLIQUE_FIT = 1.5e-6  # seconds per joint state of an edge in a fit
_PASSES = 14  # passes over the rows per exchange and its fit
_SLOT = 77  # bytes per pair in its map and in the search, without hash table and cells
_SCANNED_SLOT = 143  # the same in edge grafting, with the lists of its certificate
_HASH_ENTRY = 16
_LOGGED_TEST = 17
_GROWTH = 1.25  # overhead of arrays that grow by doubling, and of their copies
_EDGE_NUMBERS = 12  # float64 values per cell of an active edge: weights, targets, history
_RAW_CELL = 40  # bytes per cell while it is read and encoded, including the reader
_READ_CELL = 11  # bytes per cell while a parquet file is read completely; more if it is wide
_WIDE_CELL = 13
_TEXT_BYTE = 12  # the same per byte of delimited text
_HIT_EVERY = 0.05  # tests between two violating edges, per variable
_LAST_ROUNDS = 8  # rounds of tests of all pairs at the end of a run with pruning
_TYPICAL_EDGES = 3  # edges per variable without a budget

# Seconds.
_PACK = 0.5e-9  # per entry of the table
_CHUNK_READ = 150e-9  # per entry of a table in a file
_WORD = 0.25e-9  # per word of a cell
_PAIR = 0.5e-6  # per pair, besides its words
_FETCH = 0.07e-9  # per byte of planes outside the cache
_NEAR_CACHE = 8_000_000
_TEST = 2.5e-6  # per edge test, besides counting
_SCAN = 1e-9  # per pair in a scan of edge grafting
_CHANGED = 0.02  # share of pairs that a scan of edge grafting scores again
_SCORE_CELL = 4e-9
_HUBS = 35e-9  # per stored pair in a step with the hub rule
_RESERVOIR_EDGE = 0.5e-6  # per edge of the reservoir in a step
_NODE = 20e-6
_NODE_STEP = 0.25e-6
_EDGE_STEP = 0.4e-6
_FIT_CELL = 12e-6  # per cell of an edge, over all its visits
_ROW_LANE = 1.0e-9  # per row and state of a variable in a step of the pseudo-likelihood
_ROW_STATES = 0.06e-9  # per row and pair of states in a score by rows
_ROW_VISITS = 12  # steps of both ends of an edge, over all its visits
_FEATURES = 4  # assumed number of active features per edge
_FEATURE_FIT = 5e-6  # per cell of the edge of a new feature, in the following fit
_FEATURE_STEP = 130e-9  # per cell of an edge, in a single step of its features
_SOLVE = 10e-9  # per number of the response in an edge test


class Part(NamedTuple):
    """Part of the memory or time of a run."""

    name: str
    bytes: float
    seconds: float


@dataclass(frozen=True)
class Forecast:
    """Forecast of the memory and time of a run.

    Attributes
    ----------
    peak_bytes : int
        Peak memory of the process, including memory already in use.
    added_bytes : int
        Memory added by the run.
    seconds : float
        Engine time.
    parts : tuple of Part
        Parts of these sums, largest memory first.
    assumptions : tuple of str
        Assumptions, as sentences.
    """

    peak_bytes: int
    added_bytes: int
    seconds: float
    parts: tuple[Part, ...]
    assumptions: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The forecast as a sentence."""
        worst = [part for part in self.parts if part.bytes > 0.1 * self.peak_bytes][:3]
        named = ", ".join(f"{part.name} {size_text(part.bytes)}" for part in worst)
        reasons = f" ({named})" if named else ""
        return (
            f"This run will take about {size_text(self.peak_bytes)} of memory{reasons} and "
            f"{duration_text(self.seconds)} of engine time."
        )


class _Size(NamedTuple):
    """Size of a table, as required for a forecast."""

    rows: int
    sizes: np.ndarray
    has_rows: bool
    code_bytes: int
    loaded: bool
    table: DiscreteTable | None

    @property
    def n(self) -> int:
        return len(self.sizes)

    @property
    def possible(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def cells(self) -> float:
        """Mean number of cells of a pair table."""
        return float(self.sizes.mean()) ** 2


def forecast(
    table: DiscreteTable | tuple[int, int, int],
    learner: Learner,
    *,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
) -> Forecast:
    """Return the forecast of memory and time of `learner` on `table`.

    Parameters
    ----------
    table : DiscreteTable or (rows, variables, states)
        A table, which may be read in chunks, or the shape of a table.
    learner : Learner
    cache_bytes : int
        Limit of the pair cache, see :func:`graftviz.counts.cache_limit`.

    Raises
    ------
    InputError
        If the table cannot be counted within its ``max_memory``.
    """
    size = _size_of(table)
    held = resident_bytes()
    start = [
        Part("program", max(held - (size.code_bytes if size.loaded else 0), PROGRAM_BYTES), 0.0)
    ]
    start.append(Part("table", size.code_bytes, 0.0))
    work_of_learner = _WORK.get(learner.name)
    notes: list[str] = []
    if work_of_learner is None:
        notes.append(f"The cost of {learner.title} is unknown; it is assumed to count all pairs.")
    work = [
        *_statistics(size),
        *(work_of_learner or _every_pair)(size, learner, cache_bytes, notes),
    ]
    parts = sorted([*start, *work], key=lambda part: -part.bytes)
    peak = int(sum(part.bytes for part in parts))
    added = int(sum(part.bytes for part in work)) + (0 if size.loaded else size.code_bytes)
    seconds = sum(part.seconds for part in parts)
    return Forecast(peak, added, seconds, tuple(parts), tuple(notes))


def loading_bytes(extent: Extent) -> int:
    """Return the peak memory of reading a file completely, in bytes."""
    if extent.rows is None:
        return _TEXT_BYTE * extent.bytes
    wide = extent.rows * extent.wide_columns
    return extent.bytes + _READ_CELL * extent.cells + _WIDE_CELL * wide


def chunk_bytes(columns: int, code_bytes: int = 1) -> int:
    """Return the memory of reading a file in chunks, in bytes; it does not depend on the length."""
    return _RAW_CELL * max(2**22, 1024 * columns) + 3 * max(2**25, 4096 * columns * code_bytes)


def duration_text(seconds: float) -> str:
    """Return a duration as text, rounded to the accuracy of forecasts."""
    if seconds < 1:
        return "less than a second"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.0f} hours"


def _size_of(table: DiscreteTable | tuple[int, int, int]) -> _Size:
    if not isinstance(table, DiscreteTable):
        rows, columns, states = (int(number) for number in table)
        itemsize = 1 if states <= 256 else 2
        sizes = np.full(columns, states, dtype=np.int64)
        return _Size(rows, sizes, True, rows * columns * itemsize, False, None)
    sizes, rows = table.cardinalities, table.n_rows
    if isinstance(table, ChunkedTable):
        itemsize = 1 if sizes.max() <= 256 else 2
        held = chunk_bytes(len(sizes), itemsize)
        return _Size(rows, sizes, False, held, False, table)
    return _Size(rows, sizes, True, table.codes.nbytes, True, table)


def _statistics(size: _Size) -> list[Part]:
    entries = size.rows * size.n
    if size.table is None or size.has_rows:
        return [Part("bit planes", planes_bytes(size.rows, size.sizes), entries * _PACK)]
    plan = counting_plan(size.table)
    if plan.by_planes:
        return [Part("bit planes", plan.planes_bytes, entries * _CHUNK_READ)]
    seconds = entries * _CHUNK_READ + size.possible * _count_seconds(size)
    return [Part("counts of all pairs", plan.pairs_bytes, seconds)]


def _count_seconds(size: _Size) -> float:
    """Return the time to count one pair, in seconds."""
    planes = planes_bytes(size.rows, size.sizes)
    per_plane = planes / max(int((size.sizes - 1).sum()), 1)
    free = float((size.sizes - 1).mean())
    fetch = _FETCH * 2 * free * per_plane if planes > _NEAR_CACHE else 0.0
    return _PAIR + _WORD * free**2 * per_plane / 8 + fetch


def _pairs(
    size: _Size, counted: float, slot: int, cache_bytes: int, growth: float = _GROWTH
) -> Part:
    """Return the part of counted pairs: cells up to the cache limit, and slots."""
    table = 2 ** math.ceil(math.log2(2 * max(counted, 128) * 1.3))
    on_demand = size.table is None or size.has_rows or counting_plan(size.table).by_planes
    cells = min(4 * size.cells * counted * growth, cache_bytes) if on_demand else 0.0
    seconds = counted * _count_seconds(size) if on_demand else 0.0
    return Part("pair counts", cells + counted * slot + _HASH_ENTRY * table, seconds)


def _every_pair(size: _Size, _learner: Any, cache_bytes: int, _notes: list[str]) -> list[Part]:
    return [_pairs(size, size.possible, _SLOT, cache_bytes)]


def _edge_grafting(size: _Size, learner: Any, cache_bytes: int, notes: list[str]) -> list[Part]:
    edges = _edges(size, learner, notes)
    score = _methods(size, learner)[0]
    looks = edges * size.possible
    per_score = _score_seconds(size, score, edges)
    per_look = _SCAN if score == "belief" else _SCAN + _CHANGED * per_score
    return [
        _pairs(size, size.possible, _SCANNED_SLOT, cache_bytes, growth=1.0),
        Part(
            "scans", 0.0, looks * per_look + 2 * size.possible * _score_seconds(size, score, edges)
        ),
        *_fit(size, learner, edges, edges),
    ]


def _best_choice(size: _Size, learner: Any, cache_bytes: int, notes: list[str]) -> list[Part]:
    edges = _edges(size, learner, notes)
    plan = learner.plan(size.n)
    steps = math.ceil(edges / (1 + 14 * (1 - plan.alpha)))
    tests = min(plan.first_limit, plan.capacity * 1.5) + steps * plan.limit
    counted = min(size.possible, tests)
    if _open_ended(learner, size) or plan.full_queue:
        # Near the end all pairs are tested repeatedly for a violating one.
        rounds = _LAST_ROUNDS if _methods(size, learner)[2] else 1
        counted, tests = size.possible, max(tests, rounds * size.possible)
    elif counted < size.possible:
        notes.append("If few pairs violate, more pairs are tested, up to all of them.")
    score = _methods(size, learner)[0]
    held = steps * plan.capacity
    hubs = _HUBS * counted / 2 * steps if plan.hubs else 0.0
    per_test = _TEST + _score_seconds(size, score, edges)
    return [
        _pairs(size, counted, _SLOT, cache_bytes),
        Part("record of the steps", 16 * held + _LOGGED_TEST * tests, 0.0),
        Part("search", 0.0, tests * per_test + hubs + held * _RESERVOIR_EDGE),
        *_fit(size, learner, edges, steps),
    ]


def _first_hit(size: _Size, learner: Any, cache_bytes: int, notes: list[str]) -> list[Part]:
    edges = _edges(size, learner, notes)
    open_ended = _open_ended(learner, size)
    wait = max(_HIT_EVERY * size.n, 1.0)
    tests = size.possible * 2 if open_ended else min(size.possible, wait * edges)
    counted = min(size.possible, tests)
    if not open_ended and counted < size.possible:
        notes.append(f"From one hit to the next {wait:,.0f} tests are assumed.")
    score = _methods(size, learner)[0]
    return [
        _pairs(size, counted, _SLOT, cache_bytes),
        Part("record of the steps", _LOGGED_TEST * tests, 0.0),
        Part("search", 0.0, tests * (_TEST + _score_seconds(size, score, edges))),
        *_fit(size, learner, edges, edges),
    ]


def _feature_grafting(size: _Size, learner: Any, cache_bytes: int, notes: list[str]) -> list[Part]:
    edges = _edges(size, learner, notes)
    steps = min(_FEATURES * edges, size.possible * size.cells)
    if learner.max_features is not None:
        steps = min(steps, learner.max_features)
        edges = min(edges, int(steps))
    else:
        notes.append(f"{_FEATURES} active features an edge are assumed.")
    looks = size.possible * _score_seconds(size, "belief", edges) * 2
    per_cell = edges / 2 * _FEATURE_STEP if learner.name == "grafting-light" else _FEATURE_FIT
    return [
        _pairs(size, size.possible, _SCANNED_SLOT, cache_bytes, growth=1.0),
        Part("scans", 0.0, steps * size.possible * _SCAN + looks),
        Part("steps of features", 0.0, steps * size.cells * per_cell),
        *_fit(size, learner, edges, steps),
    ]


def _forced_pruning(size: _Size, learner: Any, cache_bytes: int, _notes: list[str]) -> list[Part]:
    edges = learner.edge_budget(size.n)
    exchanges = learner.exchanges if learner.exchange_size(edges) else 0
    fits = (1 + exchanges) * (1 + learner.restarts)
    states, free = float(size.sizes.sum()), float((size.sizes - 1).sum())
    per_pass = size.rows * (states + 2 * edges * float(size.sizes.mean() - 1)) * _ROW_TERM
    products = size.rows * free**2 * _ROW_PRODUCT
    return [
        *_every_pair(size, learner, cache_bytes, _notes),
        Part("conditionals of the rows", 4 * size.rows * states, fits * _PASSES * per_pass),
        Part("columns for gains", 8 * size.rows * free + 16 * free**2, fits * products),
        Part("record of the steps", fits * 8 * (states + edges * size.cells), 0.0),
    ]


def _bounded_inference(size: _Size, learner: Any, cache_bytes: int, notes: list[str]) -> list[Part]:
    width = _TYPICAL_WIDTH
    if learner.complexity == "treewidth" and learner.bound is not None:
        width = min(int(learner.bound), size.n - 1)
    else:
        notes.append(f"Cliques of {width + 1} variables are assumed.")
    states = float(size.sizes.mean())
    edges = min(learner.edge_budget(size.n), max(width * size.n, 1))
    entries = min(states ** (width + 1) * size.n, float(learner.exact_limit))
    marginals = edges * size.n * entries * states * _PAIR_MARGINAL
    return [
        *_every_pair(size, learner, cache_bytes, notes),
        Part("gradients", 50.0 * size.n**2, marginals),
        Part("cliques", 8 * entries * (3 + states), edges * edges * states**2 * _CLIQUE_FIT),
        Part("record of the steps", 8 * edges * (edges * size.cells / 2 + size.n * states), 0.0),
    ]


_WORK = {
    "bounded-inference": _bounded_inference,
    "edge-grafting": _edge_grafting,
    "best-choice": _best_choice,
    "first-hit": _first_hit,
    "feature-grafting": _feature_grafting,
    "grafting-light": _feature_grafting,
    "chow-liu": _every_pair,
    "forced-pruning": _forced_pruning,
}


def _open_ended(learner: Any, size: _Size) -> bool:
    """Whether the run ends only when no pair violates, so that all pairs are tested."""
    return bool(learner.edge_budget(size.n) >= size.possible)


def _edges(size: _Size, learner: Any, notes: list[str]) -> int:
    if not _open_ended(learner, size):
        return int(learner.edge_budget(size.n))
    edges = min(_TYPICAL_EDGES * size.n, size.possible)
    notes.append(
        f"Without an edge budget, {edges:,} edges ({_TYPICAL_EDGES} a variable) are assumed."
    )
    return edges


def _methods(size: _Size, learner: Any) -> tuple[str, str, bool]:
    """Return score and objective, and whether the run ends with a pseudo-likelihood refit."""
    if not isinstance(learner, GraftingOptions):
        return "belief", "bethe", False
    found = methods(learner, has_rows=size.has_rows)
    return found.score, found.objective, found.refit


def _score_seconds(size: _Size, score: str, edges: float) -> float:
    """Return the time to score one counted pair, in seconds."""
    if score == "pseudo-likelihood":
        # A pair of two variables without edges is scored from its counts.
        alone = (1 - min(edges / size.n, 1)) ** 2
        by_rows = 2 * size.rows * _ROW_STATES * float(size.sizes.mean() - 1) ** 2
        return alone * _SCORE_CELL * size.cells + (1 - alone) * by_rows
    if score == "linear-response":
        return _SCORE_CELL * size.cells + _SOLVE * float(size.sizes.mean()) ** 2 * edges
    return _SCORE_CELL * size.cells


def _fit(size: _Size, learner: Any, edges: float, steps: float) -> list[Part]:
    """Return the parts of the active set, its fits, and the conditionals of a pseudo-likelihood."""
    score, objective, refit = _methods(size, learner)
    cells, states = size.cells, float(size.sizes.mean())
    network = 8 * edges * (_EDGE_NUMBERS * cells + 4 * states) + size.n * (8 * 6 * states + 400)
    parts = [Part("model and its history", network * _GROWTH, 0.0)]
    seconds = size.n * _NODE + steps * (size.n * _NODE_STEP + edges / 2 * _EDGE_STEP)
    rows_needed = "pseudo-likelihood" in (score, objective) or refit
    if rows_needed:
        connected = min(size.n, 2 * edges)
        lanes = 4 * math.ceil(states / 4)  # probabilities of a row are padded to groups of four
        block = size.rows * (4 * lanes + 8)
        parts.append(Part("conditionals of the rows", connected * block * _GROWTH, 0.0))
        if score == "pseudo-likelihood":
            columns = size.rows * 4 * (states - 1)
            parts.append(Part("columns for scores", connected * columns * _GROWTH, 0.0))
            parts.append(Part("planes of states", planes_bytes(size.rows, size.sizes), 0.0))
        visits = edges * _ROW_VISITS * 2 * size.rows * states * _ROW_LANE
        parts.append(Part("pseudo-likelihood fits", 0.0, visits))
    if objective == "bethe":
        seconds += edges * cells * _FIT_CELL
    if score == "linear-response":
        numbers = min(size.n, 2 * edges) * states
        dense = learner.name == "edge-grafting"
        room = 8 * numbers**2 * 1.5 if dense else 8 * edges * cells * 20
        update = numbers**2 * 8 * 0.3e-9 * states if dense else edges * cells * 60e-9
        parts.append(Part("linear response", room, steps * update))
    parts.append(Part("fits", 0.0, seconds))
    return parts
