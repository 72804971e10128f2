"""Course of one run: its results as a function of cost.

Cost is measured in engine seconds, edge tests or edges, and never decreases along a course. A run
may remove edges, so the cost in edges is the largest number of edges so far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graftviz.learning.history import History
from graftviz.learning.observer import StepMetrics
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import NO_PAIRS, Step
from graftviz.utils.errors import InputError

# Cost axes and their labels.
AXES: Mapping[str, str] = MappingProxyType(
    {"seconds": "engine seconds", "tests": "edge tests", "edges": "edges"}
)


_UNSPENT = {"step": 0, "seconds": 0.0, "tests": 0, "tables": 0, "edges": 0}  # before the first step


class Moment(NamedTuple):
    """Results of a run after one step, and their cost.

    Attributes
    ----------
    step : int
        0: the model without edges; the end of a run has the number of its last step.
    seconds : float
        Engine time of this run alone; time spent on other runs is not counted.
    tests, tables : int
        Edge tests made and pair tables counted so far.
    edges : int
    objective : float
    recall, precision, nlpl_test : float or None
        See :class:`graftviz.learning.observer.StepMetrics`.
    """

    step: int
    seconds: float
    tests: int
    tables: int
    edges: int
    objective: float
    recall: float | None
    precision: float | None
    nlpl_test: float | None


@dataclass(frozen=True, eq=False)
class Course:
    """Results of one run up to now, ordered by cost.

    Attributes
    ----------
    name : str
        Display name of the racer.
    moments : tuple of Moment
        The model without edges, every step, and, once the run has ended, its end; never empty.
    ended : bool
    yardstick : str
        Identifies the objective; only objectives with the same yardstick can be compared.
    history : History or None
        None for a run without steps.
    """

    name: str
    moments: tuple[Moment, ...]
    ended: bool
    yardstick: str = ""
    history: History | None = None

    @cached_property
    def _costs(self) -> dict[str, list[float]]:
        return {
            axis: np.maximum.accumulate([getattr(m, axis) for m in self.moments]).tolist()
            for axis in AXES
        }

    def costs(self, axis: str) -> list[float]:
        """Return the cost of every moment; it never falls.

        Raises
        ------
        InputError
            If `axis` is unknown.
        """
        if axis not in AXES:
            raise InputError(f"A race can be run along {', '.join(AXES)}, not {axis!r}.")
        return self._costs[axis]

    def at(self, axis: str, value: float) -> int:
        """Return the index of the last moment with cost ≤ `value`, or 0 if there is none."""
        return max(0, bisect_right(self.costs(axis), value) - 1)

    def edges_at(self, moment: int) -> np.ndarray:
        """Return the active edges of a moment, i < j, int64, shape (m, 2)."""
        if self.history is None:
            return NO_PAIRS.astype(np.int64)
        is_end = self.ended and moment == len(self.moments) - 1
        recorded = len(self.history.counts) if is_end else self.moments[moment].step
        return self.history.edges_at(recorded)


def course_of(run: LearningRun, name: str = "", yardstick: str = "") -> Course:
    """Return the course of `run` so far; another thread may advance the run meanwhile.

    Raises
    ------
    ValueError
        Before the first step, when the results of the empty model are not yet computed.
    """
    # Read in the reverse of the order in which the run sets them.
    outcome = run.outcome
    steps = run.steps[: len(run.steps)]
    if run.start is None:
        raise ValueError("a run has no course before its first step")
    if steps:
        objective = steps[0].previous_objective
    else:
        assert outcome is not None  # a run whose start is set has made a step or ended
        objective = outcome.objective
    moments = [_moment(run.start, **_UNSPENT, objective=objective)]
    moments += [
        step_moment(step, metrics) for step, metrics in zip(steps, run.metrics, strict=False)
    ]
    history = steps[-1].history if steps else None
    if outcome is not None:
        assert run.final is not None  # set before the outcome is
        history = outcome.history
        moments.append(
            _moment(
                run.final,
                step=len(steps),
                seconds=outcome.seconds.total,
                tests=run.tests,
                tables=outcome.tables_counted,
                edges=len(history.ids_at(len(history.counts))),
                objective=outcome.objective,
            )
        )
        # A final refit changes the objective; comparisons use the objective at the end.
        yardstick = f"{outcome.objective_name} {yardstick}".strip()
    return Course(
        name or run.learner.title, tuple(moments), outcome is not None, yardstick, history
    )


def step_moment(step: Step, metrics: StepMetrics) -> Moment:
    """Return the results after one step."""
    return _moment(
        metrics,
        step=step.index,
        seconds=step.seconds.total,
        tests=step.tests_total,
        tables=step.tables_counted,
        edges=step.n_edges,
        objective=step.objective,
    )


def _moment(metrics: StepMetrics, **facts: Any) -> Moment:
    recall, precision, _, nlpl_test = metrics
    return Moment(**facts, recall=recall, precision=precision, nlpl_test=nlpl_test)
