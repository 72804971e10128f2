"""Reader of tables from every kind of source: :func:`read_table`."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from graftviz.discovery import later
from graftviz.errors import InputError
from graftviz.table.arrow import numeric_column
from graftviz.table.arrow_tables import ArrowTable, from_arrow, has_arrow_interface
from graftviz.table.available import AvailableTable, filled
from graftviz.table.coding import (
    BINS,
    MAX_STATES,
    Missing,
    TableOptions,
    checked_options,
    code_like,
    code_table,
    keeps_gaps,
)
from graftviz.table.discrete import DiscreteTable
from graftviz.table.files import read_file
from graftviz.table.raw import (
    RawTable,
    check_shape,
    from_array,
    from_frame,
    has_index,
    with_weights,
    without_index,
)
from graftviz.wording import quoted

MAX_BYTES = 100_000_000


def read_table(
    source: str | os.PathLike[str] | BinaryIO | pd.DataFrame | ArrowTable | np.ndarray,
    *,
    missing: Missing = "reject",
    max_states: int = MAX_STATES,
    continuous: Literal["reject", "bin"] = "reject",
    bins: int = BINS,
    min_count: int = 0,
    weights: str | ArrayLike | None = None,
    like: DiscreteTable | None = None,
    unseen: Literal["reject", "nearest"] = "reject",
    max_bytes: int = MAX_BYTES,
    header: bool | Literal["auto"] = "auto",
    name: str | None = None,
) -> DiscreteTable:
    """Read, check and code a table.

    Labels and missing values follow the rules of :mod:`graftviz.table.labels`. Messages name the
    line of a delimited file (counted from 1, including the line of names), otherwise the row
    (counted from 1).

    Parameters
    ----------
    source : path, binary file, DataFrame, Arrow table or two-dimensional array
        Files are CSV (``.csv``, ``.tsv``, ``.txt``, ``.data``: comma, semicolon or tab, UTF-8) or
        parquet (``.parquet``, ``.pq``), also compressed by gzip (``.csv.gz``). The path of a folder
        means its parquet files, parts of one table. Arrow tables are those of pyarrow, Polars and
        others with the Arrow interface. Arrays have the shape (rows, variables); their variables
        are named x0, x1, … A first column that only numbers or names the rows, as pandas and R
        write it, is left out.
    missing : {"reject", "drop", "state", "available", "em"}
        Raise an error for missing values, drop the rows that have some, or use a separate state,
        labelled ``"missing"`` and coded last. ``"available"`` returns an
        :class:`graftviz.table.AvailableTable`: every pair of variables is counted from the rows
        that have both values. ``"em"`` draws missing values from a model of all variables given
        the observed values of their rows, for up to 200 variables; as the model is that of all
        rows, hold out rows before to measure prediction. Both assume that values are missing at
        random; with `like` they drop incomplete rows.
    max_states : int
        A column with more distinct values is continuous. So is a column of fractions with more
        distinct values than `bins` and less than 20 rows for each of them.
    continuous : {"reject", "bin"}
        Raise an error for continuous columns, or divide them into quantiles labelled like
        ``"< 0.1"``, ``"[0.1, 2.3)"`` and ``">= 2.3"``.
    bins : int
        Number of quantiles, 2 … 256.
    min_count : int
        Texts in fewer rows become the state ``"other"``, which every column of text has then.
    weights : str or array of shape (rows,), optional
        Case weights, or the name of the column that holds them, which is then no variable. A row
        of weight 2 counts as two rows, and the number of rows N is the sum of the weights.
    like : DiscreteTable, optional
        Training table whose columns, their order, labels and bins are used. Unnamed columns are
        matched by position.
    unseen : {"reject", "nearest"}
        With `like`, raise an error for values that the training table does not have, or use the
        nearest number, and the state ``"other"`` for texts.
    max_bytes : int
        Maximum size of a file, checked before it is read; for parquet and gzip files also the
        maximum unpacked size, and for parquet files four times the maximum number of cells. The
        table in memory may take three times as much.
    header : bool or "auto"
        Whether the first line of a delimited file holds names; "auto" decides as described in
        :func:`graftviz.table.header.first_line_has_names`.
    name : str, optional
        File name of an upload, for its suffix and for messages; default: the object's own.

    Returns
    -------
    DiscreteTable
        At least two variables and two rows (with `like`: one row). Constant columns become
        variables of one state, with a warning.

    Raises
    ------
    InputError
        For input that cannot be used; the message states the problem, its place and a remedy.

    Examples
    --------
    >>> gv.read_table(pd.DataFrame({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "dry"]}))
    DiscreteTable(2 variables, 3 rows)
    >>> gv.read_table(np.array([[0, 1], [1, 0], [0, 0]])).names
    ('x0', 'x1')
    """
    options = checked_options(
        missing=missing,
        max_states=max_states,
        continuous=continuous,
        bins=bins,
        min_count=min_count,
    )
    if unseen not in ("reject", "nearest"):
        raise InputError(f"Option unseen must be 'reject' or 'nearest', not {quoted(unseen)}.")
    has_header = checked_header(header)
    if not isinstance(max_bytes, int | np.integer) or max_bytes < 1:
        raise InputError(
            f"Option max_bytes must be a whole number of at least 1, not {quoted(max_bytes)}."
        )
    expected = None if like is None else like.names
    raw = _read_raw(source, name, max_bytes, has_header, expected)
    if has_index(raw) and raw.names[0] not in (expected or ()):
        raw = without_index(raw)
    if weights is not None:
        raw = with_weights(raw, weights)
    check_shape(raw, least_rows=2 if like is None else 1)
    raw = raw._replace(columns=tuple(numeric_column(raw, i) for i in range(len(raw.names))))
    if like is not None:
        return code_like(raw, like, options, unseen)
    table = code_table(raw, options)
    gaps = np.array([column.codes < 0 for column in raw.columns]) if keeps_gaps(options) else None
    return table if gaps is None or not gaps.any() else _with_gaps(raw.title, table, gaps, options)


def _with_gaps(
    title: str, table: DiscreteTable, gaps: np.ndarray, options: TableOptions
) -> DiscreteTable:
    """Return a table whose missing values are completed, or left out pair by pair."""
    codes = filled(table.codes, gaps, np.random.default_rng(0))
    parts = (table.names, table.labels, table.warnings, table.weights)
    available = AvailableTable(codes, *parts, observed=~gaps)
    if options.missing == "em":
        completed: DiscreteTable = later("graftviz.completion").completed(available, title=title)
        return completed
    return replace(available, warnings=(*table.warnings, available.note(title)))


def checked_header(header: bool | str) -> bool | None:
    """Return the option `header` of :func:`read_table` as a bool; None for "auto".

    Raises
    ------
    InputError
        For any other value.
    """
    if header not in (True, False, "auto"):
        raise InputError(f"Option header must be True, False or 'auto', not {quoted(header)}.")
    return None if header == "auto" else bool(header)


def _read_raw(
    source: Any,
    name: str | None,
    max_bytes: int,
    header: bool | None,
    expected: tuple[str, ...] | None,
) -> RawTable:
    if isinstance(source, pd.DataFrame):
        return from_frame(source)
    if isinstance(source, np.ndarray):
        return from_array(source)
    if has_arrow_interface(source):
        return from_arrow(source)
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        return read_file(source, name, max_bytes, header, expected)
    raise InputError(
        f"A table cannot be read from a {type(source).__name__}; pass a path, a file opened in "
        "binary mode, a DataFrame, an Arrow table or a two-dimensional array."
    )


def warn_of(table: DiscreteTable) -> None:
    """Issue the warnings of a table as Python warnings of the caller's caller."""
    for sentence in table.warnings:
        warnings.warn(sentence, stacklevel=3)
