"""Coordinate descent for ℓ₁-penalised regressions, an exact alternative to gradient descent.

It minimises ½ mean(e²) + λ‖w‖₁, like scikit-learn's ``Lasso(alpha=λ, fit_intercept=False)``, from
the moments XᵀX / N and Xᵀy / N. The moments cost O(n² N) once; a sweep then costs O(n) per
coefficient that changes. The method is quadratic in n and unsuitable for the largest systems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.dynamics.sgd import Regressions
from graftviz.utils.compiling import kernel


class CoordinateDescent(NamedTuple):
    """Coordinate descent solver for targets on fixed inputs.

    Attributes
    ----------
    inputs : float array, shape (rows, n)
    moments : float array, shape (n, n)
        XᵀX / N.
    lam : float
        λ.
    tolerance : float
        Maximum violation of the optimality conditions: the amount by which |∂/∂w_j ½ mean(e²)|
        exceeds λ if w_j = 0, or differs from λ otherwise.
    max_passes : int
    """

    inputs: np.ndarray
    moments: np.ndarray
    lam: float
    tolerance: float
    max_passes: int

    def solve(self, targets: np.ndarray, start: np.ndarray | None = None) -> Regressions:
        """Regress each column of `targets`, shape (rows, b), on the inputs.

        The initial coefficients are `start`, shape (b, n), or zero.
        """
        rows, n = self.inputs.shape
        products = np.ascontiguousarray((self.inputs.T @ targets).T) / rows
        b = products.shape[0]
        weights = np.zeros((b, n)) if start is None else start.copy()
        passes = np.zeros(b, dtype=np.int64)
        converged = np.zeros(b, dtype=np.bool_)
        work = rows * n * b
        for i in range(b):
            passes[i], violation, updates = descend_coordinates(
                self.moments, products[i], weights[i], self.lam, self.tolerance, self.max_passes
            )
            converged[i] = violation <= self.tolerance
            work += int(updates)
        return Regressions(weights, passes, converged, work)


def coordinate_descent(
    inputs: np.ndarray, lam: float, tolerance: float, max_passes: int
) -> CoordinateDescent:
    """Return the solver for `inputs`, shape (rows, n), after computing their moments."""
    moments = inputs.T @ inputs / len(inputs)
    return CoordinateDescent(inputs, moments, lam, tolerance, max_passes)


@kernel
def descend_coordinates(moments, products, weights, lam, tolerance, max_passes):
    """Minimise ½ wᵀGw − qᵀw + λ‖w‖₁ in place; return sweeps, violation and updated entries.

    Sweeps over all coefficients alternate with sweeps over the non-zero ones until the latter have
    converged.
    """
    n = weights.size
    gradient = products - moments @ weights  # of −½ mean(e²)
    sweeps, work = 0, 0
    violation = np.inf
    only_active = False
    while sweeps < max_passes:
        largest = 0.0
        for j in range(n):
            if only_active and weights[j] == 0.0:
                continue
            curvature = moments[j, j]
            if curvature == 0.0:
                continue
            pulled = gradient[j] + curvature * weights[j]
            moved = (max(pulled - lam, 0.0) + min(pulled + lam, 0.0)) / curvature
            step = moved - weights[j]
            if step != 0.0:
                weights[j] = moved
                largest = max(largest, abs(step) * curvature)
                work += n
                for k in range(n):
                    gradient[k] -= step * moments[j, k]
        sweeps += 1
        if largest > 0.1 * tolerance:
            only_active = True
            continue
        if only_active:
            only_active = False
            continue
        gradient = products - moments @ weights
        violation = 0.0
        for j in range(n):
            if weights[j] == 0.0:
                violation = max(violation, abs(gradient[j]) - lam)
            else:
                violation = max(violation, abs(gradient[j] - lam * np.sign(weights[j])))
        if violation <= tolerance:
            break
    return sweeps, violation, work
