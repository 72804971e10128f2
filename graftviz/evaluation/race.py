"""Comparison of several courses at equal cost along one axis.

Course of one run: its results as a function of cost. Cost is measured in engine seconds, edge tests
or edges, and never decreases along a course. A run may remove edges, so the cost in edges is the
largest number of edges so far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.sets.dataset import DataSet
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.history import History
from graftviz.learning.observer import StepMetrics
from graftviz.learning.run import LearningRun, learn_network
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


# Measures that rank the racers, as (field, label, more is better); the first available one is used.
_MEASURES: tuple[tuple[str, str, bool], ...] = (
    ("recall", "recall", True),
    ("nlpl_test", "held-out NLPL", False),
    ("objective", "objective", False),
    ("edges", "edges", True),
)
_DIGITS = 3  # values that agree to so many digits count as equal
_MOST_NAMED = 3


class Standing(NamedTuple):
    """Rank and results of one racer at one cost.

    Attributes
    ----------
    racer : int
        Index of the course.
    rank : int
        From 1; equal racers share one.
    moment : Moment
    ended : bool
        Whether the racer is at its end.
    value : float or None
        Value of the measure that ranks the racers.
    """

    racer: int
    rank: int
    moment: Moment
    ended: bool
    value: float | None


@dataclass(frozen=True, eq=False)
class Race:
    """Runs on the same data, aligned on an axis.

    Parameters
    ----------
    courses : tuple of Course
        At least one.

    Raises
    ------
    InputError
        If there is no course.
    """

    courses: tuple[Course, ...]

    def __post_init__(self) -> None:
        if not self.courses:
            raise InputError("A race needs at least one racer.")

    @property
    def ended(self) -> bool:
        """Whether every run has ended."""
        return all(course.ended for course in self.courses)

    def timeline(self, axis: str) -> tuple[float, ...]:
        """Return the costs of the moments of all racers, ascending and without repetition."""
        return tuple(sorted({cost for course in self.courses for cost in course.costs(axis)}))

    def finish(self, axis: str) -> float:
        """Return the largest cost of any racer so far."""
        return max(course.costs(axis)[-1] for course in self.courses)

    def at(self, axis: str, value: float) -> tuple[int, ...]:
        """Return for each racer its last moment with cost ≤ `value`."""
        return tuple(course.at(axis, value) for course in self.courses)

    @property
    def measure(self) -> str:
        """Measure that ranks the racers: the first available of those in ``_MEASURES``."""
        return self._measure()[0]

    def standings(self, axis: str, value: float) -> tuple[Standing, ...]:
        """Return the standings at that cost, best first; ties are ordered by racer."""
        name, _, more_is_better = self._measure()
        places = self.at(axis, value)
        moments = [c.moments[k] for c, k in zip(self.courses, places, strict=True)]
        values = [getattr(moment, name) for moment in moments]
        keys = [_key(number, more_is_better=more_is_better) for number in values]
        order = sorted(range(len(keys)), key=lambda racer: (keys[racer], racer))
        return tuple(
            Standing(
                racer,
                1 + sum(other < keys[racer] for other in keys),
                moments[racer],
                self.courses[racer].ended and places[racer] == len(self.courses[racer].moments) - 1,
                values[racer],
            )
            for racer in order
        )

    def sentence(self, axis: str, value: float) -> str:
        """Return a sentence such as "Edge grafting leads: recall 0.62 after 1.3 s."."""
        standings = self.standings(axis, value)
        after = f"after {cost_text(axis, value)}"
        if all(standing.moment.edges == 0 for standing in standings):
            return f"No racer has an edge yet {after}."
        is_over = self.ended and all(standing.ended for standing in standings)
        _, words, _ = self._measure()
        first = [standing for standing in standings if standing.rank == 1]
        number = f"{words} {_format_value(first[0].value)} {after}"
        if len(first) == len(standings) > 1:
            return f"All are level: {number}."
        names = [self.courses[standing.racer].name for standing in first]
        if len(names) > _MOST_NAMED:
            leaders = f"{len(names)} of {len(standings)} racers"
        else:
            leaders = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        verb = ("win" if is_over else "lead") + ("" if len(names) > 1 else "s")
        return f"{leaders} {verb}: {number}."

    def _measure(self) -> tuple[str, str, bool]:
        def is_available(name: str) -> bool:
            if name == "objective":
                return len({course.yardstick for course in self.courses}) == 1
            values = (getattr(moment, name) for c in self.courses for moment in c.moments[-1:])
            return all(value is not None for value in values)

        return next(measure for measure in _MEASURES if is_available(measure[0]))


def cost_text(axis: str, value: float) -> str:
    """Return a cost with its unit: "1.3 s", "58,706 edge tests", "120 edges"."""
    texts: dict[str, Callable[[float], str]] = {
        "seconds": lambda cost: f"{cost:.3g} s",
        "tests": lambda cost: f"{cost:,.0f} edge tests",
        "edges": lambda cost: f"{cost:,.0f} edges",
    }
    if axis not in texts:
        raise InputError(f"A race can be run along {', '.join(AXES)}, not {axis!r}.")
    return texts[axis](value)


def _key(value: float | None, *, more_is_better: bool) -> float:
    """Return a sort key that orders better values first and missing values last."""
    if value is None:
        return float("inf")
    rounded = round(float(value), _DIGITS)
    return -rounded if more_is_better else rounded


def _format_value(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names with repeated ones numbered: "First hit", "First hit (2)"."""
    distinct: list[str] = []
    for k, name in enumerate(names):
        before = list(names[:k]).count(name)
        distinct.append(f"{name} ({before + 1})" if before else name)
    return distinct


_VARIABLES = 5


@lru_cache(maxsize=64)
def warm_up(learner: Learner) -> None:
    """Let `learner` learn from a few rows, so that nothing has to be compiled when it is timed."""
    with suppress(InputError):  # options that do not fit such data: the run compiles the rest
        learn_network(small_data().table, learner.for_warm_up())


def small_data(*, knows_truth: bool = False) -> DataSet:
    """Return a chain of a few variables that copy their predecessor most of the time.

    With one variable less some kernels of larger data are not compiled.
    """
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(200, _VARIABLES))
    for i in range(1, _VARIABLES):
        copied = rng.random(len(codes)) < 0.7
        codes[copied, i] = codes[copied, i - 1]
    return DataSet(
        key="warm-up",
        title="",
        table=DiscreteTable.from_codes(codes),
        truth=np.array([(i, i + 1) for i in range(_VARIABLES - 1)]) if knows_truth else None,
        test_fraction=0.2,
    )


class Column(NamedTuple):
    """Measure by which ended runs are compared.

    Attributes
    ----------
    name : str
        Field of :class:`graftviz.evaluation.race.Moment`.
    title : str
    decimals : int
        Decimals that are displayed; values displayed alike count as equal.
    more_is_better : bool
    """

    name: str
    title: str
    decimals: int
    more_is_better: bool = False


COLUMNS = (
    Column("seconds", "Engine seconds", 3),
    Column("tests", "Edge tests", 0),
    Column("tables", "Pair tables counted", 0),
    Column("objective", "Objective", 3),
    Column("recall", "Recall", 3, more_is_better=True),
    Column("precision", "Precision", 3, more_is_better=True),
    Column("nlpl_test", "Held-out NLPL", 3),
)


class ColumnResult(NamedTuple):
    """Final values of all racers in one column, and the winners.

    Attributes
    ----------
    column : Column
    values : tuple of float or None
        One per racer; None if the run has not ended or the value is not available.
    winners : tuple of int
        The best racers: several if they tie, none if all are equal.
    remark : str
        Reason why there is no winner; empty if there is one.
    """

    column: Column
    values: tuple[float | None, ...]
    winners: tuple[int, ...]
    remark: str = ""


def column_results(race: Race) -> tuple[ColumnResult, ...]:
    """Return the result of each column; runs that have not ended have no values."""
    ends = [course.moments[-1] if course.ended else None for course in race.courses]
    return tuple(_column_result(race, column, ends) for column in COLUMNS)


def _column_result(race: Race, column: Column, ends: list[Moment | None]) -> ColumnResult:
    values = tuple(None if end is None else _rounded(column, end) for end in ends)
    present = [(value, racer) for racer, value in enumerate(values) if value is not None]
    if len(present) < 2:
        return ColumnResult(column, values, (), "There is nothing to compare.")
    yardsticks = {race.courses[racer].yardstick for _, racer in present}
    if column.name == "objective" and len(yardsticks) > 1:
        return ColumnResult(column, values, (), "These racers minimise different objectives.")
    numbers = [value for value, _ in present]
    best = max(numbers) if column.more_is_better else min(numbers)
    winners = tuple(racer for value, racer in present if value == best)
    if len(winners) == len(present):
        return ColumnResult(column, values, (), "All are equal.")
    return ColumnResult(column, values, winners)


def _rounded(column: Column, end: Moment) -> float | None:
    value = getattr(end, column.name)
    return None if value is None else round(float(value), column.decimals)
