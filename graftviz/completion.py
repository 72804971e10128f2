"""Missing values drawn from a model of all variables: a stochastic EM algorithm.

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
from dataclasses import replace

import numpy as np

from graftviz.errors import InputError
from graftviz.learners.best_choice import BestChoice
from graftviz.runs import learn
from graftviz.scores.pseudo_likelihood import conditional
from graftviz.table import AvailableTable, DiscreteTable

MOST_VARIABLES = 200
# Models learned. The more values are missing, the longer the first, independent draws matter.
_LEAST_ROUNDS = 3
_ROUNDS_PER_SHARE = 20
_SWEEPS = 20  # draws of all cells for each model


def completed(table: AvailableTable, *, title: str = "The table", seed: int = 0) -> DiscreteTable:
    """Return a table with its missing values drawn from a model given the observed ones.

    Parameters
    ----------
    table : AvailableTable
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
            f'and there are {table.n_variables:,}; use missing="available", or drop the rows '
            '(missing="drop").'
        )
    generator = np.random.default_rng(seed)
    gaps, codes = ~table.observed, np.array(table.codes)
    cells = [(i, np.flatnonzero(rows)) for i, rows in enumerate(gaps) if rows.any()]
    complete = DiscreteTable(codes, table.names, table.labels, weights=table.weights)
    for _ in range(_LEAST_ROUNDS + math.ceil(_ROUNDS_PER_SHARE * float(gaps.mean()))):
        model = learn(complete, BestChoice(), seed=seed).model
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
