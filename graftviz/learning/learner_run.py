"""Common part of the runs of all learners: clock, history, number of tests, and reports.

Engine time by kind of work. The clock measures processor time of the working thread and of those it
uses, so other load and waiting for a turn do not count. Most kernels are serial; screenings and
tests of all pairs use several cores and take less wall-clock time. Processor time is read when the
clock starts and pauses only, because that takes a call of the system; between these it is divided
in proportion to the wall-clock time of each kind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.history import History
from graftviz.learning.trace import Certificate, Outcome, Remark, Screening, Seconds, Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.parallel import processor_time


class Clock:
    """Clock of engine time by kind of work; time between a step and the next is not counted."""

    def __init__(self) -> None:
        self._spent = {"statistics": 0.0, "scoring": 0.0, "fitting": 0.0, "other": 0.0}
        self._kind = "other"
        self._since: float | None = None  # None while paused
        self.resume()

    @contextmanager
    def work(self, kind: str) -> Iterator[None]:
        """Attribute the time inside the block to `kind`."""
        outer = self._kind
        self._switch(kind)
        try:
            yield
        finally:
            self._switch(outer)

    def pause(self) -> Seconds:
        """Stop until `resume` and return the time spent so far."""
        self._switch(self._kind)
        wall = sum(self._walls.values())
        share = (processor_time() - self._began) / wall if wall > 0.0 else 0.0
        for kind, seconds in self._walls.items():
            self._spent[kind] += share * seconds
        self._since = None
        return Seconds(sum(self._spent.values()), **self._spent)

    def resume(self) -> None:
        """Start measuring, again after `pause`."""
        self._walls = dict.fromkeys(self._spent, 0.0)
        self._began = processor_time()
        self._since = time.perf_counter()

    def _switch(self, kind: str) -> None:
        if self._since is None:
            self.resume()
        else:
            now = time.perf_counter()
            self._walls[self._kind] += now - self._since
            self._since = now
        self._kind = kind


class LearnerRun:
    """Base of the runs of all learners; a subclass does the search and the fits.

    Parameters
    ----------
    table : DiscreteTable
        Training rows.
    options : Learner

    Attributes
    ----------
    screening : Screening or None
        Selection of the candidates by sampled rows; None: all pairs count.
    clock : Clock
    history : History
        From `begin` on.
    index : int
        Number of steps so far.
    tests : int
        Number of edge tests so far.
    tables_possible : int
        Number of all pairs.

    Raises
    ------
    InputError
        If the options do not fit the table.
    """

    history: History

    def __init__(self, table: DiscreteTable, options: Any) -> None:
        options.check(table)
        self.clock = Clock()
        self.options = options
        self.names = table.names
        self.index = self.tests = 0
        self.screening: Screening | None = None
        self.tables_possible = table.n_variables * (table.n_variables - 1) // 2

    @property
    def tables_counted(self) -> int:
        """Number of pair tables counted so far."""
        return self.tables_possible

    @property
    def pairs_screened(self) -> int:
        """Number of pairs compared on sampled rows."""
        return 0 if self.screening is None else self.screening.pairs

    def begin(self, model: PairwiseModel, beliefs: np.ndarray) -> None:
        """Begin the history with the model without edges and its node beliefs."""
        start = read_only(beliefs.copy())
        self.history = History(model, start)

    def step_report(self, *, tests: int, **facts: Any) -> Step:
        """Return the report of the last step and pause the clock until it is resumed.

        Parameters
        ----------
        tests : int
            Edge tests of the step, which are added to those of the run.
        **facts
            The other attributes of the step.
        """
        self.tests += tests
        return Step(
            index=self.index,
            tests=tests,
            tests_total=self.tests,
            tables_counted=self.tables_counted,
            tables_possible=self.tables_possible,
            pairs_screened=self.pairs_screened,
            seconds=self.clock.pause(),
            changes=self.history.changes[-1],
            history=self.history,
            **facts,
        )

    def edge(self, i: int, j: int) -> Remark:
        """Return the names of both variables of an edge, for remarks about it."""
        return Remark("parts.edge", {"source": self.names[i], "target": self.names[j]})

    def nothing_left(self, *, by_feature: bool = False) -> Remark:
        """Return the reason of a run in which every pair, or feature, that may be active is."""
        if self.options.is_given(self.names):
            return Remark("reasons.given", {})
        if len(self.options.prior(self.names).forbidden):
            kind = "reasons.allowed_features" if by_feature else "reasons.allowed_pairs"
        else:
            kind = "reasons.all_features" if by_feature else "reasons.all_pairs"
        return Remark(kind, {})

    def outcome(self, certificate: Certificate, reason: Remark, **facts: Any) -> Outcome:
        """Return the outcome of the run.

        Parameters
        ----------
        certificate : Certificate
        reason : Remark
            The reason why the run ended.
        **facts
            The other attributes of the outcome.
        """
        return Outcome(
            stop_reason=reason,
            converged=certificate.proves_optimality,
            certificate=certificate,
            tests=self.tests,
            tables_counted=self.tables_counted,
            tables_possible=self.tables_possible,
            pairs_screened=self.pairs_screened,
            seconds=self.clock.pause(),
            history=self.history,
            **facts,
        )
