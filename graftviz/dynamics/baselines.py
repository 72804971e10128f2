"""Predictions without a model: persistence, and the value one season earlier."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.metrics import jackknife_error, relative_error

_LONGEST_SEASON = 400  # rows
_FEWEST_SEASONS = 3  # in the training rows
_WEAKEST = 0.2  # autocorrelation of a season


class Baseline(NamedTuple):
    """Errors of predicting every value by the one `lag` rows earlier.

    Attributes
    ----------
    lag : int
        1: persistence.
    pred_error_train, pred_error_test : float
        PredError on both parts; nan where no row has a predecessor.
    standard_error : float
        Of the error on the held-out rows.

    Examples
    --------
    >>> found = dynamics.baseline(*series.split(0.2), lag=1)
    >>> found.lag, found.standard_error < 0.1
    (1, True)
    """

    lag: int
    pred_error_train: float
    pred_error_test: float
    standard_error: float


def baseline(train: TimeSeries, test: TimeSeries, lag: int) -> Baseline:
    """Return the errors of a prediction by the value `lag` rows earlier.

    Predictions of held-out rows may use the last training rows. The first held-out row is left
    out, as it is by the learners.

    Parameters
    ----------
    train, test : TimeSeries
        Rows that follow one another.
    lag : int
        At least 1.

    Examples
    --------
    >>> train, test = series.split(0.2)
    >>> learned = dynamics.learn(train, dynamics.Dense()).system
    >>> dynamics.prediction_error(learned, test) < dynamics.baseline(train, test, 1).pred_error_test
    True
    """
    values = np.concatenate([train.values, test.values])
    first = max(train.n_rows + 1, lag)
    gap, observed = values[first:] - values[first - lag : len(values) - lag], values[first:]
    own = train.values
    return Baseline(
        lag,
        relative_error(own[lag:] - own[:-lag], own[lag:]),
        relative_error(gap, observed),
        jackknife_error(gap, observed),
    )


def season(train: TimeSeries) -> int | None:
    """Return the lag, of at least 2, with the largest mean autocorrelation of the training rows.

    None if there are too few rows, or no lag has a clear one that is larger than that of its
    neighbours: without a season, autocorrelation only decreases.

    Examples
    --------
    >>> hours = np.arange(200)[:, None]
    >>> dynamics.season(dynamics.TimeSeries.from_array(np.sin(2 * np.pi * hours / 24)))
    24
    """
    most = min(_LONGEST_SEASON, train.n_rows // _FEWEST_SEASONS)
    values = train.values - train.values.mean(axis=0)
    spread = (values**2).sum(axis=0)
    varying = spread > 0.0
    if most < 3 or not varying.any():
        return None
    values, spread = values[:, varying], spread[varying]
    size = 1 << (2 * len(values) - 1).bit_length()
    power = np.abs(np.fft.rfft(values, size, axis=0)) ** 2
    products = np.fft.irfft(power, size, axis=0)[: most + 1]
    mean = (products / spread).mean(axis=1)
    peaks = [
        k for k in range(2, most) if mean[k] > max(_WEAKEST, mean[k - 1]) and mean[k] >= mean[k + 1]
    ]
    return max(peaks, key=lambda k: mean[k]) if peaks else None
