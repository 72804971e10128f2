"""One door for all sources: :func:`read_table`."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd

from graftviz.errors import InputError
from graftviz.table.arrow import numeric_column
from graftviz.table.coding import Rules, code_like, code_table
from graftviz.table.discrete import MAX_CARDINALITY, DiscreteTable
from graftviz.table.files import read_file
from graftviz.table.raw import RawTable, check_shape, from_array, from_frame
from graftviz.wording import quoted

MAX_STATES = 32
MAX_BYTES = 100_000_000
BINS = 4


def read_table(
    source: str | os.PathLike[str] | BinaryIO | pd.DataFrame | np.ndarray,
    *,
    missing: Literal["reject", "drop", "state"] = "reject",
    max_states: int = MAX_STATES,
    continuous: Literal["reject", "bin"] = "reject",
    bins: int = BINS,
    like: DiscreteTable | None = None,
    max_bytes: int = MAX_BYTES,
    header: bool | Literal["auto"] = "auto",
    name: str | None = None,
) -> DiscreteTable:
    """Read, check and code a table.

    Labels follow the rules of :mod:`graftviz.table.labels`, which also tells what counts as
    missing. Messages name the line of a delimited file (counted from 1, the line of names
    included), otherwise the row (counted from 1).

    Parameters
    ----------
    source : path, binary file, DataFrame or two-dimensional array
        Files are CSV (``.csv``, ``.tsv``, ``.txt``, ``.data``: comma, semicolon or tab, UTF-8) or
        parquet (``.parquet``, ``.pq``). Arrays have the shape (rows, variables) and name their
        variables x0, x1, …
    missing : {"reject", "drop", "state"}
        Refuse missing values, drop the rows that have some, or give them a state of their own,
        labelled ``"missing"`` and coded last.
    max_states : int
        A column with more different values counts as continuous.
    continuous : {"reject", "bin"}
        Refuse continuous columns, or divide them into quantiles labelled like ``"< 0.1"``,
        ``"[0.1, 2.3)"`` and ``">= 2.3"``.
    bins : int
        How many quantiles, 2 … 256.
    like : DiscreteTable, optional
        Code exactly as this (training) table is coded: its columns in its order, its labels, its
        bins. Columns without names are taken in the order they stand.
    max_bytes : int
        Larger files are refused before they are read; parquet files also when they unpack to more,
        or have more cells than a quarter of this. Tables that would take more than three times as
        much memory are refused while they are read.
    header : bool or "auto"
        Whether the first line of a delimited file holds names; "auto" decides as told in
        :func:`graftviz.table.header.first_line_has_names`.
    name : str, optional
        File name of an upload, for its suffix and for messages; default: the object's own.

    Returns
    -------
    DiscreteTable
        At least two variables and two rows (with `like`: one row). Constant columns are kept as
        variables of one state, with a warning.

    Raises
    ------
    InputError
        For anything that cannot be used: what, where and what to do.
    """
    rules = checked_rules(missing, max_states, continuous, bins)
    has_header = checked_header(header)
    _check_count("max_bytes", max_bytes, 1, 2**62)
    expected = None if like is None else like.names
    raw = _read_raw(source, name, max_bytes, has_header, expected)
    check_shape(raw, least_rows=2 if like is None else 1)
    raw = raw._replace(columns=tuple(numeric_column(raw, i) for i in range(len(raw.names))))
    return code_table(raw, rules) if like is None else code_like(raw, like, rules)


def checked_rules(
    missing: Literal["reject", "drop", "state"],
    max_states: int,
    continuous: Literal["reject", "bin"],
    bins: int,
) -> Rules:
    """Return the rules of coding for some options of :func:`read_table`.

    Raises
    ------
    InputError
        For an option that is out of range.
    """
    _check_choice("missing", missing, ("reject", "drop", "state"))
    _check_choice("continuous", continuous, ("reject", "bin"))
    _check_count("max_states", max_states, 2, MAX_CARDINALITY - 1)
    _check_count("bins", bins, 2, 256)
    return Rules(missing, max_states, continuous, bins)


def checked_header(header: bool | str) -> bool | None:
    """Return whether a first line holds names; None for "auto".

    Raises
    ------
    InputError
        For any other option.
    """
    _check_choice("header", header, (True, False, "auto"))
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
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        return read_file(source, name, max_bytes, header, expected)
    raise InputError(
        f"A table cannot be read from a {type(source).__name__}; give a path, a file opened in "
        "binary mode, a DataFrame or a two-dimensional array."
    )


def _check_choice(option: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise InputError(f"Option {option} must be one of {listed}, not {quoted(value)}.")


def _check_count(option: str, value: object, least: int, most: int) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= int(str(value)) <= most:
        raise InputError(
            f"Option {option} must be a whole number from {least} to {most}, not {quoted(value)}."
        )
