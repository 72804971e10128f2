"""Regularisation path: order in which coefficients enter a regression as λ decreases.

The order requires an exact solver: after gradient descent, coefficients whose optimum is zero may
be slightly different from zero.
"""

from __future__ import annotations

import numpy as np

from graftviz.dynamics.coordinate import CoordinateDescent
from graftviz.dynamics.sgd import GradientDescent, Regressions

Solver = GradientDescent | CoordinateDescent

_LOWEST = 1e-4  # end of the path for λ = 0, which a geometric sequence cannot reach


def solve_path(solver: Solver, targets: np.ndarray, count: int) -> tuple[Regressions, np.ndarray]:
    """Solve for `count` values of λ, each starting from the previous solution.

    The values are a geometric sequence from 1, above which all coefficients of standardised series
    are zero, to λ of the solver.

    Parameters
    ----------
    solver : GradientDescent or CoordinateDescent
    targets : float array, shape (rows, b)
    count : int
        1 for only the λ of the solver.

    Returns
    -------
    Regressions
        At the last λ; passes and work are totals of the path.
    float array, shape (b, n)
        Priority of each coefficient: higher if it entered earlier, then if it is larger; 0 for
        zero coefficients.
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
    priorities = np.where(sizes > 0.0, seniority + 0.5 * shares, 0.0)
    total = last._replace(passes=last.passes + passes, work=last.work + work)
    return total, priorities
