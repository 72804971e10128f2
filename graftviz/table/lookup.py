"""Cache of the codes of a column's values, for tables that are read in batches.

Computing the label of a value takes a hundred times as long as looking up its code, and most
values of a batch have occurred in earlier batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

_MOST_SPAN = 2**16  # maximum difference between the smallest and the largest number in the cache
_UNKNOWN = -1


class Lookup:
    """Cache of the codes of the whole numbers, or of the texts, of one column."""

    def __init__(self) -> None:
        self._low = 0
        self._numbers = np.zeros(0, dtype=np.int32)
        self._texts: dict[Any, int] = {}

    def codes(self, column: pa.Array) -> np.ndarray | None:
        """Return the codes of a column; None if a value is missing or not in the cache."""
        if column.null_count or len(column) == 0:
            return None
        if pa.types.is_integer(column.type):
            numbers = column.to_numpy(zero_copy_only=False)
            low, high = int(numbers.min()), int(numbers.max())
            if low < self._low or high >= self._low + len(self._numbers):
                return None
            found = self._numbers[numbers.astype(np.int64, copy=False) - self._low]
        elif pa.types.is_dictionary(column.type):
            entries = column.dictionary.to_pylist()
            by_entry = np.array([self._texts.get(entry, _UNKNOWN) for entry in entries], np.int32)
            found = by_entry[column.indices.to_numpy(zero_copy_only=False)]
        else:
            return None
        return None if found.min() < 0 else found

    def add(self, column: pa.Array, codes: np.ndarray) -> None:
        """Store the codes of a column's values."""
        if column.null_count or len(column) == 0:
            return
        if pa.types.is_integer(column.type):
            values, first = np.unique(column.to_numpy(zero_copy_only=False), return_index=True)
            self._add_numbers(values.tolist(), codes[first])
        elif pa.types.is_dictionary(column.type):
            entries = column.dictionary.to_pylist()
            used, first = np.unique(
                column.indices.to_numpy(zero_copy_only=False), return_index=True
            )
            for entry, code in zip(used.tolist(), codes[first].tolist(), strict=True):
                self._texts[entries[entry]] = code

    def _add_numbers(self, values: list[int], codes: np.ndarray) -> None:
        low, high = values[0], values[-1] + 1
        if len(self._numbers):
            low, high = min(low, self._low), max(high, self._low + len(self._numbers))
        if high - low > _MOST_SPAN:
            return
        numbers = np.full(high - low, _UNKNOWN, dtype=np.int32)
        at = self._low - low
        numbers[at : at + len(self._numbers)] = self._numbers
        numbers[np.array(values) - low] = codes
        self._low, self._numbers = low, numbers
