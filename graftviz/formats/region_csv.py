"""A growing region as CSV: one row per variable, in order of addition."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import numpy as np

from graftviz.regions import RegionStep


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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["size", "variable", "bound", "coefficient", *(f"p({label})" for label in labels)]
    )
    for step, marginal in steps:
        values = (step.bound, step.coefficient, *marginal.tolist())
        writer.writerow([step.size, names[step.added], *(f"{value:.12g}" for value in values)])
    return text.getvalue()
