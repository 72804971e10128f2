"""Sparsity enforcing learning: the coefficients, where the parents are known (section 2.1.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from graftviz.dynamics.base import DynamicsLearner, Steps, check_enough
from graftviz.dynamics.rows import Ledger, Row, fitted_row
from graftviz.dynamics.series import Standardised, TimeSeries, Transitions, standardised
from graftviz.errors import InputError
from graftviz.learners.base import CodeLine
from graftviz.parallel import parallel_map

_SERIAL = (None, 1)


@dataclass(frozen=True)
class SparsityEnforcing(DynamicsLearner):
    """Least squares of every series on its given parents.

    Attributes
    ----------
    adjacency : sequence of n sequences of int
        `adjacency[i]` holds the parents of series i: the series that drive it.

    Source: the thesis, chapter 2, algorithm 2.
    """

    name: ClassVar[str] = "enforcing"
    title: ClassVar[str] = "Sparsity enforcing"
    idea: ClassVar[str] = (
        "Least squares of every series on the parents you give it. For a system whose wiring is "
        "known, and the last stage of the learners that find the wiring."
    )
    source: ClassVar[str] = "Thesis, section 2.1.2, algorithm 2"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("parents", 0, "for each i: Nᵢ = its parents in the adjacency"),
        CodeLine("fit", 1, "Aᵢ,Nᵢ = arg min ‖X″ᵢ − a X′_Nᵢ‖²"),
    )

    adjacency: Sequence[Sequence[int]] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adjacency is not None:
            plain = tuple(tuple(sorted({int(u) for u in row})) for row in self.adjacency)
            object.__setattr__(self, "adjacency", plain)

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` without parents, for wrong ones, or for too few rows."""
        n = len(data.names)
        if self.adjacency is None:
            raise InputError(
                "Sparsity enforcing learning needs the parents of every series: give an adjacency."
            )
        if len(self.adjacency) != n:
            raise InputError(
                f"The adjacency has parents for {len(self.adjacency)} series; there are {n}."
            )
        for i, row in enumerate(self.adjacency):
            if row and not 0 <= row[0] <= row[-1] < n:
                wrong = row[0] if row[0] < 0 else row[-1]
                raise InputError(
                    f"Series {data.names[i]!r} has parent {wrong}; series are numbered 0 to "
                    f"{n - 1}."
                )
        check_enough(data, max((len(row) for row in self.adjacency), default=0))

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A; the seed is not used, as nothing here is random."""
        self.check(data)
        known = standardised(data, centre=self.centre)
        ledger = Ledger(known)
        rows = [np.array(row, dtype=np.int64) for row in self.adjacency or ()]
        for row in fitted_rows(known, list(enumerate(rows)), jobs):
            yield ledger.step(row, "given", ("parents", "fit"))
        return ledger.outcome()


def fitted_rows(
    data: Standardised, wanted: Sequence[tuple[int, np.ndarray]], jobs: int | None
) -> Iterator[Row]:
    """Yield the row of each (node, parents), in that order."""
    if jobs in _SERIAL:
        yield from (_fit(data, one) for one in wanted)
    else:
        yield from parallel_map(_fit, wanted, shared=data, jobs=jobs)


def _fit(data: Standardised, wanted: tuple[int, np.ndarray]) -> Row:
    return fitted_row(data, *wanted)
