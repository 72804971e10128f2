"""Linear dynamical systems x(t + 1) = A x(t) + c."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigs

from graftviz.data.table import default_names
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

_LARGEST_FACTORISED = 1000  # for more series, only the largest eigenvalues are computed
_EIGENVALUES = 6  # more than one, since several may have nearly the same absolute value


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
