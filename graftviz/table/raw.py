"""Uncoded columns of a source: its distinct values, and the index of the value of each row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.errors import InputError
from graftviz.table.discrete import checked_weights, default_names
from graftviz.table.labels import MISSING_TOKENS, as_numbers, text_of
from graftviz.wording import nearest, quoted

_NO_NAME = re.compile("[\0\ud800-\udfff]")
_SLICE = 2**20  # codes converted to eight-byte indices at a time
_NO_ORDERS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
# Names that pandas, R and spreadsheets give to a column of row names, in lower case.
_INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "rownames"})
_FEW = 8  # up to this count, comparing with every value is faster than counting


class RawColumn(NamedTuple):
    """Uncoded column.

    Attributes
    ----------
    codes : signed integer array, shape (rows,)
        Index into `values`; −1 where the value is missing. The type also holds the largest index
        plus one.
    values : array
        The distinct values, in any order; some may occur in no row. Integers, floats, or an
        object array of stripped text.
    """

    codes: np.ndarray
    values: np.ndarray


class RawTable(NamedTuple):
    """Uncoded columns of a source.

    Attributes
    ----------
    title : str
        Name of the source in messages, e.g. its file name.
    names : tuple of str
    columns : sequence of RawColumn
    n_rows : int
    place : callable
        Returns the text for a row index in messages: ``"line 17"`` of a file, ``"row 16"`` of a
        frame.
    named : bool
        Whether the names come from the source; otherwise they are :func:`default_names`.
    notes : tuple of str
        Warnings to show.
    orders : mapping of str to tuple of str
        Texts of the values of ordered columns, in their order.
    weights : float64 array, shape (rows,), or None
        Case weights.
    """

    title: str
    names: tuple[str, ...]
    columns: Sequence[RawColumn]
    n_rows: int
    place: Callable[[int], str]
    named: bool
    notes: tuple[str, ...] = ()
    orders: Mapping[str, tuple[str, ...]] = _NO_ORDERS
    weights: np.ndarray | None = None


def text_column(codes: np.ndarray, texts: Iterable[str]) -> RawColumn:
    """Return a column of texts, stripped of white space; texts that mean missing have code −1."""
    positions: dict[str, int] = {}
    lookup = []
    for text in texts:
        plain = text.strip()
        missing = plain in MISSING_TOKENS
        lookup.append(-1 if missing else positions.setdefault(plain, len(positions)))
    values = np.array(list(positions), dtype=object)
    kind = smallest_codes(len(values))
    if lookup == list(range(len(values))):
        return RawColumn(codes.astype(kind, copy=False), values)
    lookup.append(-1)  # for code −1
    return RawColumn(look_up(np.array(lookup, dtype=kind), codes), values)


def smallest_codes(n_values: int) -> type[np.signedinteger[Any]]:
    """Return the smallest signed integer type for the codes of `n_values` values."""
    if n_values < 2**7:
        return np.int8
    if n_values < 2**15:
        return np.int16
    return np.int32 if n_values < 2**31 else np.int64


def look_up(lookup: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return ``lookup[codes]``, computed in slices to bound the memory of eight-byte indices.

    `codes` are indices, or −1 for the last entry of `lookup`.
    """
    if len(codes) <= _SLICE:
        return lookup.take(codes)
    found = np.empty(len(codes), dtype=lookup.dtype)
    for start in range(0, len(codes), _SLICE):
        found[start : start + _SLICE] = lookup.take(codes[start : start + _SLICE])
    return found


def used_values(codes: np.ndarray, n_values: int) -> np.ndarray:
    """Return the mask of the values that occur, bool, shape (n_values,)."""
    if n_values <= _FEW:
        return np.array([(codes == k).any() for k in range(n_values)], dtype=bool)
    return count_codes(codes, n_values)[1:] > 0


def count_codes(codes: np.ndarray, n_values: int) -> np.ndarray:
    """Return the counts of the codes −1, 0, 1, …, int64, shape (n_values + 1,)."""
    counts = np.zeros(n_values + 1, dtype=np.int64)
    for start in range(0, len(codes), _SLICE):
        counts += np.bincount(codes[start : start + _SLICE] + 1, minlength=n_values + 1)
    return counts


def complete_rows(raw: RawTable) -> np.ndarray:
    """Return the mask of the rows without missing values, bool, shape (rows,)."""
    complete = np.ones(raw.n_rows, dtype=bool)
    for codes, _ in raw.columns:
        complete &= codes >= 0
    return complete


def unicode_error(title: str, name: str) -> InputError:
    """Return the error for a column of text or bytes that cannot be decoded."""
    return InputError(
        f"{title}: column {quoted(name)} holds text that is not valid Unicode, or bytes that are "
        "not UTF-8; clean it."
    )


def from_frame(frame: pd.DataFrame, title: str = "The data frame") -> RawTable:
    """Return the columns of a data frame; its index is ignored.

    Raises
    ------
    InputError
        For bytes that are not UTF-8, and text with lone surrogates.
    """
    names = tuple(text_of(name).strip() for name in frame.columns)
    columns = []
    orders = {}
    for i, (name, kind) in enumerate(zip(names, frame.dtypes, strict=True)):
        try:
            columns.append(series_column(frame.iloc[:, i]))
        except UnicodeError:
            raise unicode_error(title, name) from None
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered:
            orders[name] = tuple(text_of(category) for category in kind.categories)
    found = RawTable(title, names, tuple(columns), len(frame), row_place, named=True)
    return found._replace(orders=orders)


def from_array(array: np.ndarray) -> RawTable:
    """Return the columns of a two-dimensional array.

    Raises
    ------
    InputError
        For another shape, or entries that are neither numbers, booleans nor text.
    """
    if array.ndim != 2:
        raise InputError(f"An array must be two-dimensional (rows, variables), not {array.ndim}-D.")
    names = default_names(array.shape[1])
    if array.dtype.kind in "iufb":
        columns = tuple(factorize(column) for column in np.ascontiguousarray(array.T))
        return RawTable("The array", names, columns, len(array), row_place, named=False)
    if array.dtype.kind in "OUT":
        # As objects, so that text is checked column by column.
        frame = pd.DataFrame(array.astype(object), columns=list(names), dtype=object)
        return from_frame(frame, "The array")._replace(named=False)
    raise InputError(f"An array must hold numbers, booleans or text, not {array.dtype}.")


def row_place(row: int) -> str:
    """Return the text for a row, counted from 1, of a source without lines."""
    return f"row {row + 1}"


def has_index(raw: RawTable) -> bool:
    """Return whether the first column only numbers or names the rows.

    Such a column has no name or one of those that pandas and R give it, and no value twice; numbers
    are whole.
    """
    if not raw.named or len(raw.names) < 2 or raw.names[0].lower() not in _INDEX_NAMES:
        return False
    codes, values = raw.columns[0]
    if (codes < 0).any() or len(np.unique(codes)) < raw.n_rows:
        return False
    try:
        numbers = as_numbers(values[used_values(codes, len(values))])
    except UnicodeEncodeError:
        return False  # refused later
    return numbers is None or bool((numbers == np.floor(numbers)).all())


def without_index(raw: RawTable) -> RawTable:
    """Return the table without its first column, with a note."""
    note = f"{raw.title}: left out the first column, which only numbers or names the rows."
    return raw._replace(names=raw.names[1:], columns=raw.columns[1:], notes=(*raw.notes, note))


def with_weights(raw: RawTable, weights: Any) -> RawTable:
    """Return the table with case weights: an array, or those of a column, which is taken out.

    Rows of weight zero are left out.

    Raises
    ------
    InputError
        For weights that are no numbers, missing or negative, or of another length.
    """
    if not isinstance(weights, str):
        return _rows_of_weight(raw._replace(weights=checked_weights(weights, raw.n_rows)))
    if weights not in raw.names:
        names = ", ".join(quoted(name) for name in raw.names[:5]) + ", …" * (len(raw.names) > 5)
        hint = nearest(weights, raw.names, f"the columns are {names}.")
        raise InputError(
            f"{raw.title}: there is no column {quoted(weights)} for the case weights; {hint}"
        )
    at = raw.names.index(weights)
    column = raw.columns[at]
    used = used_values(column.codes, len(column.values))
    numbers = as_numbers(column.values[used])
    lacking = column.codes < 0
    if numbers is None or lacking.any():
        is_text = numbers is None and bool(used.any())
        place = "it" if is_text else raw.place(int(np.argmax(lacking)))
        found = "holds text" if is_text else "holds no weight"
        raise InputError(
            f"{raw.title}: the case weights must be numbers, but {place} {found} in column "
            f"{quoted(weights)}."
        )
    weighted = raw._replace(
        names=raw.names[:at] + raw.names[at + 1 :],
        columns=tuple(column for k, column in enumerate(raw.columns) if k != at),
        weights=checked_weights(numbers[np.cumsum(used)[column.codes] - 1], raw.n_rows),
    )
    return _rows_of_weight(weighted)


def _rows_of_weight(raw: RawTable) -> RawTable:
    """Return the rows whose weight is not zero."""
    assert raw.weights is not None
    rows = np.flatnonzero(raw.weights)
    if len(rows) == raw.n_rows:
        return raw
    return raw._replace(
        columns=tuple(RawColumn(codes[rows], values) for codes, values in raw.columns),
        n_rows=len(rows),
        place=lambda row: raw.place(int(rows[row])),
        weights=raw.weights[rows],
    )


def check_shape(table: RawTable, least_rows: int) -> None:
    """Raise :class:`InputError` for unusable names and for too few columns or rows."""
    check_names(table.title, table.names)
    if len(table.names) < 2:
        found = (
            f"is only one column ({quoted(table.names[0])})" if table.names else "are no columns"
        )
        raise InputError(f"{table.title}: there {found}; a network needs at least two.")
    if table.n_rows < least_rows:
        found = "are no rows" if table.n_rows == 0 else f"is only {table.n_rows} row"
        raise InputError(f"{table.title}: there {found} of data; at least {least_rows} are needed.")


def check_names(title: str, names: Sequence[str], advice: str = "") -> None:
    """Raise :class:`InputError` for names that are empty, repeated or not valid text.

    Parameters
    ----------
    title : str
        Source name for messages.
    names : sequence of str
        Names of the columns.
    advice : str
        End of the messages.

    Raises
    ------
    InputError
        For names that are empty, not unique, or hold NUL characters or lone surrogates.
    """
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if _NO_NAME.search(name):
            raise InputError(
                f"{title}: the name of column {i + 1}, {quoted(name)}, holds a NUL character or "
                f"text that is not valid Unicode; rename it{advice}."
            )
        if not name:
            raise InputError(
                f"{title}: column {i + 1} has an empty name; give every column one{advice}."
            )
        if name in first:
            raise InputError(
                f"{title}: columns {first[name] + 1} and {i + 1} have the same name "
                f"{quoted(name)}; rename one of them{advice}."
            )
        first[name] = i


def series_column(series: Any) -> RawColumn:
    """Return a series of a data frame as a raw column."""
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if series.dtype == object:
        # Text first: as keys of a hash table, True and 1 would be the same.
        series = series.map(text_of, na_action="ignore")
    return factorize(series)


def factorize(column: Any) -> RawColumn:
    """Return the codes and distinct values of a series or an array of one dimension."""
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    values = np.asarray(uniques)
    if values.dtype.kind in "iuf":
        return RawColumn(codes.astype(smallest_codes(len(values))), values)
    return text_column(codes, (text_of(value) for value in uniques))


def has_gaps(series: pd.Series[Any]) -> bool:
    """Return whether a column of a frame has missing values."""
    return bool((series_column(series).codes < 0).any())
