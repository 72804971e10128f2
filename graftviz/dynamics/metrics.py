"""How near a learned system comes to the truth, and to what happened next (thesis, section 2.3)."""

from __future__ import annotations

import numpy as np

from graftviz.dynamics.forecast import several_steps
from graftviz.dynamics.series import TimeSeries, Transitions
from graftviz.dynamics.system import LinearSystem
from graftviz.errors import InputError


def coefficient_error(learned: LinearSystem, truth: LinearSystem) -> float:
    """Return CoeffRecError = ‖Ā − A‖_F / ‖A‖_F (equation 2.10)."""
    _check_same(learned, truth)
    gap = (learned.coefficients - truth.coefficients).data
    return _ratio(gap, truth.coefficients.data)


def prediction_error(
    system: LinearSystem, data: TimeSeries | Transitions, *, steps: int = 1
) -> float:
    """Return PredError = ‖predicted − seen‖_F / ‖seen‖_F, `steps` time steps ahead (eq. 2.11).

    Transitions hold what came one and two steps later, and no more.

    Raises
    ------
    InputError
        When the data are of other series, or do not reach that far.
    """
    if len(data.names) != system.n_series:
        raise InputError(
            f"The system is of {system.n_series} series, the data of {len(data.names)}."
        )
    reach = data.n_rows - 1 if isinstance(data, TimeSeries) else 2
    if not 1 <= steps <= reach:
        raise InputError(f"These data allow predictions of 1 to {reach} steps; asked were {steps}.")
    if isinstance(data, TimeSeries):
        seen, expected = data.values[steps:], several_steps(system, data.values, steps)
    else:
        seen = data.after if steps == 1 else data.later
        expected = system.predict(data.before[: len(seen)], steps)
    return _ratio(expected - seen, seen)


def structure_recall(learned: LinearSystem, truth: LinearSystem) -> float:
    """Return StructRec: of the true parents of a series, the share found, averaged over series.

    Series without parents in truth have no such share and are left out.
    """
    return _mean_share(truth, learned)


def structure_precision(learned: LinearSystem, truth: LinearSystem) -> float:
    """Return the share of the parents found that are true, averaged over series that have any."""
    return _mean_share(learned, truth)


def _mean_share(wanted: LinearSystem, given: LinearSystem) -> float:
    """Return how much of each row of `wanted` is in `given`, on average; NaN if all are empty."""
    _check_same(given, wanted)
    shares = [
        np.isin(parents, given.parents(i)).mean()
        for i in range(wanted.n_series)
        if len(parents := wanted.parents(i))
    ]
    return float(np.mean(shares)) if shares else float("nan")


def _check_same(learned: LinearSystem, truth: LinearSystem) -> None:
    if learned.n_series != truth.n_series:
        raise InputError(
            f"The systems differ in size: {learned.n_series} and {truth.n_series} series."
        )


def _ratio(gap: np.ndarray, whole: np.ndarray) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(gap)) / size if size > 0.0 else float("nan")
