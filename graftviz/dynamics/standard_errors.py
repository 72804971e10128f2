"""Standard errors of the coefficients of a learned system."""

from __future__ import annotations

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.system import LinearSystem


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
            rows = before[:, parents]
            inverse = np.linalg.pinv(rows.T @ rows, hermitian=True)
            inverses = {key: np.maximum(np.diag(inverse), 0.0)}  # dense rows share theirs
        variance = float(residuals[:, i] @ residuals[:, i]) / freedom
        found[start:end] = np.sqrt(variance * inverses[key])
    return found
