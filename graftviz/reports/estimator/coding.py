"""Conversion of X to a DiscreteTable: arrays of codes, and categories declared by frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from graftviz.data.labels import MISSING_STATES
from graftviz.data.table import MAX_CARDINALITY, DiscreteTable
from graftviz.learning.completion import read_table
from graftviz.utils.errors import InputError


def header(table: DiscreteTable) -> pd.DataFrame:
    """Return an empty frame with the columns of `table`."""
    return pd.DataFrame(columns=list(table.names))


def table_of_codes(
    source: pd.DataFrame | np.ndarray, cardinalities: int | Sequence[int]
) -> DiscreteTable:
    """Return a table with the codes of `source` and the given numbers of states.

    Raises
    ------
    InputError
        If `source` holds anything but whole numbers from 0 to below `cardinalities`.
    """
    sizes = np.asarray(cardinalities)
    if sizes.dtype.kind not in "iu" or sizes.ndim > 1:
        raise InputError(
            f"cardinalities must be one whole number, or one per column, not {cardinalities!r}."
        )
    codes = np.asarray(source)
    if codes.dtype.kind not in "iub":
        # scikit-learn's discretizers return codes as floats.
        codes = _whole_numbers(codes)
    if (codes < 0).any():
        row, column = np.argwhere(codes < 0)[0].tolist()
        raise InputError(
            f"Negative values in data: row {row + 1}, column {column + 1} of X holds "
            f"{codes[row, column]}, but as cardinalities were given, X must hold codes, whole "
            "numbers from 0."
        )
    names = tuple(map(str, source.columns)) if isinstance(source, pd.DataFrame) else None
    sizes = np.broadcast_to(sizes, codes.shape[1:]) if sizes.ndim == 0 else sizes
    return DiscreteTable.from_codes(codes, names, sizes)


def _whole_numbers(array: np.ndarray) -> np.ndarray:
    try:
        numbers = array.astype(np.float64)
    except ValueError:
        raise InputError(
            "cardinalities were given, so X must hold codes, whole numbers from 0; it holds text."
        ) from None
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
    if not whole.all():
        row, column = np.argwhere(~whole)[0].tolist()
        value = numbers[row, column]
        raise InputError(
            f"Row {row + 1}, column {column + 1} of X holds {'NaN' if np.isnan(value) else value}, "
            "but as cardinalities were given, X must hold codes, whole numbers from 0."
        )
    return numbers.astype(np.int64)


def declared_labels(frame: pd.DataFrame, table: DiscreteTable) -> tuple[tuple[str, ...], ...]:
    """Return the labels of `table`, read from `frame`, including categories that do not occur."""
    labels = list(table.labels)
    for i, dtype in enumerate(frame.dtypes):
        if not isinstance(dtype, pd.CategoricalDtype):
            continue
        own = tuple(label for label in labels[i] if label in MISSING_STATES)
        if len(dtype.categories) <= max(len(labels[i]) - len(own), 1):
            continue
        # Read a column with all categories, so that these are named and sorted as in any table.
        column = pd.Series(pd.Categorical(dtype.categories, dtype=dtype))
        alone = pd.DataFrame({"declared": column, "again": column})
        declared = read_table(alone, missing="drop", max_states=MAX_CARDINALITY - 1).labels[0]
        labels[i] = (*declared, *(label for label in own if label not in declared))
    return tuple(labels)
