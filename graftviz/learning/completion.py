"""`read_table` for every kind of source, and missing values drawn by stochastic EM.

Cells are first drawn from the observed values of their variable. Then a model is learned from the
completed table, and the cells are drawn again given the other cells of their row, by Gibbs
sampling that continues from the last draw; this is repeated. Each cell is drawn once, so the pair
counts of the completed table estimate the expected counts under the model without bias, and the
table is as good as any other: with the same rows, for all learners, scores and metrics.

All rows contribute to the model, so rows that are held out later are not independent of the others
in their drawn cells. To measure prediction, hold out rows before, and complete the rest.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import BinaryIO, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from graftviz.data.coding import BINS, MAX_STATES, Missing, TableOptions
from graftviz.data.reading.raw import ArrowTable
from graftviz.data.reading.reading import MAX_BYTES, read_rows
from graftviz.data.table import DiscreteTable
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.run import learn_network
from graftviz.learning.scores.pseudo_likelihood import conditional
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

MOST_VARIABLES = 200
# Models learned. The more values are missing, the longer the first, independent draws matter.
_LEAST_ROUNDS = 3
_ROUNDS_PER_SHARE = 40
_SWEEPS = 20  # draws of all cells for each model


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

    Labels and missing values follow the rules of :mod:`graftviz.data.labels`. Messages name the
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
    missing : {"reject", "drop", "state", "em"}
        Raise an error for missing values, drop the rows that have some, or use a separate state,
        labelled ``"missing"`` and coded last. ``"em"`` draws missing values from a model of all
        variables given the observed values of their rows, for up to 200 variables; as the model is
        that of all rows, hold out rows before to measure prediction. It assumes that values are
        missing at random; with `like` it drops incomplete rows.
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
        :func:`graftviz.data.reading.delimited.first_line_has_names`.
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
    if header not in (True, False, "auto"):
        raise InputError(f"Option header must be True, False or 'auto', not {quoted(header)}.")
    options = TableOptions(
        missing=missing,
        continuous=continuous,
        bins=bins,
        max_states=max_states,
        min_count=min_count,
        header="auto" if header == "auto" else "yes" if header else "no",
    )
    found = read_rows(
        source,
        options,
        weights=weights,
        like=like,
        unseen=unseen,
        max_bytes=max_bytes,
        name=name,
    )
    if found.observed is None:
        return found.table
    return completed(found.table, found.observed, found.title)


def completed(
    table: DiscreteTable, observed: np.ndarray, title: str = "The table", *, seed: int = 0
) -> DiscreteTable:
    """Return a table with its missing values drawn from a model given the observed ones.

    Parameters
    ----------
    table : DiscreteTable
        Its codes are arbitrary where values are missing.
    observed : bool array, shape (variables, rows)
        Where values are known.
    title : str
        Source name for messages.
    seed : int

    Raises
    ------
    InputError
        For more than `MOST_VARIABLES` variables.
    """
    if table.n_variables > MOST_VARIABLES:
        raise InputError(
            f"{title}: missing values are completed by EM for up to {MOST_VARIABLES} variables, "
            f'and there are {table.n_variables:,}; drop the rows with gaps (missing="drop"), or '
            'make missing a separate state (missing="state").'
        )
    generator, gaps = np.random.default_rng(seed), ~observed
    codes = _filled(table.codes, gaps)
    cells = [(i, np.flatnonzero(rows)) for i, rows in enumerate(gaps) if rows.any()]
    complete = DiscreteTable(codes, table.names, table.labels, weights=table.weights)
    # Drawn cells repeat what the model says. An indirect dependence is known from the rows where
    # both variables and the one between them are observed: so many rows count in the tests.
    known = float(observed.mean()) ** 3
    for _ in range(_LEAST_ROUNDS + math.ceil(_ROUNDS_PER_SHARE * float(gaps.mean()))):
        counted = replace(complete, weights=known * complete.row_weights)
        model = learn_network(counted, BestChoice(), seed=seed).model
        for _ in range(_SWEEPS):
            for i, rows in cells:
                chances = conditional(model, codes[:, rows], i).cumsum(axis=1)
                draws = generator.random((len(rows), 1)) * chances[:, -1:]
                codes[i, rows] = (draws > chances[:, :-1]).sum(axis=1)
        complete = replace(complete, codes=codes)
    note = (
        f"{title}: {int(gaps.sum()):,} missing values ({gaps.mean():.1%}) were drawn from a model "
        "given the observed values of their rows (EM)."
    )
    return replace(complete, warnings=(*table.warnings, note))


def _filled(codes: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Return codes with every missing one drawn from the observed codes of its variable."""
    found, generator = np.array(codes), np.random.default_rng(0)
    for i, rows in enumerate(gaps):
        if rows.any():
            found[i, rows] = generator.choice(codes[i, ~rows], int(rows.sum()))
    return found
