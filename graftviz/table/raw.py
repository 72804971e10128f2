"""Columns as they come from a source: which value stands in which row, before any coding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.errors import InputError
from graftviz.table.discrete import default_names
from graftviz.table.labels import MISSING_TOKENS, text_of
from graftviz.wording import quoted

_NO_NAME = re.compile("[\0\ud800-\udfff]")
_SLICE = 2**20  # codes that are turned into eight-byte indices at a time


class RawColumn(NamedTuple):
    """One column.

    Attributes
    ----------
    codes : signed integer array, shape (rows,)
        Index into `values`; −1 where the value is missing. One more than any index fits its type.
    values : array
        The different values, in any order; some may occur in no row. Integers, floats, or an
        object array of stripped text.
    """

    codes: np.ndarray
    values: np.ndarray


class RawTable(NamedTuple):
    """All columns of a source.

    Attributes
    ----------
    title : str
        What messages call the source, e.g. its file name.
    names : tuple of str
    columns : sequence of RawColumn
    n_rows : int
    place : callable
        Turns a row index into what people see: ``"line 17"`` of a file, ``"row 16"`` of a frame.
    named : bool
        Whether the source told the names; otherwise they are :func:`default_names`.
    notes : tuple of str
        Sentences worth showing.
    """

    title: str
    names: tuple[str, ...]
    columns: Sequence[RawColumn]
    n_rows: int
    place: Callable[[int], str]
    named: bool
    notes: tuple[str, ...] = ()


def text_column(codes: np.ndarray, texts: Iterable[str]) -> RawColumn:
    """Strip white space, merge what is then equal, and mark what counts as missing."""
    positions: dict[str, int] = {}
    lookup = []
    for text in texts:
        plain = text.strip()
        missing = plain in MISSING_TOKENS
        lookup.append(-1 if missing else positions.setdefault(plain, len(positions)))
    lookup.append(-1)  # for code −1
    values = np.array(list(positions), dtype=object)
    return RawColumn(look_up(np.array(lookup, dtype=smallest_codes(len(values))), codes), values)


def smallest_codes(n_values: int) -> type[np.signedinteger[Any]]:
    """Return the smallest signed integer type for the codes of so many values."""
    if n_values < 2**7:
        return np.int8
    if n_values < 2**15:
        return np.int16
    return np.int32 if n_values < 2**31 else np.int64


def look_up(lookup: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return ``lookup[codes]`` without indices of eight bytes for all codes at once."""
    if len(codes) <= _SLICE:
        return lookup[codes]
    found = np.empty(len(codes), dtype=lookup.dtype)
    for start in range(0, len(codes), _SLICE):
        found[start : start + _SLICE] = lookup[codes[start : start + _SLICE]]
    return found


def count_codes(codes: np.ndarray, n_values: int) -> np.ndarray:
    """Return how often −1, 0, 1, … occur, int64, shape (n_values + 1,)."""
    counts = np.zeros(n_values + 1, dtype=np.int64)
    for start in range(0, len(codes), _SLICE):
        counts += np.bincount(codes[start : start + _SLICE] + 1, minlength=n_values + 1)
    return counts


def no_unicode(title: str, name: str) -> InputError:
    """Return the refusal of a column of text or bytes that cannot be decoded."""
    return InputError(
        f"{title}: column {quoted(name)} holds text that is no valid Unicode, or bytes that are "
        "no UTF-8; clean it."
    )


def from_frame(frame: pd.DataFrame, title: str = "The data frame") -> RawTable:
    """Take the columns of a data frame; its index is left out.

    Raises
    ------
    InputError
        For bytes that are not UTF-8, and text with lone surrogates.
    """
    names = tuple(text_of(name).strip() for name in frame.columns)
    columns = []
    for i, name in enumerate(names):
        try:
            columns.append(series_column(frame.iloc[:, i]))
        except UnicodeError:
            raise no_unicode(title, name) from None
    return RawTable(title, names, tuple(columns), len(frame), row_place, named=True)


def from_array(array: np.ndarray) -> RawTable:
    """Take the columns of a two-dimensional array.

    Raises
    ------
    InputError
        For another shape, or entries that are neither numbers, booleans nor text.
    """
    if array.ndim != 2:
        raise InputError(f"An array must be two-dimensional (rows, variables), not {array.ndim}-D.")
    names = default_names(array.shape[1])
    if array.dtype.kind in "iufb":
        columns = tuple(factorized(column) for column in np.ascontiguousarray(array.T))
        return RawTable("The array", names, columns, len(array), row_place, named=False)
    if array.dtype.kind in "OUT":
        # As objects, so that text is checked column by column.
        frame = pd.DataFrame(array.astype(object), columns=list(names), dtype=object)
        return from_frame(frame, "The array")._replace(named=False)
    raise InputError(f"An array must hold numbers, booleans or text, not {array.dtype}.")


def row_place(row: int) -> str:
    """Name a row of a source that has no lines, counted from 1."""
    return f"row {row + 1}"


def check_shape(table: RawTable, least_rows: int) -> None:
    """Refuse unusable names, and tables too small to hold a network, with an InputError."""
    check_names(table.title, table.names)
    if len(table.names) < 2:
        had = f"only one column ({quoted(table.names[0])})" if table.names else "no columns"
        raise InputError(f"{table.title}: there is {had}; a network needs at least two.")
    if table.n_rows < least_rows:
        had = "are no rows" if table.n_rows == 0 else f"is only {table.n_rows} row"
        raise InputError(f"{table.title}: there {had} of data; at least {least_rows} are needed.")


def check_names(title: str, names: Sequence[str], advice: str = "") -> None:
    """Refuse names that are empty, not unique, or hold NUL or lone surrogates.

    Raises
    ------
    InputError
        For such a name; `advice` ends the sentence.
    """
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if _NO_NAME.search(name):
            raise InputError(
                f"{title}: the name of column {i + 1}, {quoted(name)}, holds a NUL character or "
                f"text that is no valid Unicode; rename it{advice}."
            )
        if not name:
            raise InputError(
                f"{title}: column {i + 1} has an empty name; give every column one{advice}."
            )
        if name in first:
            raise InputError(
                f"{title}: the name {quoted(name)} is given to columns {first[name] + 1} and "
                f"{i + 1}; rename one of them{advice}."
            )
        first[name] = i


def series_column(series: Any) -> RawColumn:
    """Take a series of a data frame."""
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if series.dtype == object:
        # Text first: as keys of a hash table, True and 1 would be the same.
        series = series.map(text_of, na_action="ignore")
    return factorized(series)


def factorized(column: Any) -> RawColumn:
    """Return the codes and different values of a series or an array of one dimension."""
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    values = np.asarray(uniques)
    if values.dtype.kind in "iuf":
        return RawColumn(codes.astype(smallest_codes(len(values))), values)
    return text_column(codes, (text_of(value) for value in uniques))
