"""First pass over a table that is read in pieces: values of every column, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftviz.errors import InputError
from graftviz.table.arrow import arrow_array
from graftviz.table.batches import select_columns
from graftviz.table.coding import (
    TableOptions,
    code_like,
    code_table,
    dropped_note,
    infinite_error,
    is_continuous,
    missing_error,
    n_values,
)
from graftviz.table.discrete import DiscreteTable
from graftviz.table.labels import as_numbers, is_infinite, text_of
from graftviz.table.lookup import Lookup
from graftviz.table.raw import (
    RawColumn,
    RawTable,
    check_names,
    check_shape,
    complete_rows,
    count_codes,
    row_place,
)
from graftviz.wording import quoted


class TableSurvey:
    """Collector of the distinct values of every column; raises for tables that cannot be coded."""

    def __init__(self, title: str, options: TableOptions, like: DiscreteTable | None) -> None:
        self.title = title
        self.remaining_rows = 0
        self._options = options
        self._like = like
        self._rows = 0
        self._gaps = 0
        self._first_gap: tuple[str, str] | None = None
        self._first: RawTable | None = None
        self._columns: list[_Values] = []

    def add(self, raw: RawTable) -> None:
        """Add the next batch of rows."""
        if self._first is None:
            check_names(self.title, raw.names)
            self._first = raw._replace(columns=())
            self._columns = [_Values(name) for name in raw.names]
        self._rows += raw.n_rows
        new = [i for i, column in enumerate(self._columns) if not column.repeats(raw, i)]
        if not new:
            self.remaining_rows += raw.n_rows
            return
        arrays = [arrow_array(raw, i) for i in new]
        if self._like is None:
            raw = select_columns(raw, new)
        else:
            raw = select_columns(raw, range(len(raw.names)))
        whole = complete_rows(raw)
        gaps = 0 if whole.all() else self._note_gaps(raw)
        drop = self._options.missing == "drop" and gaps > 0
        self.remaining_rows += int(whole.sum()) if drop else raw.n_rows
        if self._options.missing == "reject" and self._gaps:
            return  # the table is rejected: from here on, missing values are only counted
        if self._like is not None:
            if whole.any() or not drop:
                code_like(raw, self._like, self._options)
            for i, array in zip(new, arrays, strict=True):
                if array is not None and not gaps:
                    self._columns[i].lookup.add(array, np.zeros(len(array), dtype=np.int32))
            return
        rows = np.flatnonzero(whole) if drop else None
        most = 4 * self._options.max_states  # several texts may denote the same number
        for i, array, (codes, values) in zip(new, arrays, raw.columns, strict=True):
            column = self._columns[i]
            column.add(codes if rows is None else codes[rows], values, raw, rows)
            if len(column.seen) > most:
                raise self._width_error(column, f"more than {most:,}")
            if rows is None and array is not None:
                column.lookup.add(array, codes)

    def coding(self) -> DiscreteTable:
        """Return a table of one row with the labels and the warnings of the whole table."""
        assert self._first is not None  # a source yields at least one batch
        if self._gaps and self._options.missing == "reject":
            assert self._first_gap is not None
            name, place = self._first_gap
            raise missing_error(self.title, self._gaps, place, name)
        least = 2 if self._like is None else 1
        check_shape(self._first._replace(n_rows=self._rows), least)
        notes = list(self._first.notes)
        if self._gaps and self._options.missing == "drop":
            notes.append(dropped_note(self.title, self.remaining_rows, self._rows, least))
        if self._like is not None:
            return DiscreteTable.coding(self._like.names, self._like.labels, notes)
        columns = [column.column() for column in self._columns]
        self._check(columns)
        rows = max(len(column.codes) for column in columns)
        padded = tuple(
            RawColumn(np.append(codes, np.repeat(codes[-1:], rows - len(codes))), values)
            for codes, values in columns
        )
        small = RawTable(
            self.title, self._first.names, padded, rows, row_place, named=True, notes=tuple(notes)
        )
        small = small._replace(orders=self._first.orders)
        coded = code_table(small, self._options, self.remaining_rows)
        return DiscreteTable.coding(coded.names, coded.labels, coded.warnings)

    def _note_gaps(self, raw: RawTable) -> int:
        found = [np.flatnonzero(column.codes < 0) for column in raw.columns]
        if self._first_gap is None:
            row, i = min((int(rows[0]), i) for i, rows in enumerate(found) if len(rows))
            self._first_gap = (raw.names[i], raw.place(row))
        gaps = sum(len(rows) for rows in found)
        self._gaps += gaps
        return gaps

    def _check(self, columns: Sequence[RawColumn]) -> None:
        """Raise :class:`InputError` for infinite numbers and for columns that need bins."""
        numbers = [as_numbers(values) for _, values in columns]
        for column, parsed in zip(self._columns, numbers, strict=True):
            if parsed is not None and np.isinf(parsed).any():
                raise infinite_error(column.infinite_at, column.name)
        for column, parsed, (_, values) in zip(self._columns, numbers, columns, strict=True):
            if parsed is not None and is_continuous(
                values, parsed, self.remaining_rows, self._options
            ):
                raise self._width_error(column, f"{n_values(values, parsed, 0):,}")

    def _width_error(self, column: _Values, count: str) -> InputError:
        return InputError(
            f"{self.title}: column {quoted(column.name)} has {count} different values, more than "
            f"max_states = {self._options.max_states}, and a table read in chunks cannot be "
            "divided into quantiles; bin the column beforehand, leave it out, or raise max_states."
        )


class _Values:
    """Distinct values of one column, collected over batches."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: dict[Any, None] = {}
        self.infinite_at = ""
        self.lookup = Lookup()
        self._kinds: set[np.dtype[Any]] = set()
        self._missing = False

    def repeats(self, raw: RawTable, i: int) -> bool:
        """Return whether column i has only values that are already collected, none missing."""
        array = arrow_array(raw, i)
        return array is not None and self.lookup.codes(array) is not None

    def add(
        self, codes: np.ndarray, values: np.ndarray, raw: RawTable, rows: np.ndarray | None
    ) -> None:
        """Add the values that occur; `rows` are the rows of `raw` that `codes` belongs to."""
        counts = count_codes(codes, len(values))
        self._missing = self._missing or bool(counts[0])
        if not counts[1:].any():
            return
        self._kinds.add(values.dtype)
        for k, value in enumerate(values.tolist()):
            if counts[k + 1] and value not in self.seen:
                self.seen[value] = None
                if is_infinite(value) and not self.infinite_at:
                    row = int(np.argmax(codes == k))
                    row = row if rows is None else int(rows[row])
                    self.infinite_at = f"{raw.title}: {raw.place(row)}"

    def column(self) -> RawColumn:
        """Return a column with every value once, and a missing value if any is missing."""
        kind = np.result_type(*self._kinds) if self._kinds else np.dtype(object)
        seen: Any = [text_of(v) for v in self.seen] if kind.kind == "O" else list(self.seen)
        values = np.array(seen, dtype=kind)
        codes = np.arange(len(values), dtype=np.int32)
        return RawColumn(np.append(codes, np.int32(-1)) if self._missing else codes, values)
