"""Forecast of the memory and time of a run.

Both are sums of parts, see :mod:`graftviz.costs`. The number of edge tests is exact only
for edge grafting; for the streaming learners it is estimated from the edge budget and the tests per
step, and without a budget every pair is tested eventually.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.costs import CostPart, TableSize
from graftviz.counts import (
    DEFAULT_CACHE_BYTES,
    counting_plan,
    planes_bytes,
)
from graftviz.learners.base import Learner
from graftviz.learners.registry import DEFAULT, as_learner, table_and_learner
from graftviz.memory import resident_bytes, size_text
from graftviz.table import ChunkedTable, DiscreteTable, Extent, Tabular

PROGRAM_BYTES = 280_000_000  # Python, its libraries, and the compiled kernels
_RAW_CELL = 40  # bytes per cell while it is read and encoded, including the reader
TEXT_BYTE = 12  # bytes per byte of delimited text that is read completely
_PACK = 0.5e-9  # seconds per entry of the table
_CHUNK_READ = 150e-9  # seconds per entry of a table in a file


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
    parts : tuple of CostPart
        Parts of these sums, largest memory first.
    assumptions : tuple of str
        Assumptions, as sentences.

    Examples
    --------
    >>> forecast = gv.forecast((1_000, 20_000, 5), gv.ChowLiu())
    >>> forecast.added_bytes < forecast.peak_bytes, 1 < forecast.seconds < 1_000
    (True, True)
    """

    peak_bytes: int
    added_bytes: int
    seconds: float
    parts: tuple[CostPart, ...]
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


def forecast(
    table: Tabular | tuple[int, int, int],
    learner: Learner | str = DEFAULT,
    *,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
) -> Forecast:
    """Return the forecast of memory and time of `learner` on `table`.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array, DataSet or (rows, variables, states)
        A table, which may be read in chunks, or the shape of a table.
    learner : Learner
    cache_bytes : int
        Limit of the pair cache, see :func:`graftviz.counts.cache_limit`.

    Raises
    ------
    InputError
        If the table cannot be counted within its ``max_memory``.

    Examples
    --------
    >>> forecast = gv.forecast(survey, gv.BestChoice())
    >>> forecast.added_bytes < 2**30, forecast.seconds < 60
    (True, True)
    """
    if isinstance(table, tuple):
        learner = as_learner(learner)
    else:
        table, learner = table_and_learner(table, learner)
    size = _size_of(table)
    held = resident_bytes()
    start = [
        CostPart("program", max(held - (size.code_bytes if size.loaded else 0), PROGRAM_BYTES), 0.0)
    ]
    start.append(CostPart("table", size.code_bytes, 0.0))
    notes: list[str] = []
    work = [*_statistics(size), *learner.cost(size, cache_bytes, notes)]
    parts = sorted([*start, *work], key=lambda part: -part.bytes)
    peak = int(sum(part.bytes for part in parts))
    added = int(sum(part.bytes for part in work)) + (0 if size.loaded else size.code_bytes)
    seconds = sum(part.seconds for part in parts)
    return Forecast(peak, added, seconds, tuple(parts), tuple(notes))


def loading_bytes(extent: Extent) -> int:
    """Return the peak memory of reading a file completely, in bytes."""
    if extent.rows is None:
        return TEXT_BYTE * extent.bytes
    return extent.bytes + extent.rows * extent.row_bytes


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


def _size_of(table: DiscreteTable | tuple[int, int, int]) -> TableSize:
    if not isinstance(table, DiscreteTable):
        rows, columns, states = (int(number) for number in table)
        itemsize = 1 if states <= 256 else 2
        sizes = np.full(columns, states, dtype=np.int64)
        return TableSize(rows, sizes, True, rows * columns * itemsize, False, None)
    sizes, rows = table.cardinalities, table.n_rows
    if isinstance(table, ChunkedTable):
        itemsize = 1 if sizes.max() <= 256 else 2
        held = chunk_bytes(len(sizes), itemsize)
        return TableSize(rows, sizes, False, held, False, table)
    return TableSize(rows, sizes, True, table.codes.nbytes, True, table)


def _statistics(size: TableSize) -> list[CostPart]:
    entries = size.n_rows * size.n
    if size.table is None or size.has_rows:
        return [CostPart("bit planes", planes_bytes(size.n_rows, size.sizes), entries * _PACK)]
    plan = counting_plan(size.table)
    if plan.by_planes:
        return [CostPart("bit planes", plan.planes_bytes, entries * _CHUNK_READ)]
    seconds = entries * _CHUNK_READ + size.possible * size.count_seconds
    return [CostPart("counts of all pairs", plan.pairs_bytes, seconds)]
