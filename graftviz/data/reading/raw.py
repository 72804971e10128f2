"""Uncoded columns: the distinct values of a source, and the index of the value of each row.

Data frames and arrays are factorized by pandas. Arrow tables, also those parsed from files, are
converted by pyarrow: only distinct values become Python objects, never cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graftviz.data.labels import EXACT, MISSING_TOKENS, PLAIN_NUMBERS, as_numbers, text_of
from graftviz.data.table import checked_weights, default_names
from graftviz.utils.errors import InputError
from graftviz.utils.wording import nearest, quoted

NO_LIMIT = 2**62
# Bytes per distinct value: as a Python object, and as a number while numbers are sorted.
_OBJECT_BYTES, _NUMBER_BYTES = 640, 64
# Above this count, the memory of values is limited, and texts of numbers are parsed at once.
_MANY = 2**10
_SLICE = 2**20  # rows converted at a time, to bound the memory of eight-byte indices
# The characters that str.strip removes.
_SPACE = "".join(chr(k) for k in range(0x3001) if chr(k).isspace())
_TOKENS = pa.array(sorted(MISSING_TOKENS))
_NO_NAME = re.compile("[\0\ud800-\udfff]")
# Names that pandas, R and spreadsheets give to a column of row names, in lower case.
_INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "rownames"})


class RawColumn(NamedTuple):
    """Uncoded column.

    Attributes
    ----------
    codes : signed integer array, shape (rows,)
        Index into `values`; −1 where the value is missing.
    values : array
        The distinct values that occur, in any order: integers, floats, or an object array of
        stripped text.
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
    orders : mapping of str to tuple of str
        Texts of the values of ordered columns, in their order.
    n_rows : int
    place : callable
        Returns the text for a row index in messages: ``"line 17"`` of a file, ``"row 16"`` of a
        frame.
    named : bool
        Whether the names come from the source; otherwise they are :func:`default_names`.
    notes : tuple of str
        Warnings to show.
    weights : float64 array, shape (rows,), or None
        Case weights.
    """

    title: str
    names: tuple[str, ...]
    columns: Sequence[RawColumn]
    orders: Mapping[str, tuple[str, ...]]
    n_rows: int
    place: Callable[[int], str]
    named: bool = True
    notes: tuple[str, ...] = ()
    weights: np.ndarray | None = None


def _row_place(row: int) -> str:
    """Return the text for a row, counted from 1, of a source without lines."""
    return f"row {row + 1}"


# ------------------------------------------------------------------------------------------ codes


def _code_type(n_values: int) -> np.dtype[Any]:
    """Return the smallest signed integer type for the codes of `n_values` values."""
    return np.min_scalar_type(-n_values - 1)


def _slices(array: np.ndarray) -> Iterator[np.ndarray]:
    return (array[start : start + _SLICE] for start in range(0, len(array), _SLICE))


def look_up(lookup: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return ``lookup[codes]``; the codes are indices, or −1 for the last entry of `lookup`."""
    if len(codes) <= _SLICE:
        return lookup.take(codes)
    return np.concatenate([lookup.take(part) for part in _slices(codes)])


def _replaced(codes: np.ndarray, positions: np.ndarray, n_values: int) -> np.ndarray:
    """Return the codes after the values have moved to `positions`, in the smallest type."""
    return look_up(np.append(positions, -1).astype(_code_type(n_values)), codes)


def occurring(codes: np.ndarray, values: Any) -> tuple[np.ndarray, Any]:
    """Return codes and values without the values that occur in no row."""
    used = np.zeros(len(values) + 1, dtype=bool)
    for part in _slices(codes):
        used[part] = True  # a missing value marks the last entry
    if used[:-1].all():
        return codes, values
    chosen = np.flatnonzero(used[:-1])
    return _replaced(codes, np.cumsum(used[:-1]) - 1, len(chosen)), values.take(chosen)


def select_rows(raw: RawTable, rows: np.ndarray) -> RawTable:
    """Return the rows of the given indices; places in messages stay those of the source."""
    return raw._replace(
        columns=tuple(RawColumn(*occurring(codes[rows], values)) for codes, values in raw.columns),
        n_rows=len(rows),
        place=lambda row: raw.place(int(rows[row])),
        weights=None if raw.weights is None else raw.weights[rows],
    )


def _text_column(codes: np.ndarray, texts: Iterable[str]) -> RawColumn:
    """Return a column of texts, stripped of white space; texts that mean missing have code −1."""
    found: dict[str, int] = {}
    positions = []
    for text in texts:
        plain = text.strip()
        missing = plain in MISSING_TOKENS
        positions.append(-1 if missing else found.setdefault(plain, len(found)))
    values = np.array(list(found), dtype=object)
    return RawColumn(_replaced(codes, np.array(positions, np.int64), len(values)), values)


def _factorized(column: Any) -> tuple[np.ndarray, Any]:
    """Return the codes and distinct values of an array or a series."""
    codes, distinct = pd.factorize(column, use_na_sentinel=True)
    return codes.astype(_code_type(len(distinct))), distinct


class _TooManyValuesError(Exception):
    """Error for a column with more distinct values than fit into memory."""


def _number_column(parts: Iterable[np.ndarray], most: int = NO_LIMIT) -> RawColumn:
    """Return a column of numbers, in which NaN is missing, with at most `most` distinct values."""
    encoded = [_factorized(piece) for part in parts for piece in _slices(part)]
    if not encoded:
        return RawColumn(np.zeros(0, dtype=np.int8), np.zeros(0))
    values = np.concatenate([own for _, own in encoded])
    values.sort()
    is_first = np.append(True, values[1:] != values[:-1])[: len(values)]
    if (found := np.count_nonzero(is_first)) > most:
        raise _TooManyValuesError(found)
    values = values[is_first]
    codes = [_replaced(part, np.searchsorted(values, own), len(values)) for part, own in encoded]
    return RawColumn(np.concatenate(codes), values)


# ------------------------------------------------------------------------------- frames and arrays


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
            columns.append(_series_column(frame.iloc[:, i]))
        except UnicodeError:
            raise _unicode_error(title, name) from None
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered:
            orders[name] = tuple(text_of(category) for category in kind.categories)
    return RawTable(title, names, tuple(columns), orders, len(frame), _row_place)


def from_array(array: np.ndarray) -> RawTable:
    """Return the columns of a two-dimensional array.

    Raises
    ------
    InputError
        For another shape, or entries that are neither numbers, booleans nor text.
    """
    if array.ndim != 2:
        raise InputError(f"An array must be two-dimensional (rows, variables), not {array.ndim}-D.")
    if array.dtype.kind not in "iufbOUT":
        raise InputError(f"An array must hold numbers, booleans or text, not {array.dtype}.")
    names = default_names(array.shape[1])
    if array.dtype.kind in "iuf":
        columns = tuple(RawColumn(*_factorized(column)) for column in np.ascontiguousarray(array.T))
        return RawTable("The array", names, columns, {}, len(array), _row_place, named=False)
    # Text as objects, so that it is checked column by column.
    kind = array.dtype if array.dtype.kind == "b" else object
    frame = pd.DataFrame(array.astype(kind), columns=list(names), dtype=kind)
    return from_frame(frame, "The array")._replace(named=False)


def has_gaps(series: pd.Series[Any]) -> bool:
    """Return whether a column of a frame has missing values."""
    return bool((_series_column(series).codes < 0).any())


def _series_column(series: Any) -> RawColumn:
    """Return a series of a data frame as a raw column."""
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if series.dtype == object:
        # Text first: as keys of a hash table, True and 1 would be the same.
        series = series.map(text_of, na_action="ignore")
    codes, distinct = _factorized(series)
    values = np.asarray(distinct)
    if values.dtype.kind in "iuf":
        return RawColumn(codes, values)
    return _text_column(codes, map(text_of, distinct))


def _unicode_error(title: str, name: str) -> InputError:
    """Return the error for a column of text or bytes that cannot be decoded."""
    return InputError(
        f"{title}: column {quoted(name)} holds text that is not valid Unicode, or bytes that are "
        "not UTF-8; clean it."
    )


# ------------------------------------------------------------------------------------ Arrow tables


@runtime_checkable
class ArrowTable(Protocol):
    """Object that offers its rows by the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule with the stream."""


def from_arrow(source: Any) -> RawTable:
    """Return the columns of a table in memory.

    Parameters
    ----------
    source : pyarrow.Table, polars.DataFrame or any object with ``__arrow_c_stream__``

    Raises
    ------
    InputError
        As :func:`from_columns`, and for objects that are no table, and nested columns.
    """
    try:
        table = pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise InputError(
            f"The {type(source).__name__} cannot be read as a table ({problem}); pass a DataFrame."
        ) from None
    table = table.select(data_columns(table.schema, "The table"))
    return from_columns("The table", table.schema.names, table.columns, table.num_rows)


def from_columns(
    title: str,
    names: Sequence[str],
    columns: Iterable[pa.ChunkedArray],
    n_rows: int,
    limit: int = NO_LIMIT,
) -> RawTable:
    """Return columns of Arrow as a table.

    Parameters
    ----------
    title : str
        Source name for messages.
    names : sequence of str
    columns : iterable of pyarrow.ChunkedArray
        Each is converted before the next one is taken.
    n_rows : int
    limit : int
        Maximum number of bytes that the distinct values may take.

    Raises
    ------
    InputError
        For values that Python cannot represent, and more distinct values than the limit permits.
    """
    names = tuple(name.strip() for name in names)
    found, orders, room = [], {}, limit
    source = iter(columns)
    for name in names:
        # The column is bound to no name here: its memory is free before the next one is read.
        codes, values, order = _checked_column(next(source), title, name, limit, room)
        found.append(RawColumn(codes, values))
        if len(values) > _MANY:
            room -= _OBJECT_BYTES * len(values) if values.dtype == object else values.nbytes
        if order:
            orders[name] = order
    return RawTable(title, names, tuple(found), orders, n_rows, _row_place)


def _checked_column(
    column: pa.ChunkedArray, title: str, name: str, limit: int, room: int
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return codes, values, and the order of the values of an ordered column."""
    order: tuple[str, ...] = ()
    try:
        codes, values = _arrow_column(column, room)
        if pa.types.is_dictionary(column.type) and column.type.ordered:
            order = tuple(text_of(value).strip() for value in _dictionary(column)[1].to_pylist())
    except _TooManyValuesError as problem:
        raise InputError(
            f"{title} would take more than {limit / 1e6:.0f} MB of memory (column {quoted(name)} "
            f"has {problem.args[0]:,} different values); use fewer rows or columns."
        ) from None
    except UnicodeError:
        raise _unicode_error(title, name) from None
    except (OverflowError, ValueError, NotImplementedError, pa.ArrowException) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else "out of range"
        raise InputError(
            f"{title}: column {quoted(name)} holds a value of type {column.type} that cannot be "
            f"read ({reason.rstrip('.')}); leave it out."
        ) from None
    return codes, values, order


def data_columns(schema: pa.Schema, title: str) -> list[int]:
    """Return the positions of all columns but those that pandas noted as its index.

    Raises
    ------
    InputError
        For nested columns: lists are not read as text, since their text has no maximum length.
    """
    for field in schema:
        if pa.types.is_nested(getattr(field.type, "storage_type", field.type)):
            raise InputError(f"{title}: column {quoted(field.name)} is nested; leave it out.")
    noted = schema.pandas_metadata
    listed = noted.get("index_columns") if isinstance(noted, dict) else None
    index = listed if isinstance(listed, list) else []
    return [i for i, name in enumerate(schema.names) if name not in index]


def _arrow_column(column: pa.ChunkedArray, room: int) -> RawColumn:
    """Return a column of an Arrow table whose distinct values take at most `room` bytes."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _arrow_column(column.cast(kind.storage_type), room)
    if pa.types.is_null(kind):
        return RawColumn(np.full(len(column), -1, dtype=np.int8), np.zeros(0, dtype=object))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _arrow_numbers(column, room // _NUMBER_BYTES)
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        codes, numbers = _arrow_numbers(column.cast(whole), room // _OBJECT_BYTES)
        return _composed(codes, pa.array(numbers, whole).cast(kind))
    codes, values = _dictionary(column)
    if len(values) > _MANY:
        codes, values = occurring(codes, values)
    is_text = pa.types.is_string(values.type) and not values.null_count
    if is_text and (parsed := _parsed_numbers(values)) is not None:
        positions, numbers = _number_column([parsed], room // _NUMBER_BYTES)
        return RawColumn(_replaced(codes, positions, len(numbers)), numbers)
    if len(values) > max(room // _OBJECT_BYTES, _MANY):
        raise _TooManyValuesError(len(values))
    found = _text_column(codes, values.to_pylist()) if is_text else _composed(codes, values)
    return RawColumn(*occurring(*found))


def _composed(codes: np.ndarray, distinct: pa.Array) -> RawColumn:
    """Return a column from the codes of distinct values, which pandas converts."""
    positions, values = _series_column(distinct.to_pandas())
    return RawColumn(_replaced(codes, positions, len(values)), values)


def _arrow_numbers(column: pa.ChunkedArray, most: int) -> RawColumn:
    """Return a column of numbers; integers stay exact where some are missing."""
    filled = column.fill_null(0) if column.null_count else column
    found = _number_column((chunk.to_numpy(False) for chunk in filled.chunks), most)
    if column.null_count:
        found.codes[column.is_null().to_numpy()] = -1
        return RawColumn(*occurring(*found))
    return found


def _dictionary(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Return the codes and the distinct values of a column; the code of a missing value is −1."""
    if pa.types.is_decimal32(column.type) or pa.types.is_decimal64(column.type):
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    is_encoded = pa.types.is_dictionary(column.type)
    column = column.unify_dictionaries() if is_encoded else column.dictionary_encode()
    if not column.num_chunks:
        return np.zeros(0, dtype=np.int8), pa.array([], column.type.value_type)
    values = column.chunk(0).dictionary
    parts = [chunk.indices for chunk in column.chunks]
    codes = np.concatenate(
        [(part.fill_null(-1) if part.null_count else part).to_numpy() for part in parts],
        dtype=_code_type(len(values)),
        casting="unsafe",
    )
    return codes, values


def _parsed_numbers(texts: pa.Array) -> np.ndarray | None:
    """Return many texts as numbers, NaN where missing; None unless all of them are numbers.

    The labels of the column are the same either way. For rare notations, such as a plus sign,
    None is returned too: they are parsed text by text.
    """
    if len(texts) <= _MANY:
        return None
    texts = pc.utf8_trim(texts, _SPACE)
    texts = pc.if_else(pc.is_in(texts, _TOKENS), None, texts)
    if not pc.all(pc.match_substring_regex(texts, PLAIN_NUMBERS)).as_py():
        return None
    try:
        numbers: np.ndarray = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return numbers if np.nanmax(np.abs(numbers), initial=0.0) < EXACT else None


# ------------------------------------------------------------------------- names, weights and shape


def has_index(raw: RawTable) -> bool:
    """Return whether the first column only numbers or names the rows.

    Such a column has no name or one of those that pandas and R give it, and no value twice; numbers
    are whole.
    """
    if not raw.named or len(raw.names) < 2 or raw.names[0].lower() not in _INDEX_NAMES:
        return False
    values = raw.columns[0].values
    if len(values) < raw.n_rows:
        return False
    try:
        numbers = as_numbers(values)
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
        raw = raw._replace(weights=checked_weights(weights, raw.n_rows))
        assert raw.weights is not None
        return raw if raw.weights.all() else select_rows(raw, np.flatnonzero(raw.weights))
    if weights not in raw.names:
        names = ", ".join(quoted(name) for name in raw.names[:5]) + ", …" * (len(raw.names) > 5)
        hint = nearest(weights, raw.names, f"the columns are {names}.")
        raise InputError(
            f"{raw.title}: there is no column {quoted(weights)} for the case weights; {hint}"
        )
    at = raw.names.index(weights)
    codes, values = raw.columns[at]
    numbers = as_numbers(values)
    lacking = codes < 0
    if numbers is None or lacking.any():
        is_text = numbers is None and len(values) > 0
        place = "it" if is_text else raw.place(int(np.argmax(lacking)))
        found = "holds text" if is_text else "holds no weight"
        raise InputError(
            f"{raw.title}: the case weights must be numbers, but {place} {found} in column "
            f"{quoted(weights)}."
        )
    others = raw._replace(
        names=raw.names[:at] + raw.names[at + 1 :],
        columns=[*raw.columns[:at], *raw.columns[at + 1 :]],
    )
    return with_weights(others, numbers[codes])


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
