"""The first look at a table that is read in pieces: what every column holds, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftviz.errors import InputError
from graftviz.table.arrow import arrow_array
from graftviz.table.batches import chosen_columns
from graftviz.table.coding import (
    Rules,
    code_like,
    code_table,
    dropped_note,
    infinite_refused,
    missing_refused,
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
    count_codes,
    row_place,
)
from graftviz.wording import quoted


class Survey:
    """The first pass: which values every column has, and what is wrong with them."""

    def __init__(self, title: str, rules: Rules, like: DiscreteTable | None) -> None:
        self.title = title
        self.kept = 0
        self._rules = rules
        self._like = like
        self._rows = 0
        self._gaps = 0
        self._first_gap: tuple[str, str] | None = None
        self._first: RawTable | None = None
        self._columns: list[_Values] = []

    def add(self, raw: RawTable) -> None:
        """Look at the next batch of rows."""
        if self._first is None:
            check_names(self.title, raw.names)
            self._first = raw._replace(columns=())
            self._columns = [_Values(name) for name in raw.names]
        self._rows += raw.n_rows
        new = [i for i, column in enumerate(self._columns) if not column.repeats(raw, i)]
        if not new:
            self.kept += raw.n_rows
            return
        arrays = [arrow_array(raw, i) for i in new]
        if self._like is None:
            raw = chosen_columns(raw, new)
        else:
            raw = chosen_columns(raw, range(len(raw.names)))
        whole = complete_rows(raw)
        gaps = 0 if whole.all() else self._note_gaps(raw)
        drop = self._rules.missing == "drop" and gaps > 0
        self.kept += int(whole.sum()) if drop else raw.n_rows
        if self._rules.missing == "reject" and self._gaps:
            return  # only counting what is missing from here on
        if self._like is not None:
            if whole.any() or not drop:
                code_like(raw, self._like, self._rules)
            for i, array in zip(new, arrays, strict=True):
                if array is not None and not gaps:
                    self._columns[i].known.learn(array, np.zeros(len(array), dtype=np.int32))
            return
        rows = np.flatnonzero(whole) if drop else None
        most = 4 * self._rules.max_states  # text may write one number in several ways
        for i, array, (codes, values) in zip(new, arrays, raw.columns, strict=True):
            column = self._columns[i]
            column.add(codes if rows is None else codes[rows], values, raw, rows)
            if len(column.seen) > most:
                raise self._too_wide(column, f"more than {most:,}")
            if rows is None and array is not None:
                column.known.learn(array, codes)

    def coding(self) -> DiscreteTable:
        """Return a small table coded as the whole is, with what should be said about it."""
        assert self._first is not None  # a source yields one batch at least
        if self._gaps and self._rules.missing == "reject":
            assert self._first_gap is not None
            name, place = self._first_gap
            raise missing_refused(self.title, self._gaps, place, name)
        least = 2 if self._like is None else 1
        check_shape(self._first._replace(n_rows=self._rows), least)
        notes = list(self._first.notes)
        if self._gaps and self._rules.missing == "drop":
            notes.append(dropped_note(self.title, self.kept, self._rows, least))
        if self._like is not None:
            return _one_row(self._like.names, self._like.labels, notes)
        columns = [column.column() for column in self._columns]
        self._refuse(columns)
        rows = max(len(column.codes) for column in columns)
        padded = tuple(
            RawColumn(np.append(codes, np.repeat(codes[-1:], rows - len(codes))), values)
            for codes, values in columns
        )
        small = RawTable(
            self.title, self._first.names, padded, rows, row_place, named=True, notes=tuple(notes)
        )
        coded = code_table(small, self._rules)
        return _one_row(coded.names, coded.labels, coded.warnings)

    def _note_gaps(self, raw: RawTable) -> int:
        found = [np.flatnonzero(column.codes < 0) for column in raw.columns]
        if self._first_gap is None:
            row, i = min((int(rows[0]), i) for i, rows in enumerate(found) if len(rows))
            self._first_gap = (raw.names[i], raw.place(row))
        gaps = sum(len(rows) for rows in found)
        self._gaps += gaps
        return gaps

    def _refuse(self, columns: Sequence[RawColumn]) -> None:
        """Refuse infinite numbers, and columns that would have to be binned."""
        most = self._rules.max_states
        numbers = [as_numbers(values) for _, values in columns]
        for column, known in zip(self._columns, numbers, strict=True):
            if known is not None and np.isinf(known).any():
                raise infinite_refused(column.infinite_at, column.name)
        for column, known, (_, values) in zip(self._columns, numbers, columns, strict=True):
            if known is not None and (found := n_values(values, known, most)) > most:
                raise self._too_wide(column, f"{found:,}")

    def _too_wide(self, column: _Values, count: str) -> InputError:
        return InputError(
            f"{self.title}: column {quoted(column.name)} has {count} different values, more than "
            f"max_states = {self._rules.max_states}, and a table read in chunks cannot be divided "
            "into quantiles; bin the column beforehand, leave it out, or raise max_states."
        )


class _Values:
    """The values of one column seen so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: dict[Any, None] = {}
        self.infinite_at = ""
        self.known = Lookup()
        self._kinds: set[np.dtype[Any]] = set()
        self._missing = False

    def repeats(self, raw: RawTable, i: int) -> bool:
        """Return whether column i is known to hold nothing new, and to lack nothing."""
        array = arrow_array(raw, i)
        return array is not None and self.known.codes(array) is not None

    def add(
        self, codes: np.ndarray, values: np.ndarray, raw: RawTable, rows: np.ndarray | None
    ) -> None:
        """Add the values that occur; `rows` are the rows of `raw` that `codes` stands for."""
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
        """Return a column that has every value once, and is missing where any was missing."""
        kind = np.result_type(*self._kinds) if self._kinds else np.dtype(object)
        known: Any = [text_of(v) for v in self.seen] if kind.kind == "O" else list(self.seen)
        values = np.array(known, dtype=kind)
        codes = np.arange(len(values), dtype=np.int32)
        return RawColumn(np.append(codes, np.int32(-1)) if self._missing else codes, values)


def complete_rows(raw: RawTable) -> np.ndarray:
    """Return which rows lack no value, bool, shape (rows,)."""
    complete = np.ones(raw.n_rows, dtype=bool)
    for codes, _ in raw.columns:
        complete &= codes >= 0
    return complete


def _one_row(
    names: tuple[str, ...], labels: tuple[tuple[str, ...], ...], notes: Sequence[str]
) -> DiscreteTable:
    """Return the smallest table with these names and labels."""
    return DiscreteTable(np.zeros((len(names), 1), dtype=np.uint8), names, labels, tuple(notes))
