"""Memory and time of a run, estimated from the size of its table.

It serves to refuse what cannot fit into memory and to ask before minutes of work. Bytes follow
from the arrays of a run. Seconds were fitted to best-choice on one core, for 500 to a million rows,
30 to 10,000 variables and 2 to 10 states, within a factor of three; other learners take a multiple.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import DEFAULT_CACHE_BYTES
from graftviz.learning.settings import rows_fit
from graftviz.utils.memory import resident_bytes, size_text
from graftviz.utils.wording import duration_text

PROGRAM_BYTES = 280_000_000  # Python, its libraries, and the compiled kernels
_EDGES = 3  # edges per variable if the edge budget allows more
_PAIR_BYTES = 180  # per pair in the map of counted pairs, in the search and its certificate


class Workload(NamedTuple):
    """Memory that a run adds to that of the program and its table, and its time in seconds."""

    bytes: float
    seconds: float

    @property
    def peak_bytes(self) -> float:
        """Memory of the process during the run."""
        return max(resident_bytes(), PROGRAM_BYTES) + self.bytes

    @property
    def sentence(self) -> str:
        """The estimate as a sentence."""
        return (
            f"This run will take about {size_text(self.peak_bytes)} of memory and "
            f"{duration_text(self.seconds)} of engine time."
        )


def workload(
    n: int, n_rows: int, states: float, pairs: int, edges: int, cache_bytes: int
) -> Workload:
    """Return the work of best-choice on a table of n variables with `states` states on average."""
    possible = n * (n - 1) // 2
    edges = min(_EDGES * n, edges)
    planes = n * n_rows * states / 8
    counts = min(8 * states**2 * pairs, cache_bytes) + _PAIR_BYTES * pairs
    conditionals = 5 * n_rows * (states + 1) * min(n, 2 * edges)
    row_visits = edges * n_rows * states
    if not rows_fit(np.full(n, states), n_rows):  # the rows are not used then
        conditionals, row_visits = 0, 0
    network = 120 * edges * states**2 + 500 * n
    compared = possible if pairs < possible else 0  # on a sample of rows
    seconds = 1e-7 * compared + 3e-6 * states**2 * pairs + 4e-8 * row_visits
    return Workload(planes + counts + conditionals + network, seconds)


def of_learner(
    table: DiscreteTable, learner: Learner, cache_bytes: int = DEFAULT_CACHE_BYTES
) -> Workload:
    """Return the work of a learner on a table.

    Raises
    ------
    InputError
        If the edge budget does not fit the table.
    """
    n, states = table.n_variables, float(table.cardinalities.mean())
    counted, edges = learner.counted_pairs(n), learner.edge_budget(n)
    found = workload(n, table.n_rows, states, counted, edges, cache_bytes)
    return found._replace(seconds=learner.pace * found.seconds)
