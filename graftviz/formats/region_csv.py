"""A growing region as CSV: one row per variable, in order of addition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from graftviz.regions import RegionStep
from graftviz.table.csv_text import csv_text


def region_csv(
    names: Sequence[str],
    labels: Sequence[str],
    steps: Iterable[tuple[RegionStep, np.ndarray]],
) -> str:
    """Return a region as CSV.

    Parameters
    ----------
    names : sequence of str
        Of all variables of the model.
    labels : sequence of str
        States of the query.
    steps : iterable of (RegionStep, array)
        Each step with the marginal of the query in the region so far.

    Returns
    -------
    str
        Columns ``size``, ``variable``, ``bound`` (1: vacuous), ``coefficient``, and one column
        ``p(label)`` for each state of the query.
    """
    header = ["size", "variable", "bound", "coefficient", *(f"p({label})" for label in labels)]
    rows = (
        [
            step.size,
            names[step.added],
            float(step.bound),
            float(step.coefficient),
            *marginal.tolist(),
        ]
        for step, marginal in steps
    )
    return csv_text([header, *rows])
