"""Coding of raw columns: missing values, continuous columns, labels, labels of another table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.options import check_options, option
from graftviz.table.discrete import MAX_CARDINALITY, DiscreteTable
from graftviz.table.labels import (
    EXACT,
    MISSING_STATES,
    as_numbers,
    bin_edges,
    bin_labels,
    has_decimal_comma,
    plain_label,
    plain_labels,
    sort_labels,
)
from graftviz.table.quantiles import quantile_edges
from graftviz.table.raw import RawTable, complete_rows, look_up, used_values
from graftviz.wording import quoted

MAX_STATES = 32
BINS = 4
_LISTED = 5  # names written out in a message


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table; those of :func:`graftviz.table.read_table`, as texts."""

    missing: str = option(
        "reject",
        "missing values: refuse, drop their rows, or treat as a state",
        label="Missing values",
        choices=("reject", "drop", "state"),
        advanced=True,
    )
    continuous: str = option(
        "reject",
        "columns with many distinct numbers: refuse, or divide into quantiles",
        label="Continuous columns",
        choices=("reject", "bin"),
        advanced=True,
    )
    bins: int = option(
        BINS, "number of quantiles", label="Quantiles", minimum=2, maximum=256, advanced=True
    )
    max_states: int = option(
        MAX_STATES,
        "columns with more distinct values are continuous",
        label="Most states",
        minimum=2,
        maximum=MAX_CARDINALITY - 1,
        advanced=True,
    )
    header: str = option(
        "auto",
        "whether the first line of a text file contains the names",
        label="Names in the first line",
        choices=("auto", "yes", "no"),
        advanced=True,
    )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of :func:`graftviz.table.read_table`."""
        header = {"auto": "auto", "yes": True, "no": False}[self.header]
        return {**vars(self), "header": header}


def checked_options(**values: Any) -> TableOptions:
    """Return options for reading a table.

    Raises
    ------
    InputError
        For an option that is out of range.
    """
    options = TableOptions(**values)
    check_options(options)
    return options


class _Column(NamedTuple):
    """Raw column reduced to the remaining rows and the values that occur in them."""

    name: str
    codes: np.ndarray
    values: np.ndarray
    numbers: np.ndarray | None


class _Remaining(NamedTuple):
    """Rows that are not dropped (None: all rows), and warnings about the dropped ones."""

    rows: np.ndarray | None
    notes: tuple[str, ...]


def code_table(raw: RawTable, options: TableOptions) -> DiscreteTable:
    """Code a table by its own values.

    Raises
    ------
    InputError
        For missing values or continuous columns that the options reject, infinite values, and text
        with too many different values.
    """
    remaining = _without_missing(raw, options, least_rows=2)
    columns = _reduce(raw, remaining)
    _refuse_infinite(raw, remaining, columns)
    most = options.max_states
    wide = [column for column in columns if n_values(column.values, column.numbers, most) > most]
    _check_wide(raw.title, wide, options)
    wide_names = [column.name for column in wide]
    binned = frozenset(wide_names)
    notes = list(remaining.notes)
    if wide:
        notes.append(f"{raw.title}: binned into {options.bins} quantiles: {_listed(wide_names)}.")
    labels: list[tuple[str, ...]] = []
    lookups: list[list[int]] = []
    coded: dict[tuple[str, ...], tuple[tuple[str, ...], list[int]]] = {}
    for column in columns:
        if column.name in binned:
            texts = _bin_values(column, options.bins)
            if (found := len(set(texts))) < options.bins:
                notes.append(
                    f"{raw.title}: column {quoted(column.name)} has {found} bins instead of "
                    f"{options.bins}, because few values repeat often."
                )
        else:
            texts = plain_labels(column.values, column.numbers)
        found_states = (*texts, *_own_state(raw.title, column, texts))
        if found_states not in coded:  # many columns have the same values
            states = sort_labels(found_states)
            position = {label: k for k, label in enumerate(states)}
            coded[found_states] = states, [position[label] for label in found_states]
        labels.append(coded[found_states][0])
        lookups.append(coded[found_states][1])
    constant = [name for name, states in zip(raw.names, labels, strict=True) if len(states) == 1]
    if constant:
        notes.append(f"{raw.title}: constant, so without edges: {_listed(constant)}.")
    return _assemble(columns, lookups, labels, (*raw.notes, *notes))


def code_like(raw: RawTable, like: DiscreteTable, options: TableOptions) -> DiscreteTable:
    """Code a table with the names, order, labels and bins of another.

    Raises
    ------
    InputError
        For missing or extra columns, labels the other table does not have (with column and row),
        and missing values that the options reject.
    """
    raw = _arrange(raw, like.names)
    remaining = _without_missing(raw, options, least_rows=1)
    columns = _reduce(raw, remaining)
    lookups = []
    for column, states in zip(columns, like.labels, strict=True):
        lookup = _codes_of_values(column, states)
        # The code -1 of missing values indexes the last entry.
        own = [states.index(label) for label in MISSING_STATES if label in states]
        unknown = np.append(lookup < 0, not own)[column.codes]
        if unknown.any():
            row = int(np.argmax(unknown))
            found = "a missing value"
            if column.codes[row] >= 0:
                value = column.values[column.codes[row] : column.codes[row] + 1]
                found = f"the label {quoted(plain_labels(value, as_numbers(value))[0])}"
            raise InputError(
                f"{_place(raw, remaining, row)}, column {quoted(column.name)} holds {found}, which "
                f"does not occur in the training table; its labels are {_listed(states)}."
            )
        lookups.append([*lookup, *own[-1:]])
    return _assemble(columns, lookups, like.labels, (*raw.notes, *remaining.notes))


def _arrange(raw: RawTable, names: tuple[str, ...]) -> RawTable:
    """Return the columns in the order of `names`; unnamed columns are matched by position."""
    if not raw.named and len(raw.names) == len(names):
        return raw._replace(names=names)
    lacking = [name for name in names if name not in set(raw.names)]
    extra = [name for name in raw.names if name not in set(names)]
    if lacking or extra:
        parts = [f"lacks {_listed(lacking)}"] * bool(lacking)
        parts += [f"has the additional {_listed(extra)}"] * bool(extra)
        raise InputError(
            f"{raw.title}: the columns must be those of the training table, but it "
            f"{' and '.join(parts)}."
        )
    position = {name: i for i, name in enumerate(raw.names)}
    return raw._replace(names=names, columns=tuple(raw.columns[position[name]] for name in names))


def _without_missing(raw: RawTable, options: TableOptions, least_rows: int) -> _Remaining:
    """Return the rows to use; raise :class:`InputError` if missing values are rejected."""
    gaps = [int(np.count_nonzero(column.codes < 0)) for column in raw.columns]
    if not any(gaps) or options.missing == "state":
        return _Remaining(None, ())
    if options.missing == "reject":
        columns = [(i, raw.columns[i].codes) for i, count in enumerate(gaps) if count]
        row, i = min((int(np.argmax(codes < 0)), i) for i, codes in columns)
        raise missing_error(raw.title, sum(gaps), raw.place(row), raw.names[i])
    complete = complete_rows(raw)
    note = dropped_note(raw.title, int(complete.sum()), raw.n_rows, least_rows)
    return _Remaining(np.flatnonzero(complete), (note,))


def missing_error(title: str, total: int, place: str, name: str) -> InputError:
    """Return the error for `total` missing values, the first in `place`, column `name`."""
    are = "values are missing, the first" if total > 1 else "value is missing,"
    return InputError(
        f"{title}: {total} {are} in {place}, column {quoted(name)}; fill it in, "
        'or drop such rows (missing="drop"), or make missing a separate state '
        '(missing="state").'
    )


def dropped_note(title: str, left: int, rows: int, least_rows: int) -> str:
    """Return the warning about dropped rows; raise :class:`InputError` if too few remain."""
    dropped = f"{rows - left} of {rows} rows"
    if left < least_rows:
        raise InputError(
            f"{title}: dropping the {dropped} with missing values leaves {left}, too few to "
            'learn from; make missing a separate state (missing="state").'
        )
    return f"{title}: dropped {dropped} with missing values."


def _reduce(raw: RawTable, remaining: _Remaining) -> list[_Column]:
    columns = []
    for name, (codes, values) in zip(raw.names, raw.columns, strict=True):
        codes = codes if remaining.rows is None else codes[remaining.rows]
        used = used_values(codes, len(values))
        if not used.all():
            renumbered = np.append(np.cumsum(used) - 1, -1).astype(codes.dtype)
            codes, values = look_up(renumbered, codes), values[used]
        try:
            numbers = as_numbers(values)
        except UnicodeEncodeError:
            raise InputError(
                f"{raw.title}: column {quoted(name)} holds text that is not valid Unicode; clean "
                "it."
            ) from None
        columns.append(_Column(name, codes, values, numbers))
    return columns


def _refuse_infinite(raw: RawTable, remaining: _Remaining, columns: Sequence[_Column]) -> None:
    for column in columns:
        if column.numbers is not None and np.isinf(column.numbers).any():
            row = int(np.argmax(np.append(np.isinf(column.numbers), False)[column.codes]))
            raise infinite_error(_place(raw, remaining, row), column.name)


def infinite_error(place: str, name: str) -> InputError:
    """Return the error for an infinite number in `place` (source and row), column `name`."""
    return InputError(
        f"{place}, column {quoted(name)} holds an infinite number; replace it or leave it empty."
    )


def _place(raw: RawTable, remaining: _Remaining, row: int) -> str:
    """Return the text for the source and one of its remaining rows."""
    return f"{raw.title}: {raw.place(row if remaining.rows is None else int(remaining.rows[row]))}"


def n_values(values: np.ndarray, numbers: np.ndarray | None, enough: int) -> int:
    """Return the number of distinct values; at most `enough` if it is not computed exactly.

    The texts 1 and 1.0 are one number.
    """
    if numbers is None or values.dtype != object or len(numbers) <= enough:
        return len(values)
    return len(np.unique(numbers)) if np.abs(numbers).max() < EXACT else len(numbers)


def _check_wide(title: str, wide: Sequence[_Column], options: TableOptions) -> None:
    """Raise :class:`InputError` for columns of too many values that cannot be binned."""
    for column in wide:
        count = f"{n_values(column.values, column.numbers, 0)} different"
        limit = f"more than max_states = {options.max_states}"
        if column.numbers is None or len(np.unique(column.numbers)) < 2:
            advice = "leave it out if it is an identifier, or raise max_states"
            if has_decimal_comma(column.values):
                advice = "write its numbers with a decimal point, 1.5 and not 1,5"
            raise InputError(
                f"{title}: column {quoted(column.name)} has {count} texts, {limit}, and text "
                f"cannot be binned; {advice}."
            )
        if options.continuous == "reject":
            others = [other.name for other in wide if other is not column]
            also = f" (also: {_listed(others)})" if others else ""
            raise InputError(
                f"{title}: column {quoted(column.name)} has {count} numbers, {limit}{also}; bin "
                'them (continuous="bin"), or raise max_states if each number is a '
                "separate state."
            )


def _bin_values(column: _Column, bins: int) -> list[str]:
    """Return the label of the quantile bin of every value."""
    numbers = np.asarray(column.numbers)
    edges = quantile_edges(numbers[column.codes[column.codes >= 0]], bins)
    labels = bin_labels(edges.tolist())
    return [labels[k] for k in np.searchsorted(edges, numbers, side="right").tolist()]


def _own_state(title: str, column: _Column, texts: Sequence[str]) -> list[str]:
    """Return a list with the label of missing values; empty if no values are missing."""
    if not (column.codes < 0).any():
        return []
    free = [label for label in MISSING_STATES if label not in set(texts)]
    if not free:
        raise InputError(
            f"{title}: column {quoted(column.name)} has missing values, but already uses the "
            f"labels {' and '.join(MISSING_STATES)}; rename these."
        )
    return free[:1]


def _codes_of_values(column: _Column, states: tuple[str, ...]) -> np.ndarray:
    """Return the code of every value; −1 for values that are not among `states`."""
    position = {label: k for k, label in enumerate(states)}
    texts = plain_labels(column.values, None if column.values.dtype == object else column.numbers)
    codes = [position.get(text, position.get(plain_label(text), -1)) for text in texts]
    edges = bin_edges(states)
    if min(codes, default=0) < 0 and edges is not None and column.numbers is not None:
        binned = np.searchsorted(edges, column.numbers, side="right")
        return np.where(np.isinf(column.numbers), -1, binned)
    return np.array(codes, dtype=np.int64)


def _assemble(
    columns: Sequence[_Column],
    lookups: Sequence[Sequence[int]],
    labels: Sequence[tuple[str, ...]],
    notes: tuple[str, ...],
) -> DiscreteTable:
    """Return the table of the looked-up codes; the last entry of a lookup is that of code −1."""
    widest = max(len(states) for states in labels)
    dtype = np.uint8 if widest <= 2**8 else np.uint16
    codes = np.empty((len(columns), len(columns[0].codes)), dtype=dtype)
    for i, (column, lookup) in enumerate(zip(columns, lookups, strict=True)):
        codes[i] = look_up(np.array(lookup, dtype=dtype), column.codes)
    codes.flags.writeable = False
    return DiscreteTable(codes, tuple(column.name for column in columns), tuple(labels), notes)


def _listed(names: Sequence[str]) -> str:
    texts = [quoted(name) for name in names[:_LISTED]]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(texts) + more
