"""Sparsity enforcing learning: coefficients for specified parents (thesis, section 2.1.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from graftviz.data.series.series import StandardisedData, TimeSeries, Transitions, standardise
from graftviz.dynamics.base import DynamicsLearner, Row, Steps, check_enough
from graftviz.dynamics.rows import StepRecorder, fit_row
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine
from graftviz.utils.parallel import lazy_map


@dataclass(frozen=True)
class SparsityEnforcing(DynamicsLearner):
    """Least squares of every series on specified parents.

    Attributes
    ----------
    adjacency : sequence of n sequences of int
        `adjacency[i]` holds the parents of series i, which are the series that drive it.

    Source: the thesis, chapter 2, algorithm 2.

    Examples
    --------
    >>> parents = [row.indices for row in system.coefficients]
    >>> learned = dynamics.learn(series, dynamics.SparsityEnforcing(adjacency=parents))
    >>> dynamics.structure_recall(learned.system, system)
    1.0
    """

    name: ClassVar[str] = "enforcing"
    title: ClassVar[str] = "Sparsity enforcing"
    idea: ClassVar[str] = (
        "Least squares of every series on specified parents. For systems with a known structure, "
        "and as the last stage of the learners that find the structure."
    )
    opening: ClassVar[str] = "Least squares of every series on its given parents."
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
        """Raise :class:`InputError` for missing or invalid parents, or too few rows."""
        n = len(data.names)
        if self.adjacency is None:
            raise InputError(
                "Sparsity enforcing learning needs the parents of every series: pass an adjacency."
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
        """Learn A; the method is deterministic, and `seed` is not used."""
        self.check(data)
        standard = standardise(data, centre=self.centre)
        recorder = StepRecorder(standard)
        rows = [np.array(row, dtype=np.int64) for row in self.adjacency or ()]
        for row in fit_rows(standard, list(enumerate(rows)), jobs):
            yield recorder.step(row, "given", ("parents", "fit"))
        return recorder.outcome()


def fit_rows(
    data: StandardisedData, tasks: Sequence[tuple[int, np.ndarray]], jobs: int | None
) -> Iterator[Row]:
    """Yield the row of least squares for each (node, parents), in order."""
    yield from lazy_map(_fit, tasks, shared=data, jobs=jobs)


def _fit(data: StandardisedData, task: tuple[int, np.ndarray]) -> Row:
    return fit_row(data, *task)
