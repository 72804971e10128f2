"""Conversion of arguments to tables: :func:`as_table`."""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np
import pandas as pd

from graftviz.errors import InputError
from graftviz.table.arrow_tables import ArrowTable, has_arrow_interface
from graftviz.table.discrete import DiscreteTable
from graftviz.table.reading import read_table


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
    if isinstance(source, pd.DataFrame | np.ndarray) or has_arrow_interface(source):
        rows: Any = source
        try:
            return read_table(rows, like=like)
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
