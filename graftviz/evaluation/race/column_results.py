"""Final results of a race, compared column by column at displayed precision."""

from __future__ import annotations

from typing import NamedTuple

from graftviz.evaluation.race.course import Moment
from graftviz.evaluation.race.race import Race


class Column(NamedTuple):
    """Measure by which ended runs are compared.

    Attributes
    ----------
    name : str
        Field of :class:`graftviz.evaluation.race.course.Moment`.
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
