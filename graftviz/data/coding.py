"""Coding of raw columns: missing values, continuous columns, labels, labels of another table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.data.labels import (
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
from graftviz.data.reading.raw import RawTable, look_up, select_rows
from graftviz.data.table import MAX_CARDINALITY, DiscreteTable
from graftviz.utils.errors import InputError
from graftviz.utils.options import option
from graftviz.utils.wording import quoted

MAX_STATES = 32
Missing = Literal["reject", "drop", "state", "em"]
BINS = 4
_SCALED = 0.02  # deviation of case weights from those that sum to their effective number
_LISTED = 5  # names written out in a message
_ROWS_PER_STATE = 20  # rows for each state of a column of fractions
_DIGITS = 17  # digits that distinguish a double from its neighbours


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table; those of :func:`graftviz.read_table`, as texts."""

    missing: Missing = option(
        "reject",
        "missing values: refuse; drop their rows; treat as a state; em: draw them from a model "
        "given the other values",
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
        """Return the arguments of :func:`graftviz.read_table`."""
        return {**vars(self), "header": "auto" if self.has_header is None else self.has_header}

    @property
    def has_header(self) -> bool | None:
        """Whether the first line of a text file contains the names; None: it is not said."""
        return {"auto": None, "yes": True, "no": False}[self.header]


class _Column(NamedTuple):
    """Raw column with its name, and its values as numbers if they are."""

    name: str
    codes: np.ndarray
    values: np.ndarray
    numbers: np.ndarray | None


def code_table(raw: RawTable, options: TableOptions) -> DiscreteTable:
    """Code a table by its own values.

    Raises
    ------
    InputError
        For missing values or continuous columns that the options reject, infinite values, and text
        with too many different values.
    """
    raw = _without_missing(raw, options, least_rows=2, learns=True)
    columns, weights = _columns(raw), raw.weights
    if options.min_count:
        columns = [_with_other(column, options.min_count, weights) for column in columns]
    _refuse_infinite(raw, columns)
    n_rows = len(columns[0].codes) if weights is None else int(weights.sum())
    wide = [column for column in columns if _is_continuous(column, n_rows, options)]
    _check_wide(raw.title, wide, options)
    wide_names = [column.name for column in wide]
    binned = frozenset(wide_names)
    notes: list[str] = []
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
        own = [] if options.missing == "em" else _own_state(raw.title, column, texts)
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
    raw = _without_missing(raw, options, least_rows=1, learns=False)
    columns = _columns(raw)
    lookups = []
    notes: list[str] = []
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
                f"{raw.title}: {raw.place(row)}, column {quoted(column.name)} holds {found}, which "
                f"does not occur in the training table; its labels are {_listed(states)}."
                + _advice_for_unseen(column, unseen)
            )
        lookups.append([*lookup, *own[-1:]])
    return _assemble(columns, lookups, like.labels, (*raw.notes, *notes), raw.weights)


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


def _without_missing(
    raw: RawTable, options: TableOptions, least_rows: int, *, learns: bool
) -> RawTable:
    """Return the rows to use; raise :class:`InputError` if missing values are rejected.

    `learns` is true for a table to learn from, which may keep gaps and can do without a column.
    """
    gaps = [int(np.count_nonzero(column.codes < 0)) for column in raw.columns]
    if not any(gaps) or options.missing == "state":
        return raw
    if learns:
        empty = [name for name, count in zip(raw.names, gaps, strict=True) if count == raw.n_rows]
        if empty:
            words = ("columns", "have", "them") if len(empty) > 1 else ("column", "has", "it")
            raise InputError(
                f"{raw.title}: {words[0]} {_listed(empty)} {words[1]} no values; leave {words[2]} "
                "out."
            )
        if options.missing == "em":
            return raw
    if options.missing == "reject":
        columns = [(i, raw.columns[i].codes) for i, count in enumerate(gaps) if count]
        row, i = min((int(np.argmax(codes < 0)), i) for i, codes in columns)
        are = "values are missing, the first" if sum(gaps) > 1 else "value is missing,"
        raise InputError(
            f"{raw.title}: {sum(gaps)} {are} in {raw.place(row)}, column {quoted(raw.names[i])}; "
            'fill it in, or drop such rows (missing="drop"), or make missing a separate state '
            '(missing="state"), or draw the values from a model (missing="em").'
        )
    complete = np.ones(raw.n_rows, dtype=bool)
    for codes, _ in raw.columns:
        complete &= codes >= 0
    rows = np.flatnonzero(complete)
    dropped = f"{raw.n_rows - len(rows)} of {raw.n_rows} rows"
    if len(rows) < least_rows:
        raise InputError(
            f"{raw.title}: dropping the {dropped} with missing values leaves {len(rows)}, too few "
            'to learn from; make missing a separate state (missing="state").'
        )
    note = f"{raw.title}: dropped {dropped} with missing values."
    return select_rows(raw, rows)._replace(notes=(*raw.notes, note))


def _columns(raw: RawTable) -> list[_Column]:
    columns = []
    for name, (codes, values) in zip(raw.names, raw.columns, strict=True):
        try:
            columns.append(_Column(name, codes, values, as_numbers(values)))
        except UnicodeEncodeError:
            raise InputError(
                f"{raw.title}: column {quoted(name)} holds text that is not valid Unicode; clean "
                "it."
            ) from None
    return columns


def _refuse_infinite(raw: RawTable, columns: Sequence[_Column]) -> None:
    for column in columns:
        if column.numbers is not None and np.isinf(column.numbers).any():
            row = int(np.argmax(np.append(np.isinf(column.numbers), False)[column.codes]))
            raise InputError(
                f"{raw.title}: {raw.place(row)}, column {quoted(column.name)} holds an infinite "
                "number; replace it or leave it empty."
            )


def _n_values(column: _Column, enough: int = 0) -> int:
    """Return the number of distinct values; at most `enough` if it is not computed exactly.

    The texts 1 and 1.0 are one number.
    """
    numbers = column.numbers
    if numbers is None or column.values.dtype != object or len(numbers) <= enough:
        return len(column.values)
    return len(np.unique(numbers)) if np.abs(numbers).max() < EXACT else len(numbers)


def _is_continuous(column: _Column, n_rows: int, options: TableOptions) -> bool:
    """Return whether a column has too many distinct values for one state each.

    Columns of fractions also need enough rows for each state: measurements on a fine scale repeat
    in small tables, but not all of their values occur in another sample.
    """
    most, numbers = options.max_states, column.numbers
    if numbers is not None and (numbers != np.floor(numbers)).any():
        most = min(most, max(options.bins, n_rows // _ROWS_PER_STATE))
    return _n_values(column, most) > most


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
        found = _n_values(column)
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


# --------------------------------------------------------------------------------------- quantiles


def quantile_edges(values: np.ndarray, bins: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the inner edges of quantile bins; each bin holds at least one value.

    Ties can reduce the number of bins, but never below two.

    Parameters
    ----------
    values : float64 array
        Finite numbers, at least two of them distinct.
    bins : int
        At least 2.
    weights : float64 array, optional
        Case weights: a value of weight 2 counts as two values.

    Returns
    -------
    float64 array, ascending, length 1 … bins − 1
        Bin k is ``edges[k - 1] <= value < edges[k]``. Each edge is the shortest decimal number
        that gives the same division, so that parsing a label returns the exact edge.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    distinct = np.unique(ordered)
    # Edges are values of the data: interpolated edges could leave a bin empty.
    ends = np.arange(1.0, len(values) + 1.0) if weights is None else np.cumsum(weights[order])
    places = np.ceil(np.arange(1, bins) * (ends[-1] - 1.0) / bins)
    inner = ordered[np.searchsorted(ends, places, side="right").clip(0, len(ordered) - 1)]
    # If the smallest value fills a whole quantile, the edge is the next distinct value.
    edges = np.unique(np.where(inner == distinct[0], distinct[1], inner))
    below = distinct[np.searchsorted(distinct, edges) - 1]
    return np.array([_shortest_between(*pair) for pair in zip(below, edges, strict=True)])


def _shortest_between(low: float, high: float) -> float:
    """Return the largest of the numbers with the fewest digits in (low, high]."""
    exact = repr(float(high))
    for digits in range(1, _DIGITS):
        candidate = float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(exact))
        if low < candidate <= high:
            return candidate
    return float(high)
