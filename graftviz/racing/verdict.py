"""Who won, column by column: the ends of all racers, compared as they are written."""

from __future__ import annotations

from typing import NamedTuple

from graftviz.racing.course import Moment
from graftviz.racing.race import Race


class Column(NamedTuple):
    """One thing racers are compared by at their ends.

    Attributes
    ----------
    name : str
        Field of :class:`graftviz.racing.Moment`.
    title : str
    decimals : int
        As many as are written; what is written alike counts as equal.
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


class Verdict(NamedTuple):
    """The ends of all racers in one column.

    Attributes
    ----------
    column : Column
    values : tuple of float or None
        One per racer; None for racers that are under way and for what is not known.
    winners : tuple of int
        The racers that are best; several when they are equal, none when all are.
    remark : str
        Why there is no winner; empty if there is one.
    """

    column: Column
    values: tuple[float | None, ...]
    winners: tuple[int, ...]
    remark: str = ""


def verdicts(race: Race) -> tuple[Verdict, ...]:
    """Return who won each column; racers that are still under way have no values."""
    ends = [course.moments[-1] if course.ended else None for course in race.courses]
    return tuple(_verdict(race, column, ends) for column in COLUMNS)


def _verdict(race: Race, column: Column, ends: list[Moment | None]) -> Verdict:
    values = tuple(None if end is None else _rounded(column, end) for end in ends)
    known = [(value, racer) for racer, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return Verdict(column, values, (), "There is nothing to compare.")
    yardsticks = {race.courses[racer].yardstick for _, racer in known}
    if column.name == "objective" and len(yardsticks) > 1:
        return Verdict(column, values, (), "These racers minimise different objectives.")
    numbers = [value for value, _ in known]
    best = max(numbers) if column.more_is_better else min(numbers)
    winners = tuple(racer for value, racer in known if value == best)
    if len(winners) == len(known):
        return Verdict(column, values, (), "All are equal.")
    return Verdict(column, values, winners)


def _rounded(column: Column, end: Moment) -> float | None:
    value = getattr(end, column.name)
    return None if value is None else round(float(value), column.decimals)
