"""Decision whether the first line of a delimited file holds names or values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graftviz.errors import InputError
from graftviz.table.labels import is_number, is_whole_number
from graftviz.wording import shortened


def first_line_has_names(
    fields: Sequence[str],
    recurs: Iterable[bool],
    expected: Sequence[str] | None,
    title: str,
    line: int,
) -> bool:
    """Return whether the first line holds names; raise :class:`InputError` if it is ambiguous.

    ==========================================================  ==========
    first line                                                  read as
    ==========================================================  ==========
    the expected names, in any order                            names
    some field is not a number                                  names ¹
    numbers, with a repetition, a fraction or a sign            values
    0, 1, 2, … or 1, 2, 3, …                                    names ¹
    other whole numbers, each of which recurs in its column     values
    other whole numbers                                         an error
    ==========================================================  ==========

    ¹ an error if every field recurs as a value in its own column.

    Parameters
    ----------
    fields : sequence of str
        The stripped fields of the first line.
    recurs : iterable of bool
        Whether each field occurs in its column below the first line; evaluated only if needed.
    expected : sequence of str or None
        Names the columns should have, if known.
    title : str
        Source name for messages.
    line : int
        Number of the line for messages.

    Raises
    ------
    InputError
        If both names and values are plausible; the message explains how to decide.
    """
    if expected is not None and sorted(fields) == sorted(expected):
        return True
    distinct = len(set(fields)) == len(fields)
    whole = all(is_whole_number(field) and field[0] not in "+-" for field in fields)
    if all(is_number(field) for field in fields) and not (whole and distinct):
        return False
    if not whole and not (distinct and all(fields)):
        return True  # rejected later as invalid names
    n = len(fields)
    counted = whole and [int(field) for field in fields] in ([*range(n)], [*range(1, n + 1)])
    if all(recurs):
        if whole and not counted:
            return False
    elif counted or not whole:
        return True
    raise InputError(
        f"{title}: line {line} "
        f"({', '.join(map(shortened, fields[:4]))}{', …' * (len(fields) > 4)}) could be names "
        "or values; choose header=True if it holds names, header=False if it holds values."
    )
