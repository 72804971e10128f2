"""Conversion of Arrow arrays to codes and distinct values, in batches, within a memory limit.

Only distinct values become Python objects, never cells: a column of a million dates of which two
are distinct creates two objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graftviz.errors import InputError
from graftviz.table.labels import EXACT, MISSING_TOKENS
from graftviz.table.raw import (
    RawColumn,
    RawTable,
    factorize,
    look_up,
    series_column,
    smallest_codes,
    text_column,
    unicode_error,
)
from graftviz.wording import quoted

# Bytes per distinct value: as a Python object, and while numbers are sorted.
OBJECT_BYTES = 640
NUMBER_BYTES = 48
NO_LIMIT = 2**62
_BYTE_VALUES, _ROWS_PER_VALUE = 2**7 - 1, 8
# Years 1000 to 9999: the range in which years have four digits.
_FIRST_SECOND, _LAST_SECOND = -30_610_224_000, 253_402_300_799
_MANY = 2**16  # above this count, texts are parsed as numbers without creating an object each
_LONGEST_NUMBER = 20  # characters; whole numbers of more digits are keys
# The characters that str.strip removes.
_SPACE = "".join(chr(k) for k in range(0x3001) if chr(k).isspace())
_TOKENS = pa.array(sorted(MISSING_TOKENS))


class Encoded(NamedTuple):
    """Column encoded as codes and distinct values, of which some may occur in no row.

    Attributes
    ----------
    codes : signed integer array, shape (rows,)
        Index into `values`; −1 where a value is missing. The smallest type that holds them.
    values : pyarrow.Array
        The distinct values; texts that differ only in white space are distinct.
    """

    codes: np.ndarray
    values: pa.Array


def encode(array: pa.Array) -> Encoded:
    """Return the codes and distinct values of an array that is not nested."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return encode(array.storage)
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_null(kind):
        return Encoded(np.full(len(array), -1, dtype=np.int8), array[:0])
    if not isinstance(array, pa.DictionaryArray):
        if pa.types.is_integer(kind) and not array.null_count:
            numbers = array.to_numpy()
            if (found := _small_range(numbers)) is not None:
                return found
        array = array.dictionary_encode()
    indices, values = array.indices, array.dictionary
    if indices.null_count:
        indices = indices.fill_null(-1)
    codes = indices.to_numpy(zero_copy_only=False)
    if len(values) > len(codes):  # a batch carries the whole dictionary of its row group
        used = np.zeros(len(values) + 1, dtype=np.bool_)
        used[codes] = True
        codes = np.append(np.cumsum(used[:-1]) - 1, -1)[codes]
        values = values.filter(pa.array(used[:-1]))
    return Encoded(codes.astype(smallest_codes(len(values))), values)


def _small_range(numbers: np.ndarray) -> Encoded | None:
    """Return integers as differences from the smallest; None if the codes need over a byte.

    All integers from the smallest to the largest become values, at most one for eight rows.
    """
    if len(numbers) < _ROWS_PER_VALUE:
        return None
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= min(_BYTE_VALUES, len(numbers) // _ROWS_PER_VALUE):
        return None
    smallest = numbers.dtype.type(low)
    values = np.arange(high - low + 1).astype(numbers.dtype) + smallest
    return Encoded((numbers - smallest).astype(np.int8), pa.array(values))


def raw_column(column: Encoded, kind: pa.DataType) -> RawColumn:
    """Return a raw column whose values are those that pandas converts an array of `kind` to.

    Raises
    ------
    UnicodeError
        For bytes that are not UTF-8.
    OverflowError, ValueError, NotImplementedError, pyarrow.ArrowException
        For dates and times that Python cannot represent.
    """
    codes, values = column
    if isinstance(kind, pa.BaseExtensionType):
        values = pa.ExtensionArray.from_storage(kind, values)
    elif pa.types.is_integer(kind):
        numbers = values.to_numpy(zero_copy_only=False)
        if not (codes < 0).any():
            return RawColumn(codes, numbers)
        # pandas converts integers to floats when values are missing.
        return _compose(factorize(numbers.astype(np.float64)), codes)
    elif pa.types.is_floating(kind):
        return _compose(factorize(values.to_numpy(zero_copy_only=False)), codes)
    elif pa.types.is_string(values.type):
        return text_column(codes, values.to_pylist())
    elif (texts := _timestamp_texts(values)) is not None:
        return text_column(codes, texts)
    return _compose(series_column(values.to_pandas()), codes)


def _timestamp_texts(values: pa.Array) -> list[str] | None:
    """Return the texts that pandas writes for whole seconds in UTC; None for any other times."""
    kind = values.type
    if not pa.types.is_timestamp(kind) or kind.tz not in (None, "UTC") or len(values) == 0:
        return None
    bounds = pc.min_max(values.cast(pa.int64()))
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    low, high = (bounds[end].as_py() // per_second for end in ("min", "max"))
    if low < _FIRST_SECOND or high > _LAST_SECOND:
        return None
    try:
        seconds = values.cast(pa.timestamp("s", kind.tz)).cast(pa.timestamp("s"))
    except pa.ArrowInvalid:  # fractions of seconds
        return None
    zone = "" if kind.tz is None else "+00:00"
    return [text + zone for text in seconds.cast(pa.string()).to_pylist()]


def text_numbers(column: Encoded) -> RawColumn | None:
    """Return a column of many texts as numbers; None unless all of them are numbers.

    The labels of the column are the same either way. For rare notations, such as a plus sign,
    None is returned too: they are parsed text by text.
    """
    codes, values = column
    if len(values) <= _MANY or not pa.types.is_string(values.type):
        return None
    texts = pc.utf8_trim(values, _SPACE)
    lengths = pc.binary_length(texts)
    missing = pc.is_in(texts, _TOKENS)
    texts = pc.if_else(missing, None, texts)
    keys = pc.match_substring_regex(texts, "^-?0[0-9]|[nN]")
    if pc.max(lengths).as_py() > _LONGEST_NUMBER or pc.any(keys).as_py():
        return None
    try:
        numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    if np.nanmax(np.abs(numbers), initial=0.0) >= EXACT:
        return None
    return _compose(factorize(numbers), codes)


def _compose(distinct: RawColumn, codes: np.ndarray) -> RawColumn:
    """Return the column whose `codes` index into the rows of `distinct`."""
    if np.array_equal(distinct.codes, np.arange(len(distinct.codes))):
        return RawColumn(codes, distinct.values)
    lookup = np.append(distinct.codes, -1).astype(smallest_codes(len(distinct.values)))
    return RawColumn(look_up(lookup, codes), distinct.values)


class ColumnBuilder:
    """Builder of columns, as codes and distinct values, from batches of rows.

    Parameters
    ----------
    title : str
        Source name for messages.
    names : tuple of str
    limit : int
        Maximum number of bytes of all columns.
    """

    def __init__(self, title: str, names: tuple[str, ...], limit: int) -> None:
        self._title = title
        self.names = names
        self._limit = limit
        self._bytes = 0
        self._columns: list[_Column] = []

    def add(self, arrays: Sequence[pa.Array], start: int = 0) -> None:
        """Add rows of the columns from `start` on, of which all those before it are complete.

        Raises
        ------
        InputError
            When the columns take more memory than the limit.
        """
        if len(self._columns) == start:
            self._columns += [_Column(array.type) for array in arrays]
        for column, array in zip(self._columns[start:], arrays, strict=True):
            self._bytes -= column.bytes
            column.add(array)
            self._bytes += column.bytes
            if self._bytes > self._limit:
                raise self._size_error()

    def columns(self) -> ArrowColumns:
        """Return the columns; each is converted when it is accessed."""
        arrays = [column.whole() for column in self._columns]
        kinds = [column.kind for column in self._columns]
        self._columns = []
        return ArrowColumns(self._title, self.names, arrays, kinds, self._limit)

    def _size_error(self) -> InputError:
        sizes = [column.bytes for column in self._columns]
        i = int(np.argmax(sizes))
        return _size_error(self._title, self._limit, self.names[i], self._columns[i].n_values)


def _size_error(title: str, limit: int, name: str, values: int) -> InputError:
    """Return the error for a table that takes more than `limit` bytes in memory."""
    return InputError(
        f"{title} would take more than {limit / 1e6:.0f} MB of memory (column {quoted(name)} has "
        f"{values:,} different values or more); use fewer rows or columns."
    )


class _Column:
    """Column of a :class:`ColumnBuilder`."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.bytes = 0
        self._each = 8 if _is_text(kind) else NUMBER_BYTES if _is_number(kind) else OBJECT_BYTES
        self._codes: list[np.ndarray] = []
        self._values: pa.Array | None = None
        self._unmerged: list[Encoded] = []
        self._n_unmerged = 0

    @property
    def n_values(self) -> int:
        return 0 if self._values is None else len(self._values)

    def add(self, array: pa.Array) -> None:
        part = encode(array)
        self.bytes += part.codes.nbytes + part.values.nbytes + self._each * len(part.values)
        if self._values is None or (not self._unmerged and self._values.equals(part.values)):
            self._codes.append(part.codes)
            self._values = part.values
            return
        few = max(len(self._values), len(part.values)) <= _BYTE_VALUES
        if few and not self._unmerged and _is_text(self.kind):
            places = pc.index_in(part.values, value_set=self._values)
            if not places.null_count:  # only known texts
                lookup = np.array([*places.to_pylist(), -1], dtype=np.int8)
                self._codes.append(look_up(lookup, part.codes))
                return
        self._unmerged.append(part)
        self._n_unmerged += len(part.values)
        # Doubling: the number of merges is logarithmic in the number of values.
        if self._n_unmerged >= len(self._values):
            self._merge()

    def whole(self) -> Encoded:
        if self._values is None:
            return Encoded(np.zeros(0, dtype=np.int8), pa.nulls(0, self.kind))
        if self._unmerged:
            self._merge()
        kind = smallest_codes(len(self._values))
        if len(self._codes) == 1:
            return Encoded(self._codes[0].astype(kind, copy=False), self._values)
        return Encoded(np.concatenate(self._codes, dtype=kind), self._values)

    def _merge(self) -> None:
        assert self._values is not None
        first = len(self._values)
        merged = pa.concat_arrays([self._values, *(part.values for part in self._unmerged)])
        if _is_number(self.kind):  # the hash table of pandas is smaller than that of Arrow
            places, numbers = pd.factorize(merged.to_numpy(zero_copy_only=False))
            self._values = pa.array(numbers, type=merged.type)
        else:
            merged = merged.dictionary_encode()
            places, self._values = merged.indices.to_numpy(), merged.dictionary
        kind = smallest_codes(len(self._values))
        if not np.array_equal(places[:first], np.arange(first)):  # repeated values, or NaN
            lookup = np.append(places[:first], -1).astype(kind)
            self._codes = [look_up(lookup, codes) for codes in self._codes]
        at = first
        for codes, values in self._unmerged:
            lookup = np.append(places[at : at + len(values)], -1).astype(kind)
            self._codes.append(look_up(lookup, codes))
            at += len(values)
        self._unmerged, self._n_unmerged = [], 0
        values_bytes = self._values.nbytes + self._each * len(self._values)
        self.bytes = sum(codes.nbytes for codes in self._codes) + values_bytes


class ArrowColumns(Sequence[RawColumn]):
    """Sequence of columns that are converted from Arrow arrays on access.

    Attributes
    ----------
    arrays : list of pyarrow.Array or Encoded
    """

    def __init__(
        self,
        title: str,
        names: tuple[str, ...],
        arrays: Sequence[pa.Array | Encoded],
        kinds: Sequence[pa.DataType],
        limit: int,
    ) -> None:
        self.arrays = arrays
        self._title = title
        self._names = names
        self._kinds = kinds
        self._limit = limit
        self._many: dict[int, int] = {}  # by column: objects created, where they are many

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        first = self.arrays[0] if self.arrays else ()
        return len(first.codes if isinstance(first, Encoded) else first)

    def orders(self, kinds: Sequence[pa.DataType]) -> dict[str, tuple[str, ...]]:
        """Return the texts of the values of ordered columns, by name, in their order.

        `kinds` are the types in the source; those of arrays read from parquet lack the order.
        """
        return {
            name: tuple(str(value).strip() for value in array_values(array).to_pylist())
            for name, kind, array in zip(self._names, kinds, self.arrays, strict=True)
            if pa.types.is_dictionary(kind) and kind.ordered
        }

    def without_first_row(self) -> ArrowColumns:
        """Return the columns without their first row and without values that only it holds."""
        arrays = []
        for codes, values in self.arrays:
            if len(values) > _MANY and not (codes[1:] == codes[0]).any():
                arrays.append(Encoded(codes[1:] - 1, values[1:]))
            else:
                arrays.append(Encoded(codes[1:], values))
        return ArrowColumns(self._title, self._names, arrays, self._kinds, self._limit)

    def numeric(self, i: int) -> RawColumn:
        """Return column i; many texts that are all numbers are returned as numbers."""
        if _is_text(self._kinds[i]):
            array = self.arrays[i]
            found = text_numbers(array if isinstance(array, Encoded) else encode(array))
            if found is not None:
                return found
        column: RawColumn = self[i]
        return column

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            parts = (self._title, self._names[i], self.arrays[i], self._kinds[i], self._limit)
            return ArrowColumns(*parts)
        column = self.arrays[i]
        column = column if isinstance(column, Encoded) else encode(column)
        if len(column.values) > _MANY and not _is_number(self._kinds[i]):
            self._many[i] = len(column.values)
            if OBJECT_BYTES * sum(self._many.values()) > self._limit:
                raise _size_error(self._title, self._limit, self._names[i], len(column.values))
        try:
            return raw_column(column, self._kinds[i])
        except UnicodeError:
            raise unicode_error(self._title, self._names[i]) from None
        except (OverflowError, ValueError, NotImplementedError, pa.ArrowException) as problem:
            reason = str(problem).splitlines()[0] if str(problem) else "out of range"
            raise InputError(
                f"{self._title}: column {quoted(self._names[i])} holds a value of type "
                f"{self._kinds[i]} that cannot be read ({reason.rstrip('.')}); leave it out."
            ) from None


def array_values(array: pa.Array | Encoded) -> pa.Array:
    """Return the distinct values of a column of a dictionary type."""
    return array.values if isinstance(array, Encoded) else array.dictionary


def numeric_column(raw: RawTable, i: int) -> RawColumn:
    """Return column i; see :meth:`ArrowColumns.numeric`."""
    columns = raw.columns
    return columns.numeric(i) if isinstance(columns, ArrowColumns) else columns[i]


def arrow_array(raw: RawTable, i: int) -> pa.Array | None:
    """Return the Arrow array behind column i; None for columns from another source."""
    return raw.columns.arrays[i] if isinstance(raw.columns, ArrowColumns) else None


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind)
