"""Claims of a paper: functions of the measured rows that return a verdict and a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import ge, gt, le, lt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from graftviz.utils.errors import InputError
from graftviz.utils.files import json_value
from graftviz.utils.wording import enough_digits

Row = dict[str, Any]
# Frames and series of pandas; the types of their cells are known after the measurement.
Frame: TypeAlias = Any
Series: TypeAlias = Any
Held = Literal["partly"] | bool | None
OWN = "Not in the "  # start of statements that the papers do not make
_LISTED = 6  # more cases of a group are described by their range
_COMPARATORS = {"above": gt, "at least": ge, "below": lt, "at most": le}


class NotMeasured(InputError):
    """Error for a claim whose measurements are missing."""


class NotComparable(str):
    """Reason for which a case is not judged, such as data other than the paper's, as its value."""


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


class Claim(NamedTuple):
    """Statement of a paper, and its verdict on measured rows.

    Attributes
    ----------
    words : str
        The statement, paraphrased; one that the papers do not make begins with :data:`OWN`.
    of_rows : callable (frame) -> checks
        Returns the checks of :func:`verdict`.
    remark : str
        Sentence added to the description of the measurements.
    """

    words: str
    of_rows: Callable[[Frame], Checks]
    remark: str = ""

    def judge(self, rows: Frame | Iterable[Row]) -> Verdict:
        """Return the verdict on measured rows.

        Raises
        ------
        NotMeasured
            If required rows are missing.
        """
        rows = frame(rows)
        if rows.empty:
            raise NotMeasured("No required measurement is available.")
        try:
            return verdict(*self.of_rows(rows), remark=self.remark)
        except KeyError as missing:
            raise NotMeasured(f"{missing.args[0]} was not measured.") from missing


# A measured quantity, its values by case (maybe nested), and a comparator with its threshold; None
# and NotComparable are not judged. Without a comparator the values are reported only.
Check: TypeAlias = tuple[str, Any] | tuple[str, Any, str]
Checks: TypeAlias = Iterable[Check]


def claim(words: str, remark: str = "") -> Callable[[Callable[[Frame], Checks]], Claim]:
    """Return a decorator that makes a :class:`Claim` of a function of the rows."""
    return lambda of_rows: Claim(words, of_rows, remark)


def frame(rows: Frame | Iterable[Row]) -> Frame:
    """Return rows as a frame; whole numbers stay whole in columns with missing values."""
    if isinstance(rows, pd.DataFrame):
        return rows
    found = pd.DataFrame(list(rows), dtype=object)
    whole = found.columns[found.notna().all()]
    return found.assign(**{name: found[name].infer_objects() for name in whole})


def verdict(*checks: Check, remark: str = "") -> Verdict:
    """Return the verdict of checks: they held if all are met in all cases.

    Raises
    ------
    NotMeasured
        If there is no case to judge.
    """
    met: list[bool] = []
    is_comparable = True
    phrases, numbers = [], {}
    for quantity, measured, *comparators in checks:
        cases = numbers[quantity] = plain(measured)
        holds = [condition(words) for words in comparators]
        phrase = f"{quantity[0].upper()}{quantity[1:]}: {_values(cases, holds)}"
        for words, test in zip(comparators, holds, strict=True):
            leaves = flat(cases)
            is_comparable &= not any(isinstance(value, NotComparable) for value in leaves.values())
            judged = {name: test(value) for name, value in leaves.items() if _is_judged(value)}
            met += judged.values()
            if judged:
                phrase += f" [{words} in {_outcome(judged)}]"
        phrases.append(phrase)
    if not met and is_comparable:
        raise NotMeasured("No required measurement is available.")
    held = together(met) if met else None
    sentence = f"{'. '.join(phrases)}. {remark}".strip()
    return Verdict(held, sentence, numbers, sum(met), len(met))


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


def together(held: Sequence[Held]) -> Held:
    """Return True or False if all are, otherwise "partly"."""
    return held[0] if all(one is held[0] for one in held) else "partly"


def plain(value: Any) -> Any:
    """Return cases as JSON values; numbers that are not finite become None.

    A series with several levels of its index becomes nested dictionaries.
    """
    if isinstance(value, pd.Series):
        value = nested(value)
    if isinstance(value, Mapping):
        return {
            f"{key:g}" if isinstance(key, float) else str(key): plain(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    return json_value(value)


def nested(values: Series) -> dict[Any, Any]:
    """Return the values of a series by the levels of its index, in order of appearance."""
    if values.index.nlevels == 1:
        return dict(values.items())
    first = values.index.get_level_values(0).unique()
    return {key: nested(values.xs(key, level=0)) for key in first}


def flat(cases: Any) -> dict[str, Any]:
    """Return nested cases in one dictionary, with their names joined by commas."""
    return dict(_leaves(cases))


def _leaves(cases: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if not isinstance(cases, dict):
        yield ", ".join(filter(None, names)), cases
        return
    for name, value in cases.items():
        yield from _leaves(value, (*names, name))


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


# --- statistics ---------------------------------------------------------------------------------


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation, or 0 if one side is constant."""
    if min(first) == max(first) or min(second) == max(second):
        return 0.0
    return float(spearmanr(first, second).statistic)


def mean(values: Series) -> float:
    """Return the mean as numpy sums it; that of pandas may have other last digits."""
    return float(np.mean(values.to_numpy(float)))


def trend(values: Sequence[float]) -> float:
    """Return the rank correlation of values with their positions."""
    return rank_correlation(range(len(values)), values)


def standard_errors(differences: Any) -> float:
    """Return the mean of differences in standard errors; 0 for a single one."""
    count = len(differences)
    if count < 2:
        return 0.0
    return float(np.mean(differences) / max(np.std(differences, ddof=1) / count**0.5, 1e-12))


def power(counts: Mapping[Any, float] | Series) -> float:
    """Return the exponent of a power law, fitted to logarithms by least squares.

    Raises
    ------
    NotMeasured
        With a single size.
    """
    if len(counts) < 2:
        raise NotMeasured("A power needs two sizes.")
    sizes, values = zip(*counts.items(), strict=True)
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def changes(values: Series) -> dict[str, float]:
    """Return the differences from one value to the next."""
    return {f"{a} to {b}": values[b] - values[a] for a, b in pairwise(values.index)}
