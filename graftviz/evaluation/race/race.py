"""Comparison of several courses at equal cost along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graftviz.evaluation.race.course import AXES, Course, Moment
from graftviz.utils.errors import InputError

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
