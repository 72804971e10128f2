"""Labels of values: text of a state, numeric value, missing values, order of states.

The same rules hold for every source, so that a table written to CSV and read again has the same
codes:

* Surrounding white space is removed. Text equal to one of :data:`MISSING_TOKENS` is missing, as
  are an empty cell, None and NaN. "None", "none" and "N/A" are labels, since they are common
  answers.
* A variable whose values are all numbers is numeric. Its labels have a normal form: 1, 1.0 and +1
  are all ``"1"``. Whole numbers with leading zeros (``"007"``) are text, since they are usually
  keys.
* Numeric labels, and the bins of a continuous variable, are sorted by number; all other labels as
  text, by code point. The state of missing values is the last.
* The categories of an ordered categorical column have its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING_TOKENS = frozenset({"", "NA", "NaN", "nan", "null", "NULL", "?"})
# Label of missing values; the second is for variables that already have the first as a label.
MISSING_STATES = ("missing", "(missing)")
OTHER_STATE = "other"  # label of rare texts

# At most 20 digits before the point, enough for 64-bit integers; longer ones are keys.
_WHOLE = r"[+-]?(0|[1-9]\d{0,19})"
_NUMBER = rf"({_WHOLE}(\.\d*)?|[+-]?\.\d+)([eE][+-]?\d+)?"
_INFINITE = r"[+-]?[iI]nf(inity)?"
PLAIN_NUMBERS = rf"^{_NUMBER}$"  # in the syntax of Arrow
_ALL_NUMBERS = rf"^({_NUMBER}|{_INFINITE})$"
_WHOLE_TEXT = re.compile(_WHOLE, re.ASCII)
_NUMBER_TEXT = re.compile(_NUMBER, re.ASCII)
_INFINITE_TEXT = re.compile(_INFINITE, re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_BIN_TEXT = re.compile(
    rf"< (?P<below>{_NUMBER})|\[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\)|>= (?P<above>{_NUMBER})",
    re.ASCII,
)
_FEW = 64  # up to this count, matching text by text is faster than calling pyarrow
EXACT = 2.0**53  # above this, not every whole number is a double


def is_number(text: str) -> bool:
    """Return whether `text` is a finite number in the notation of labels."""
    return _NUMBER_TEXT.fullmatch(text) is not None


def is_infinite(value: Any) -> bool:
    """Return whether `value`, a number or text, is infinite as a number."""
    if isinstance(value, str):
        return _INFINITE_TEXT.fullmatch(value) is not None
    return isinstance(value, float) and value in (np.inf, -np.inf)


def is_whole_number(text: str) -> bool:
    """Return whether `text` is written as an integer."""
    return _WHOLE_TEXT.fullmatch(text) is not None


def has_decimal_comma(texts: Iterable[str]) -> bool:
    """Return whether any text is a number with a decimal comma."""
    return any(_DECIMAL_COMMA.fullmatch(text) for text in texts)


def format_number(value: float) -> str:
    """Return the label of a number: whole numbers without a point, others as short as exact."""
    if float(value).is_integer() and abs(value) < EXACT:
        return str(int(value))
    return repr(float(value))


def plain_label(text: str) -> str:
    """Return the normal form of `text` if it is a number, otherwise `text`."""
    if is_whole_number(text):
        return str(int(text))
    return format_number(float(text)) if is_number(text) else text


def text_of(value: Any) -> str:
    """Return the text of one value of a data frame; bytes are read as UTF-8."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, (float, np.floating)):
        return format_number(float(str(value)))
    return str(value)


def as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Return `values` as float64, or None when they are not all numbers.

    Parameters
    ----------
    values : integer, float or object array
        Object arrays hold text.

    Raises
    ------
    UnicodeEncodeError
        For text with lone surrogates.
    """
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    if values.dtype.kind == "f":
        # Converted by way of text: 0.1 in single precision means 0.1, not 0.10000000149.
        return values if values.dtype == np.float64 else values.astype(str).astype(np.float64)
    if len(values) == 0:
        return None
    return values.astype(np.float64) if _all_numbers(values) else None


def _all_numbers(texts: np.ndarray) -> bool:
    if len(texts) <= _FEW:
        "".join(texts).encode()  # raises for the same texts as pyarrow
        return all(is_number(text) or is_infinite(text) for text in texts)
    found = pc.match_substring_regex(pa.array(texts, type=pa.string()), _ALL_NUMBERS)
    return bool(pc.all(found).as_py())


def plain_labels(values: np.ndarray, numbers: np.ndarray | None) -> list[str]:
    """Return the label of every value; `numbers` is the result of :func:`as_numbers`."""
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    if values.dtype.kind == "f" and numbers is not None:
        return [format_number(number) for number in numbers.tolist()]
    return list(values) if numbers is None else [plain_label(text) for text in values]


def sort_labels(labels: Sequence[str], order: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the distinct labels in the order of their codes.

    Labels that occur in `order`, the texts of an ordered column, have that order and come first.
    """
    states = set(labels)
    last = [label for label in MISSING_STATES if label in states]
    states.difference_update(last)
    if order:
        first = [label for label in dict.fromkeys(map(plain_label, order)) if label in states]
        first += [label for label in order if label in states and label not in first]
        return (*first, *sort_labels(sorted(states.difference(first))), *last)
    numbers = {label: _sort_number(label) for label in states}
    if None in numbers.values():
        return (*sorted(states), *last)
    return (*sorted(states, key=lambda label: (numbers[label], label)), *last)


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the labels of the bins between inner edges; the outer two bins are unbounded."""
    texts = [format_number(edge) for edge in edges]
    inner = (f"[{low}, {high})" for low, high in pairwise(texts))
    return (f"< {texts[0]}", *inner, f">= {texts[-1]}")


def bin_edges(labels: Sequence[str]) -> np.ndarray | None:
    """Return the inner edges for the labels of :func:`bin_labels`; None for other labels."""
    states = [label for label in labels if label not in MISSING_STATES]
    edges = [number for label in states if (number := _sort_number(label)) is not None][1:]
    if not edges or bin_labels(edges) != tuple(states):
        return None
    return np.array(edges, dtype=np.float64)


def _sort_number(label: str) -> float | None:
    if is_whole_number(label):
        return int(label)
    if is_number(label):
        return float(label)
    found = _BIN_TEXT.fullmatch(label)
    if found is None:
        return None
    if found["below"] is not None:
        return -np.inf
    return float(found["low"] if found["low"] is not None else found["above"])
