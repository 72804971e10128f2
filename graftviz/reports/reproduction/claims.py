"""Claims of a paper: measured quantities with comparators and thresholds, and their verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.reports.reproduction.rows import Row, Table
from graftviz.reports.reproduction.statistics import NotMeasured, trend
from graftviz.utils.files import json_value
from graftviz.utils.wording import enough_digits

Held = Literal["partly"] | bool | None
Cases = Callable[[Table], Any]
Check = tuple[str, Cases] | tuple[str, Cases, str]
OWN = "Not in the "  # start of statements that the papers do not make
_LISTED = 6  # more cases of a group are described by their range


_COMPARATORS = {"above": gt, "at least": ge, "below": lt, "at most": le}


def condition(words: str) -> Callable[[Any], bool]:
    """Return the condition that a comparator with its threshold puts on a value.

    Examples: "above 0", "at least 0.9", "below 1", "at most 5", and "0.8 to 1.25" with both ends.
    "true" is for truth values. "rising" and "falling" are for lists along a parameter: the last
    value is larger (smaller) than the first, and the rank correlation with the position at least
    0.9 (at most -0.9).

    Raises
    ------
    ValueError
        For other words.
    """
    if words == "true":
        return bool
    if words in ("rising", "falling"):
        sign = 1 if words == "rising" else -1
        return lambda values: (
            bool(sign * (values[-1] - values[0]) > 0) and sign * trend(values) >= 0.9
        )
    if both := re.fullmatch(r"(\S+) to (\S+)", words):
        least, most = map(float, both.groups())
        return lambda value: least <= value <= most
    name, _, limit = words.rpartition(" ")
    if name not in _COMPARATORS:
        comparators = ", ".join((*_COMPARATORS, "true", "rising", "falling"))
        raise ValueError(f"{words!r} is no comparator; they are {comparators}, and A to B.")
    compare, threshold = _COMPARATORS[name], float(limit)
    return lambda value: bool(compare(value, threshold))


class NotComparable(str):
    """Reason for which a case is not judged, such as data other than the paper's, as its value."""


def together(held: Sequence[Held]) -> Held:
    """Return True or False if all are, otherwise "partly"."""
    return held[0] if all(one is held[0] for one in held) else "partly"


class Verdict(NamedTuple):
    """Judgement of a claim.

    Attributes
    ----------
    held : bool, "partly" or None
        None if required rows are missing, or no case is comparable.
    sentence : str
        Description of the measurements, or of what is missing.
    numbers : dict
        Values of the cases by quantity.
    met, judged : int
        Number of cases that meet their comparator, and of all that have one.
    """

    held: Held
    sentence: str
    numbers: dict[str, Any]
    met: int = 0
    judged: int = 0


class Claim:
    """Statement of a paper, which holds if all its checks are met in all cases.

    Parameters
    ----------
    words : str
        The statement, paraphrased; one that the papers do not make begins with :data:`OWN`.
    checks : tuples (quantity, cases, comparator)
        A measured quantity, a function of the rows that returns its values by case, and the
        comparator with its threshold (:func:`condition`). Cases may be nested by group; None and
        :class:`NotComparable` are not judged. Without a comparator the values are reported only.
    remark : str
        Sentence added to the description of the measurements.
    """

    def __init__(self, words: str, *checks: Check, remark: str = "") -> None:
        self.words, self.checks, self.remark = words, checks, remark

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """Return the verdict on measured rows.

        Raises
        ------
        NotMeasured
            If required rows are missing.
        """
        met: list[bool] = []
        is_comparable = True
        phrases, numbers = [], {}
        for quantity, of_rows, *comparators in self.checks:
            cases = numbers[quantity] = _plain(of_rows(Table(rows)))
            holds = [condition(words) for words in comparators]
            phrase = f"{quantity[0].upper()}{quantity[1:]}: {_values(cases, holds)}"
            for words, test in zip(comparators, holds, strict=True):
                leaves = list(_leaves(cases))
                is_comparable &= not any(isinstance(value, NotComparable) for _, value in leaves)
                judged = {name: test(value) for name, value in leaves if _is_judged(value)}
                met += judged.values()
                if judged:
                    phrase += f" [{words} in {_outcome(judged)}]"
            phrases.append(phrase)
        if not met and is_comparable:
            raise NotMeasured("No required measurement is available.")
        held = together(met) if met else None
        sentence = f"{'. '.join(phrases)}. {self.remark}".strip()
        return Verdict(held, sentence, numbers, sum(met), len(met))


def _plain(value: Any) -> Any:
    """Return cases as JSON values; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {
            f"{key:g}" if isinstance(key, float) else str(key): _plain(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return json_value(value)


def _leaves(cases: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if not isinstance(cases, dict):
        yield ", ".join(filter(None, names)), cases
        return
    for name, value in cases.items():
        yield from _leaves(value, (*names, name))


def flat(cases: Any) -> Any:
    """Return nested cases in one dictionary, with their names joined by commas."""
    plain = _plain(cases)
    return dict(_leaves(plain)) if isinstance(plain, dict) else plain


def _is_judged(value: Any) -> bool:
    return value is not None and not isinstance(value, NotComparable)


def _values(cases: Any, holds: Sequence[Callable[[Any], bool]]) -> str:
    """Return the values of all cases as text, groups separated by semicolons."""
    if not isinstance(cases, dict):
        return _number(cases, holds)
    if any(isinstance(value, dict | list) for value in cases.values()):
        texts = {name: _values(value, holds) for name, value in cases.items()}
        return "; ".join(f"{name}: {text}" for name, text in texts.items() if text)
    values = [value for value in cases.values() if _is_judged(value)]
    if len(cases) > _LISTED and values and not isinstance(values[0], str | bool):
        words = f"{_number(min(values), holds)} to {_number(max(values), holds)}"
        reasons = {value for value in cases.values() if isinstance(value, NotComparable)}
        return ", ".join((words, *(_number(reason, ()) for reason in sorted(reasons))))
    return ", ".join(f"{_number(value, holds)} ({name})" for name, value in cases.items())


def _number(value: Any, holds: Sequence[Callable[[Any], bool]]) -> str:
    """Return a value as text, with enough digits to show on which side of the limits it is."""
    if isinstance(value, list):
        is_long = len(value) > _LISTED
        ends = [_number(item, ()) for item in (value[:: len(value) - 1] if is_long else value)]
        return (" to " if is_long else ", ").join(ends)
    if isinstance(value, NotComparable):
        return f"not judged: {value}"
    if value is None or isinstance(value, bool | str):
        names: dict[Any, str] = {None: "none", True: "yes", False: "no"}
        return names.get(value, str(value))
    if isinstance(value, int) or (abs(value) >= 1000 and not holds):
        return f"{value:,.0f}"
    digits = enough_digits(value, lambda shown: all(test(shown) == test(value) for test in holds))
    return f"{value:.{digits}g}"


def _outcome(judged: Mapping[str, bool]) -> str:
    """Return in how many cases a condition is met, with a few exceptions."""
    wrong = [name for name, is_met in judged.items() if not is_met]
    words = f"{len(judged) - len(wrong)} of {len(judged)}"
    if 0 < len(wrong) <= _LISTED and len(wrong) < len(judged):
        words += f", not for {'; '.join(wrong)}"
    return words


class Paper(NamedTuple):
    """Beginning of the names of a paper's experiments, and the title of the paper."""

    prefix: str
    title: str

    def item(self, item: str, section: str) -> dict[str, Any]:
        """Return name and place of the experiment of a "figure …" or "table …"."""
        short = item.replace("figure ", "fig").replace("table ", "table")
        place = f"{self.title}, {item} and section {section}"
        return {"name": f"{self.prefix}-{short}", "place": place}
