"""Coding of raw columns: missing values, continuous columns, labels, labels of another table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.options import check_options, option
from graftviz.table.discrete import MAX_CARDINALITY, DiscreteTable
from graftviz.table.labels import (
    EXACT,
    MISSING_STATES,
    OTHER_STATE,
    as_numbers,
    bin_edges,
    bin_labels,
    has_decimal_comma,
    is_number,
    plain_label,
    plain_labels,
    sort_labels,
)
from graftviz.table.quantiles import quantile_edges
from graftviz.table.raw import RawTable, complete_rows, look_up, used_values
from graftviz.wording import quoted

MAX_STATES = 32
Missing = Literal["reject", "drop", "state", "available", "em"]
INCOMPLETE = ("available", "em")  # choices of the option `missing` that retain all rows
BINS = 4
_SCALED = 0.02  # deviation of case weights from those that sum to their effective number
_LISTED = 5  # names written out in a message
_ROWS_PER_STATE = 20  # rows for each state of a column of fractions


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table; those of :func:`graftviz.table.read_table`, as texts."""

    missing: Missing = option(
        "reject",
        "missing values: refuse; drop their rows; treat as a state; available: count every pair of "
        "variables from the rows that have both; em: draw them from a model given the other values",
        label="Missing values",
        advanced=True,
    )
    continuous: Literal["reject", "bin"] = option(
        "reject",
        "columns with many distinct numbers: refuse, or divide into quantiles",
        label="Continuous columns",
        advanced=True,
    )
    bins: int = option(
        BINS, "number of quantiles", label="Quantiles", minimum=2, maximum=256, advanced=True
    )
    max_states: int = option(
        MAX_STATES,
        "columns with more distinct values are continuous; columns of fractions with few rows too",
        label="Most states",
        minimum=2,
        maximum=MAX_CARDINALITY - 1,
        advanced=True,
    )
    min_count: int = option(
        0,
        "texts in fewer rows become the state 'other', which every column of text has then; "
        "0: none do",
        label="Rows of a rare label",
        minimum=0,
        advanced=True,
    )
    weights: str | None = option(
        None,
        "column of case weights: a row of weight 2 counts as two rows",
        label="Column of case weights",
        none_means="none",
        text=str,
        advanced=True,
    )
    header: Literal["auto", "yes", "no"] = option(
        "auto",
        "whether the first line of a text file contains the names",
        label="Names in the first line",
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


def code_table(raw: RawTable, options: TableOptions, n_rows: int | None = None) -> DiscreteTable:
    """Code a table by its own values.

    `n_rows` is the number of rows of the whole source, if `raw` does not hold all of them.

    Raises
    ------
    InputError
        For missing values or continuous columns that the options reject, infinite values, and text
        with too many different values.
    """
    remaining = _without_missing(raw, options, least_rows=2, learns=True)
    columns = _reduce(raw, remaining)
    weights = _remaining_weights(raw, remaining)
    if options.min_count:
        columns = [_with_other(column, options.min_count, weights) for column in columns]
    _refuse_infinite(raw, remaining, columns)
    if n_rows is None:
        n_rows = len(columns[0].codes) if weights is None else int(weights.sum())
    wide = [
        column
        for column in columns
        if is_continuous(column.values, column.numbers, n_rows, options)
    ]
    _check_wide(raw.title, wide, options)
    wide_names = [column.name for column in wide]
    binned = frozenset(wide_names)
    notes = list(remaining.notes)
    if wide:
        notes.append(f"{raw.title}: binned into {options.bins} quantiles: {_listed(wide_names)}.")
    labels: list[tuple[str, ...]] = []
    lookups: list[list[int]] = []
    coded: dict[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], list[int]]] = {}
    for column in columns:
        if column.name in binned:
            texts = _bin_values(column, options.bins, weights)
            if (found := len(set(texts))) < options.bins:
                notes.append(
                    f"{raw.title}: column {quoted(column.name)} has {found} bins instead of "
                    f"{options.bins}, because few values repeat often."
                )
        else:
            texts = plain_labels(column.values, column.numbers)
        own = [] if keeps_gaps(options) else _own_state(raw.title, column, texts)
        found_states = (*texts, *own)
        order = raw.orders.get(column.name, ())
        if (found_states, order) not in coded:  # many columns have the same values
            states = sort_labels(found_states, order)
            position = {label: k for k, label in enumerate(states)}
            coded[found_states, order] = states, [position[label] for label in found_states]
        labels.append(coded[found_states, order][0])
        lookups.append(coded[found_states, order][1])
    constant = [name for name, states in zip(raw.names, labels, strict=True) if len(states) == 1]
    if constant:
        notes.append(f"{raw.title}: constant, so without edges: {_listed(constant)}.")
    notes += _notes_on_weights(raw.title, weights)
    return _assemble(columns, lookups, labels, (*raw.notes, *notes), weights)


def _with_other(column: _Column, min_count: int, weights: np.ndarray | None) -> _Column:
    """Return a column of text whose rare values are the state "other"; other columns unchanged."""
    if column.numbers is not None or len(column.values) == 0:
        return column
    counts = np.bincount(column.codes + 1, weights, minlength=len(column.values) + 1)[1:]
    values = [
        value if count >= min_count else OTHER_STATE
        for value, count in zip(column.values, counts.tolist(), strict=True)
    ]
    distinct = list(dict.fromkeys([*values, OTHER_STATE]))
    position = {value: k for k, value in enumerate(distinct)}
    lookup = np.array([*(position[value] for value in values), -1], dtype=np.int32)
    return column._replace(
        codes=look_up(lookup, column.codes), values=np.array(distinct, dtype=object)
    )


def code_like(
    raw: RawTable, like: DiscreteTable, options: TableOptions, unseen: str = "reject"
) -> DiscreteTable:
    """Code a table with the names, order, labels and bins of another.

    Values that the other table does not have are refused, or with ``unseen="nearest"`` replaced
    by the nearest number, or by the state "other" of a column of text.

    Raises
    ------
    InputError
        For missing or extra columns, labels the other table does not have (with column and row),
        and missing values that the options reject.
    """
    raw = _arrange(raw, like.names)
    remaining = _without_missing(raw, options, least_rows=1, learns=False)
    columns = _reduce(raw, remaining)
    lookups = []
    notes = list(remaining.notes)
    for column, states in zip(columns, like.labels, strict=True):
        lookup = _codes_of_values(column, states)
        if unseen == "nearest" and (lookup < 0).any():
            replaced = _nearest_codes(column, states)
            n_values = int(np.count_nonzero((lookup < 0) & (replaced >= 0)))
            lookup = np.where(lookup < 0, replaced, lookup)
            if n_values:
                state = "the nearest state" if column.numbers is not None else "the state 'other'"
                values, them = ("value", "it") if n_values == 1 else ("values", "them")
                notes.append(
                    f"{raw.title}: column {quoted(column.name)} has {n_values} {values} that the "
                    f"training table does not have; {state} stands for {them}."
                )
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
                + _advice_for_unseen(column, unseen)
            )
        lookups.append([*lookup, *own[-1:]])
    weights = _remaining_weights(raw, remaining)
    return _assemble(columns, lookups, like.labels, (*raw.notes, *notes), weights)


def _remaining_weights(raw: RawTable, remaining: _Remaining) -> np.ndarray | None:
    if raw.weights is None or remaining.rows is None:
        return raw.weights
    return raw.weights[remaining.rows]


def _notes_on_weights(title: str, weights: np.ndarray | None) -> list[str]:
    """Return a note on what case weights sum to, unless they are whole numbers."""
    if weights is None or (weights == np.floor(weights)).all():
        return []
    total, squares = float(weights.sum()), float((weights**2).sum())
    if abs(squares / total - 1.0) < _SCALED:
        return []
    return [
        f"{title}: the case weights sum to {total:,.0f}, which is taken for the number of rows. "
        f"Weights of a sample survey inform like {total**2 / squares:,.0f} equal rows; divide them "
        f"by {squares / total:.3g} if they are such weights."
    ]


def _advice_for_unseen(column: _Column, unseen: str) -> str:
    if unseen == "reject" or column.numbers is not None:
        return ""
    return " With min_count = 1, the training table gets a state 'other' for such texts."


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


def keeps_gaps(options: TableOptions) -> bool:
    """Return whether rows with missing values remain, without a state for these."""
    return options.missing in INCOMPLETE


def _without_missing(
    raw: RawTable, options: TableOptions, least_rows: int, *, learns: bool
) -> _Remaining:
    """Return the rows to use; raise :class:`InputError` if missing values are rejected.

    `learns` is true for a table to learn from, which may keep gaps and can do without a column.
    """
    gaps = [int(np.count_nonzero(column.codes < 0)) for column in raw.columns]
    if not any(gaps) or options.missing == "state":
        return _Remaining(None, ())
    if learns:
        empty = [raw.names[i] for i, count in enumerate(gaps) if count == raw.n_rows]
        if empty:
            words, them = ("columns", "have"), "them"
            if len(empty) == 1:
                words, them = ("column", "has"), "it"
            raise InputError(
                f"{raw.title}: {words[0]} {_listed(empty)} {words[1]} no values; leave {them} out."
            )
        if keeps_gaps(options):
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
        '(missing="state"), or draw the values from a model (missing="em"), or count pairs without '
        'them (missing="available").'
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


def is_continuous(
    values: np.ndarray, numbers: np.ndarray | None, n_rows: int, options: TableOptions
) -> bool:
    """Return whether a column has too many distinct values for one state each.

    Columns of fractions also need enough rows for each state: measurements on a fine scale repeat
    in small tables, but not all of their values occur in another sample.
    """
    most = options.max_states
    if numbers is not None and (numbers != np.floor(numbers)).any():
        most = min(most, max(options.bins, n_rows // _ROWS_PER_STATE))
    return n_values(values, numbers, most) > most


def _is_text(column: _Column) -> bool:
    """Return whether a column has no numbers that differ, and so cannot be binned."""
    return column.numbers is None or len(np.unique(column.numbers)) < 2


def _also(column: _Column, wide: Sequence[_Column]) -> str:
    """Return the clause that names the other columns with the same fault."""
    is_text = _is_text(column)
    others = [other.name for other in wide if other is not column and _is_text(other) == is_text]
    return f" (also: {_listed(others)})" if others else ""


def _check_wide(title: str, wide: Sequence[_Column], options: TableOptions) -> None:
    """Raise :class:`InputError` for columns of too many values that cannot be binned."""
    for column in wide:
        found = n_values(column.values, column.numbers, 0)
        count = f"{found} different"
        limit = f"more than max_states = {options.max_states}"
        remedy = "raise max_states if each number is a separate state"
        if found <= options.max_states:
            limit = "too many fractions for so few rows"
            remedy = "write the numbers as text if each is a separate state"
        if _is_text(column):
            advice = (
                "leave it out if it is an identifier, merge its rare labels (min_count), or raise "
                "max_states"
            )
            if has_decimal_comma(column.values):
                advice = "write its numbers with a decimal point, 1.5 and not 1,5"
            raise InputError(
                f"{title}: column {quoted(column.name)} has {count} texts, {limit}"
                f"{_also(column, wide)}, and text cannot be binned; {advice}."
            )
        if options.continuous == "reject":
            raise InputError(
                f"{title}: column {quoted(column.name)} has {count} numbers, {limit}"
                f'{_also(column, wide)}; bin them (continuous="bin"), or {remedy}.'
            )


def _bin_values(column: _Column, bins: int, weights: np.ndarray | None) -> list[str]:
    """Return the label of the quantile bin of every value."""
    numbers = np.asarray(column.numbers)
    is_present = column.codes >= 0
    edges = quantile_edges(
        numbers[column.codes[is_present]], bins, None if weights is None else weights[is_present]
    )
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


def _nearest_codes(column: _Column, states: tuple[str, ...]) -> np.ndarray:
    """Return the code of the state nearest to every value; −1 where there is none."""
    numbers = [float(label) if is_number(label) else math.nan for label in states]
    if column.numbers is not None and not np.isnan(numbers).all():
        distances = np.abs(column.numbers[:, np.newaxis] - np.array(numbers))
        distances[np.isnan(distances)] = np.inf
        return np.where(np.isfinite(column.numbers), np.argmin(distances, axis=1), -1)
    other = states.index(OTHER_STATE) if OTHER_STATE in states else -1
    return np.full(len(column.values), other, dtype=np.int64)


def _assemble(
    columns: Sequence[_Column],
    lookups: Sequence[Sequence[int]],
    labels: Sequence[tuple[str, ...]],
    notes: tuple[str, ...],
    weights: np.ndarray | None,
) -> DiscreteTable:
    """Return the table of the looked-up codes; the last entry of a lookup is that of code −1."""
    widest = max(len(states) for states in labels)
    dtype = np.uint8 if widest <= 2**8 else np.uint16
    codes = np.empty((len(columns), len(columns[0].codes)), dtype=dtype)
    for i, (column, lookup) in enumerate(zip(columns, lookups, strict=True)):
        codes[i] = look_up(np.array(lookup, dtype=dtype), column.codes)
    codes.flags.writeable = False
    return DiscreteTable(
        codes, tuple(column.name for column in columns), tuple(labels), notes, weights
    )


def _listed(names: Sequence[str]) -> str:
    texts = [quoted(name) for name in names[:_LISTED]]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(texts) + more
