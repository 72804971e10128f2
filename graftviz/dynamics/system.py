"""Linear dynamical systems x(t + 1) = A x(t) + c: forecasts, and errors of a learned system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigs

from graftviz.data.series.series import TimeSeries, Transitions, centred
from graftviz.data.table import default_names
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

_LARGEST_FACTORISED = 1000  # for more series, only the largest eigenvalues are computed
_EIGENVALUES = 6  # more than one, since several may have nearly the same absolute value
_BLOCKS = 20  # of the jackknife
_LONGEST_SEASON = 400  # rows
_FEWEST_SEASONS = 3  # in the training rows
_WEAKEST = 0.2  # autocorrelation of a season


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """Linear system of n series with a sparse transition matrix.

    Attributes
    ----------
    names : tuple of str
        Names of the n series.
    coefficients : scipy.sparse.csr_array, shape (n, n)
        A; row i holds the influences on series i, so that A[i, j] is that of j on i.
    intercept : float array, shape (n,), read-only
        c, in the units of the series; zero unless the learner centres the series.

    Examples
    --------
    >>> system.names[:3], system.coefficients.shape
    (('x0', 'x1', 'x2'), (8, 8))
    >>> system.parents(0), round(system.spectral_radius, 2)
    (array([1]), 0.9)
    """

    names: tuple[str, ...]
    coefficients: csr_array
    intercept: np.ndarray

    @classmethod
    def from_dense(cls, matrix: np.ndarray, names: Sequence[str] = ()) -> LinearSystem:
        """Return the system of a dense matrix; names default to x0, x1 and so on.

        Raises
        ------
        InputError
            When the matrix is not square, not finite, or does not fit the names.

        Examples
        --------
        >>> dynamics.LinearSystem.from_dense(np.array([[0.5, 0.0], [0.2, 0.5]])).coefficients.nnz
        3
        """
        dense = np.asarray(matrix, dtype=np.float64)
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not np.isfinite(dense).all():
            raise InputError(
                f"A transition matrix must be square and finite; got shape {dense.shape}."
            )
        all_names = tuple(names) or default_names(len(dense))
        if len(all_names) != len(dense):
            raise InputError(
                f"The matrix has {len(dense)} series, but there are {len(all_names)} names."
            )
        return cls(all_names, csr_array(dense), read_only(np.zeros(len(dense))))

    @property
    def n_series(self) -> int:
        """Number of series, n."""
        return len(self.names)

    @cached_property
    def matrix(self) -> np.ndarray:
        """A as a dense array, shape (n, n), read-only."""
        return read_only(self.coefficients.toarray())

    @cached_property
    def spectral_radius(self) -> float:
        """Largest absolute eigenvalue of A; if it exceeds 1, predictions grow without bound.

        Up to 1,000 series, all eigenvalues are computed, in O(n³); for more series, the largest
        ones by Arnoldi iteration, which only multiplies by A, or all if it does not converge.
        """
        if self.n_series > _LARGEST_FACTORISED:
            try:
                start = np.random.default_rng(0).standard_normal(self.n_series)
                return float(np.abs(eigs(self.coefficients, k=_EIGENVALUES, v0=start)[0]).max())
            except ArpackError:  # includes ArpackNoConvergence
                pass
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())

    def parents(self, node: int) -> np.ndarray:
        """Return the parents of series `node`, in ascending order."""
        start, end = self.coefficients.indptr[node : node + 2]
        return read_only(self.coefficients.indices[start:end].astype(np.int64))

    def checked_rows(self, values: np.ndarray) -> np.ndarray:
        """Return `values` as an array; raise an InputError unless it has a column per series."""
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_series:
            raise InputError(
                f"Forecasts of {self.n_series} series need an array of times × {self.n_series} "
                f"series; got shape {rows.shape}."
            )
        return rows

    def predict(self, values: np.ndarray, horizon: int = 1) -> np.ndarray:
        """Return predictions `horizon` time steps after each row of `values`.

        Parameters
        ----------
        values : float array, shape (rows, n)
        horizon : int
            At least 1.

        Returns
        -------
        float array, shape (rows, n)

        Raises
        ------
        InputError
            If the shape is another one, or `horizon` is not positive.

        Examples
        --------
        >>> system.predict(series.values[-1:], 3).shape
        (1, 8)
        """
        if horizon < 1:
            raise InputError(f"A prediction needs at least one step; got {horizon}.")
        predicted = self.checked_rows(values).T
        for _ in range(horizon):
            predicted = self.coefficients @ predicted + self.intercept[:, None]
        return predicted.T


def system_of_rows(
    names: tuple[str, ...],
    parents: Sequence[np.ndarray],
    coefficients: Sequence[np.ndarray],
    intercept: np.ndarray,
) -> LinearSystem:
    """Return the system whose row i has `coefficients[i]` at the ascending indices `parents[i]`."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in parents])])
    n = len(names)
    matrix = csr_array((np.concatenate(coefficients), np.concatenate(parents), starts), (n, n))
    return LinearSystem(names, matrix, read_only(intercept))


def predict(system: LinearSystem, values: TimeSeries | np.ndarray, horizon: int = 1) -> np.ndarray:
    """Return forecasts of rows `horizon`, `horizon` + 1, … of `values`, each `horizon` steps ahead.

    A forecast uses only the row from which it starts. For the time after the last row use
    ``system.predict(values[-1:], horizon)``.

    Parameters
    ----------
    system : LinearSystem
    values : TimeSeries, or float array of shape (rows, n)
        One row per time; more than `horizon`.
    horizon : int
        Time steps ahead, at least 1.

    Returns
    -------
    float array, shape (rows - horizon, n), read-only
        Row t is the forecast of ``values[t + horizon]``.

    Raises
    ------
    InputError
        When there are too few rows, or the number of series differs from the system.

    Examples
    --------
    >>> dynamics.predict(system, series.values, 24).shape
    (476, 8)
    """
    if not isinstance(system, LinearSystem):
        raise InputError(
            "The first argument must be a LinearSystem, such as the attribute system of a result, "
            f"not an object of type {type(system).__name__}."
        )
    values = values.values if isinstance(values, TimeSeries) else values
    observed = system.checked_rows(values)
    reach = len(observed) - 1
    if not isinstance(horizon, int | np.integer) or not 1 <= horizon <= reach:
        raise InputError(
            f"{len(observed)} rows allow forecasts of 1 to {reach} steps; got {horizon}. For the "
            "time after the last row use system.predict(values[-1:], horizon)."
        )
    return read_only(np.ascontiguousarray(system.predict(observed[:-horizon], horizon)))


def residual_deviation(system: LinearSystem, values: np.ndarray, horizon: int = 1) -> np.ndarray:
    """Return the root mean square error of the forecasts of each series.

    For an error band, compute it on the training rows and use the forecast ± 2 deviations: for
    normal errors, the band contains about 95 % of these rows. The band has the same width at all
    times, and may be too narrow for held-out rows. The deviation is computed for each horizon,
    since there is no simple rule for its growth. The mean error is not subtracted, because the band
    has to cover it as well.

    Parameters
    ----------
    system : LinearSystem
    values : float array, shape (rows, n)
    horizon : int

    Returns
    -------
    float array, shape (n,), read-only
        In the units of the series.

    Examples
    --------
    >>> dynamics.residual_deviation(system, series.values).round(1)
    array([1. , 1. , 0.9, 1. , 1. , 1. , 1. , 1. ])
    """
    errors = predict(system, values, horizon) - np.asarray(values)[horizon:]
    return read_only(np.sqrt(np.mean(errors**2, axis=0)))


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
    values = centred(train.values)
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


def coefficient_deviations(
    system: LinearSystem, train: TimeSeries, *, centre: bool = False
) -> np.ndarray:
    """Return the standard error of every coefficient, in the order of ``coefficients.data``.

    They are those of least squares given the parents: s² (X′ᵀX′)⁻¹ with the residual variance s²
    of the series. The choice of the parents and penalties are not taken into account, so that they
    are rather too small. nan where there are too few rows.

    Parameters
    ----------
    system : LinearSystem
    train : TimeSeries
        Rows that the system was learned from.
    centre : bool
        Whether the system has an intercept.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=2)).system
    >>> errors = dynamics.coefficient_deviations(learned, series)
    >>> errors.shape == learned.coefficients.data.shape, bool(errors.max() < 0.1)
    (True, True)
    """
    moves = train.transitions()
    residuals = moves.after - system.predict(moves.before)
    before = moves.before - moves.before.mean(axis=0) if centre else moves.before
    found = np.full(system.coefficients.nnz, np.nan)
    inverses: dict[bytes, np.ndarray] = {}
    for i in range(system.n_series):
        start, end = system.coefficients.indptr[i : i + 2]
        parents = system.coefficients.indices[start:end]
        freedom = len(before) - len(parents) - centre
        if not len(parents) or freedom < 1:
            continue
        key = parents.tobytes()
        if key not in inverses:
            sizes = np.linalg.norm(before[:, parents], axis=0)
            sizes[sizes == 0.0] = 1.0
            rows = before[:, parents] / sizes
            inverse = np.linalg.pinv(rows.T @ rows, hermitian=True)
            # Dense rows share theirs.
            inverses = {key: np.maximum(np.diag(inverse), 0.0) / sizes**2}
        variance = float(residuals[:, i] @ residuals[:, i]) / freedom
        found[start:end] = np.sqrt(variance * inverses[key])
    return found
