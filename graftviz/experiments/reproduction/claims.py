"""Claims of a paper: measured quantities with comparators and thresholds, and their verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.experiments.reproduction.rows import NotMeasured, Rows, trend
from graftviz.wording import enough_digits

Held = Literal["partly"] | bool
Cases = Callable[[Rows], Any]
_LISTED = 6  # more cases of a group are described by their range


class Holds(NamedTuple):
    """Comparator with its threshold, in words and as a function."""

    words: str
    test: Callable[[Any], bool]


def at_least(limit: float) -> Holds:
    """Return the comparator ≥."""
    return Holds(f"at least {limit:g}", lambda value: value >= limit)


def at_most(limit: float) -> Holds:
    """Return the comparator ≤."""
    return Holds(f"at most {limit:g}", lambda value: value <= limit)


def above(limit: float) -> Holds:
    """Return the comparator >."""
    return Holds(f"above {limit:g}", lambda value: value > limit)


def below(limit: float) -> Holds:
    """Return the comparator <."""
    return Holds(f"below {limit:g}", lambda value: value < limit)


def between(least: float, most: float) -> Holds:
    """Return the comparator of a range that includes its ends."""
    return Holds(f"{least:g} to {most:g}", lambda value: least <= value <= most)


RISES = Holds(
    "rising, with a rank correlation of at least 0.9",
    lambda values: bool(values[-1] > values[0]) and trend(values) >= 0.9,
)


class Check:
    """Measured quantity of a claim.

    Parameters
    ----------
    quantity : str
        Name of the quantity.
    cases : callable (rows) -> dict
        Values by case, with groups as nested dictionaries. A value is a number, or a list of
        numbers along a parameter. None is not judged. Raises :class:`NotMeasured` if rows are
        missing.
    holds : Holds
        Conditions on each value. Without any, the values are reported only.
    """

    def __init__(self, quantity: str, cases: Cases, *holds: Holds) -> None:
        self.quantity, self.cases, self.holds = quantity, cases, holds


class Verdict(NamedTuple):
    """Judgement of a claim.

    Attributes
    ----------
    held : bool or "partly"
    sentence : str
        Description of the measurements.
    numbers : dict
        Values of the cases by quantity.
    """

    held: Held
    sentence: str
    numbers: dict[str, Any]


class Claim:
    """Statement of a paper: it holds if all conditions are met in all cases.

    Parameters
    ----------
    words : str
        The statement, paraphrased.
    checks : Check
    remark : str
        Sentence added to the description of the measurements.
    """

    def __init__(self, words: str, *checks: Check, remark: str = "") -> None:
        self.words, self.checks, self.remark = words, checks, remark

    def judge(self, rows: Rows) -> Verdict:
        """Return the verdict on measured rows.

        Raises
        ------
        NotMeasured
            If required rows are missing.
        """
        met: list[bool] = []
        phrases, numbers = [], {}
        for check in self.checks:
            cases = _plain(check.cases(rows))
            numbers[check.quantity] = cases
            judged = [
                (name, holds, holds.test(value))
                for name, value in _leaves(cases)
                if value is not None
                for holds in check.holds
            ]
            met += [result for *_, result in judged]
            phrases.append(
                f"{check.quantity}: {_values(cases, check.holds)}{_outcome(check.holds, judged)}"
            )
        if not met:
            raise NotMeasured("No required measurement is available.")
        sentence = ". ".join(phrase[0].upper() + phrase[1:] for phrase in phrases)
        held: Held = all(met) or ("partly" if any(met) else False)
        return Verdict(held, f"{sentence}. {self.remark}".strip(), numbers)


def _plain(value: Any) -> Any:
    """Return cases as JSON values; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _leaves(cases: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if not isinstance(cases, dict):
        yield ", ".join(filter(None, names)), cases
        return
    for name, value in cases.items():
        yield from _leaves(value, (*names, name))


def _values(cases: Any, holds: tuple[Holds, ...]) -> str:
    """Return the values of all cases as text, groups separated by semicolons."""
    if not isinstance(cases, dict):
        return _number(cases, holds)
    if any(isinstance(value, dict | list) for value in cases.values()):
        texts = {name: _values(value, holds) for name, value in cases.items()}
        return "; ".join(f"{name}: {text}" for name, text in texts.items() if text)
    values = [value for value in cases.values() if value is not None]
    if len(cases) > _LISTED and values and not isinstance(values[0], str | bool):
        return f"{_number(min(values), holds)} to {_number(max(values), holds)}"
    return ", ".join(f"{_number(value, holds)} ({name})" for name, value in cases.items())


def _number(value: Any, holds: tuple[Holds, ...]) -> str:
    """Return a value as text, with enough digits to show on which side of the limits it is."""
    if isinstance(value, list):
        is_long = len(value) > _LISTED
        ends = [_number(item, ()) for item in (value[:: len(value) - 1] if is_long else value)]
        return (" to " if is_long else ", ").join(ends)
    if value is None or isinstance(value, bool | str):
        names: dict[Any, str] = {None: "none", True: "yes", False: "no"}
        return names.get(value, str(value))
    if isinstance(value, int) or (abs(value) >= 1000 and not holds):
        return f"{value:,.0f}"
    digits = enough_digits(value, lambda shown: all(h.test(shown) == h.test(value) for h in holds))
    return f"{value:.{digits}g}"


def _outcome(holds: tuple[Holds, ...], judged: list[tuple[str, Holds, bool]]) -> str:
    """Return in how many of the cases the conditions are met, with the exceptions."""
    phrases = []
    for one in holds:
        results = {name: result for name, holds, result in judged if holds is one}
        wrong = [name for name, result in results.items() if not result]
        words = f"{one.words} in {len(results) - len(wrong)} of {len(results)}"
        if 0 < len(wrong) <= _LISTED and len(wrong) < len(results):
            words += f", not for {'; '.join(wrong)}"
        phrases.append(words)
    return f" [{' and '.join(phrases)}]" if phrases else ""
