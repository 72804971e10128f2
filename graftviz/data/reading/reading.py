"""Tables from every kind of source: :func:`read_rows`, and :func:`as_table` for arguments."""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from graftviz.data.coding import TableOptions, code_like, code_table
from graftviz.data.reading.files import read_file
from graftviz.data.reading.raw import (
    ArrowTable,
    check_shape,
    from_array,
    from_arrow,
    from_frame,
    has_index,
    with_weights,
    without_index,
)
from graftviz.data.table import DiscreteTable
from graftviz.utils.errors import InputError
from graftviz.utils.options import check_options
from graftviz.utils.wording import quoted

MAX_BYTES = 100_000_000


class IncompleteTable(NamedTuple):
    """Table of which some values may be missing.

    Attributes
    ----------
    table : DiscreteTable
        Its codes are arbitrary where values are missing.
    observed : bool array, shape (variables, rows), or None
        Where values are known; None: everywhere.
    title : str
        Source name for messages.
    """

    table: DiscreteTable
    observed: np.ndarray | None
    title: str


def read_rows(
    source: Any,
    options: TableOptions | None = None,
    *,
    weights: str | ArrayLike | None = None,
    like: DiscreteTable | None = None,
    unseen: str = "reject",
    max_bytes: int = MAX_BYTES,
    name: str | None = None,
) -> IncompleteTable:
    """Read a table as :func:`graftviz.read_table` does, without drawing its missing values."""
    options = options or TableOptions()
    weights = options.weights if weights is None else weights
    check_options(options)
    if unseen not in ("reject", "nearest"):
        raise InputError(f"Option unseen must be 'reject' or 'nearest', not {quoted(unseen)}.")
    if not isinstance(max_bytes, int | np.integer) or max_bytes < 1:
        raise InputError(
            f"Option max_bytes must be a whole number of at least 1, not {quoted(max_bytes)}."
        )
    expected = None if like is None else like.names
    if isinstance(source, pd.DataFrame):
        raw = from_frame(source)
    elif isinstance(source, np.ndarray):
        raw = from_array(source)
    elif isinstance(source, ArrowTable):
        raw = from_arrow(source)
    elif isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        raw = read_file(source, name, max_bytes, options.has_header, expected)
    else:
        raise InputError(
            f"A table cannot be read from a {type(source).__name__}; pass a path, a file opened in "
            "binary mode, a DataFrame, an Arrow table or a two-dimensional array."
        )
    if has_index(raw) and raw.names[0] not in (expected or ()):
        raw = without_index(raw)
    if weights is not None:
        raw = with_weights(raw, weights)
    check_shape(raw, least_rows=2 if like is None else 1)
    if like is not None:
        return IncompleteTable(code_like(raw, like, options, unseen), None, raw.title)
    observed = None
    if options.missing == "em":
        observed = np.array([column.codes >= 0 for column in raw.columns])
    table = code_table(raw, options)
    return IncompleteTable(
        table, None if observed is None or observed.all() else observed, raw.title
    )


def warn_of(table: DiscreteTable) -> None:
    """Issue the warnings of a table as Python warnings of the caller's caller."""
    for sentence in table.warnings:
        warnings.warn(sentence, stacklevel=3)


class HasTable(Protocol):
    """Object with a table, such as a DataSet."""

    @property
    def table(self) -> DiscreteTable:
        """Return the table."""


Tabular = DiscreteTable | HasTable | pd.DataFrame | ArrowTable | np.ndarray


def table_inside(source: Any) -> Any:
    """Return the table of an object that has one, such as a DataSet; anything else unchanged."""
    own = getattr(source, "table", None)
    return own if isinstance(own, DiscreteTable) else source


def as_table(
    source: Tabular, like: DiscreteTable | None = None, *, name: str = "table"
) -> DiscreteTable:
    """Return an argument as a table: a table itself, or one read from its rows.

    Parameters
    ----------
    source : DiscreteTable, DataSet, DataFrame, Arrow table or array of shape (rows, variables)
        Frames, Arrow tables and arrays are read by :func:`graftviz.read_table` with its defaults.
    like : DiscreteTable, optional
        Table whose names and labels a frame or an array follows.
    name : str
        Name of the argument in messages.

    Returns
    -------
    DiscreteTable

    Raises
    ------
    InputError
        For any other object, and for rows that cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"a": ["no", "yes"], "b": [1, 2]}))
    DiscreteTable(2 variables, 2 rows)
    """
    source = table_inside(source)
    if isinstance(source, DiscreteTable):
        return source
    if isinstance(source, pd.DataFrame | np.ndarray | ArrowTable):
        rows: Any = source
        try:
            return read_rows(rows, like=like).table
        except InputError as problem:
            raise InputError(
                f"{problem} Options are those of read_table, which makes a table of it."
            ) from None
    if isinstance(source, str | os.PathLike):
        found, advice = "a path", "read the file with read_table"
    else:
        article = "an" if type(source).__name__[:1] in "AEIOUaeiou" else "a"
        found, advice = f"{article} {type(source).__name__}", "see read_table"
    raise InputError(
        f"The argument {name} must be a table, a DataFrame, an array or a DataSet, not {found}; "
        f"{advice}."
    )
