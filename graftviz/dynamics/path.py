"""A path of λ: which coefficients enter a regression first, as the penalty gets weaker.

Only an exact solver can tell: after gradient descent, a coefficient that ought to be zero may by
chance be a little off it.
"""

from __future__ import annotations

import numpy as np

from graftviz.dynamics.coordinate import CoordinateDescent
from graftviz.dynamics.sgd import GradientDescent, Regressions

Solver = GradientDescent | CoordinateDescent

_LOWEST = 1e-4  # where the path ends for λ = 0, which no geometric sequence reaches


def along_path(solver: Solver, targets: np.ndarray, count: int) -> tuple[Regressions, np.ndarray]:
    """Solve for `count` values of λ, each from where the one before has ended.

    λ goes down evenly in its logarithm from 1, above which no coefficient of standardised series
    differs from zero, to the solver's own.

    Parameters
    ----------
    solver : GradientDescent or CoordinateDescent
    targets : float array, shape (rows, b)
    count : int
        1 for the solver's own λ alone.

    Returns
    -------
    Regressions
        At the last λ; passes and work are those of the whole path.
    float array, shape (b, n)
        How much each coefficient should count: those that entered earlier more than all that
        entered later, among these the larger ones more, and zeros nothing.
    """
    start = max(1.0, solver.lam)
    lams = np.geomspace(start, max(solver.lam, _LOWEST), count)[:-1].tolist()
    shape = (targets.shape[1], solver.inputs.shape[1])
    weights, seniority = np.zeros(shape), np.zeros(shape)
    passes, work = np.zeros(shape[0], dtype=np.int64), 0
    for left, lam in zip(range(count, 1, -1), lams, strict=True):
        found = solver._replace(lam=lam).solve(targets, weights)
        weights = found.weights
        seniority = np.where((seniority == 0.0) & (weights != 0.0), left, seniority)
        passes, work = passes + found.passes, work + found.work
    last = solver.solve(targets, weights)
    sizes = np.abs(last.weights)
    largest = sizes.max(axis=1, keepdims=True)
    shares = sizes / np.where(largest > 0.0, largest, 1.0)
    counted = np.where(sizes > 0.0, seniority + 0.5 * shares, 0.0)
    total = last._replace(passes=last.passes + passes, work=last.work + work)
    return total, counted
