"""Errors of a learned system, in coefficients, structure and predictions (thesis, section 2.3)."""

from __future__ import annotations

import numpy as np

from graftviz.data.series.series import TimeSeries, Transitions
from graftviz.dynamics.forecast import predict
from graftviz.dynamics.system import LinearSystem
from graftviz.utils.errors import InputError

_BLOCKS = 20  # of the jackknife


def coefficient_error(learned: LinearSystem, truth: LinearSystem) -> float:
    """Return CoeffRecError = ‖Ā − A‖_F / ‖A‖_F (equation 2.10).

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.Dense()).system
    >>> round(dynamics.coefficient_error(learned, system), 2)
    0.12
    """
    _check_same(learned, truth)
    gap = (learned.coefficients - truth.coefficients).data
    return relative_error(gap, truth.coefficients.data)


def prediction_error(
    system: LinearSystem, data: TimeSeries | Transitions, *, horizon: int = 1
) -> float:
    """Return PredError = ‖predicted − observed‖_F / ‖observed‖_F, `horizon` steps ahead (eq. 2.11).

    Transitions allow at most two steps.

    Raises
    ------
    InputError
        When the number of series differs from the system, or the data allow fewer steps.

    Examples
    --------
    >>> round(dynamics.prediction_error(system, series), 2)
    0.53
    """
    if len(data.names) != system.n_series:
        raise InputError(f"The system has {system.n_series} series, the data {len(data.names)}.")
    reach = data.n_rows - 1 if isinstance(data, TimeSeries) else 2
    if not 1 <= horizon <= reach:
        raise InputError(f"These data allow predictions of 1 to {reach} steps; got {horizon}.")
    if isinstance(data, TimeSeries):
        observed, expected = data.values[horizon:], predict(system, data.values, horizon)
    else:
        observed = data.after if horizon == 1 else data.later
        expected = system.predict(data.before[: len(observed)], horizon)
    return relative_error(expected - observed, observed)


def prediction_deviation(system: LinearSystem, data: TimeSeries) -> float:
    """Return the standard error of :func:`prediction_error` one step ahead.

    By the jackknife over blocks of consecutive rows, whose errors may depend on each other; nan
    for fewer than two rows to predict.

    Examples
    --------
    >>> 0.0 < dynamics.prediction_deviation(system, series) < 0.05
    True
    """
    observed = data.values[1:]
    return jackknife_error(predict(system, data.values, 1) - observed, observed)


def jackknife_error(gap: np.ndarray, observed: np.ndarray) -> float:
    """Return the standard error of ‖gap‖ / ‖observed‖ by leaving out one block of rows at a time.

    Parameters
    ----------
    gap, observed : float arrays, shape (rows, n)
    """
    blocks = min(_BLOCKS, len(gap))
    sums = np.array([(gap**2).sum(axis=1), (observed**2).sum(axis=1)])
    if blocks < 2 or not sums[1].sum() > 0.0:
        return float("nan")
    starts = np.linspace(0, len(gap), blocks, endpoint=False).astype(np.int64)
    rest = sums.sum(axis=1, keepdims=True) - np.add.reduceat(sums, starts, axis=1)
    ratios = np.sqrt(np.maximum(rest[0], 0.0) / np.maximum(rest[1], np.finfo(float).tiny))
    return float(np.sqrt((blocks - 1) / blocks * ((ratios - ratios.mean()) ** 2).sum()))


def structure_recall(learned: LinearSystem, truth: LinearSystem) -> float:
    """Return StructRec: the share of the true parents of a series found, averaged over series.

    Series without true parents are ignored.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=2)).system
    >>> round(dynamics.structure_recall(learned, system), 2)
    0.89
    """
    return _mean_share(truth, learned)


def structure_precision(learned: LinearSystem, truth: LinearSystem) -> float:
    """Return the share of the parents found that are true, averaged over series with parents.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=2)).system
    >>> round(dynamics.structure_precision(learned, system), 2)
    0.69
    """
    return _mean_share(learned, truth)


def _mean_share(reference: LinearSystem, other: LinearSystem) -> float:
    """Return the mean share of the parents in `reference` that are parents in `other`.

    The result is NaN if no series has parents in `reference`.
    """
    _check_same(other, reference)
    shares = [
        np.isin(parents, other.parents(i)).mean()
        for i in range(reference.n_series)
        if len(parents := reference.parents(i))
    ]
    return float(np.mean(shares)) if shares else float("nan")


def _check_same(learned: LinearSystem, truth: LinearSystem) -> None:
    if learned.n_series != truth.n_series:
        raise InputError(
            f"The systems differ in size: {learned.n_series} and {truth.n_series} series."
        )


def relative_error(gap: np.ndarray, whole: np.ndarray) -> float:
    """Return ‖gap‖ / ‖whole‖; nan if the whole is zero."""
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(gap)) / size if size > 0.0 else float("nan")
