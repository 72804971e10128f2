"""Solvers of many ℓ₁-penalised regressions on the same inputs.

Every regression minimises ½ mean(e²) + λ‖w‖₁ over the rows, e = y − w·x: by stochastic gradient
descent, or exactly by coordinate descent, for one λ or along a path of decreasing λ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import kernel

_LOWEST = 1e-4  # end of the path for λ = 0, which a geometric sequence cannot reach


class Regressions(NamedTuple):
    """Solutions of the regressions of b targets.

    Attributes
    ----------
    weights : float array, shape (b, n)
    passes : int array, shape (b,)
        Passes over all rows (gradient descent) or all inputs (coordinate descent).
    converged : bool array, shape (b,)
    work : int
        Number of coefficient updates.
    """

    weights: np.ndarray
    passes: np.ndarray
    converged: np.ndarray
    work: int


class GradientDescent(NamedTuple):
    """Stochastic gradient descent solver for targets on fixed inputs (thesis, algorithm 3).

    Attributes
    ----------
    inputs : float array, shape (rows, n), C-contiguous
    lam : float
        λ.
    step : float
        γ₀ times the mean of ‖x‖².
    decay : float
        μ: curvature in the step size; larger values decrease it faster.
    tolerance : float
    max_passes : int
    seed : int
        Seed of the orders of rows.
    penalty : {"proximal", "subgradient"}

    Notes
    -----
    The rows are processed one at a time, in a new random order for every pass that is the same for
    all regressions. All regressions process a row together, so that it is read from memory once.

    - **Step size**: γ_t = γ₀ / (1 + γ₀ μ t) after t rows, where γ₀ is `step` divided by the mean of
      ‖x‖², and at most 1 / ‖x‖² of the current row, the step that fits this row exactly.
    - **Penalty**: after each gradient step, every coefficient is moved by γ_t λ towards zero, at
      most to zero (a proximal step). With ``penalty="subgradient"``, as in the thesis, γ_t λ
      sign(w) is subtracted together with the gradient; it overshoots, so that hardly any
      coefficient is zero.
    - **Convergence**: a regression ends when a pass has changed its coefficients by at most
      `tolerance` times their size, in ℓ₁ norms.
    """

    inputs: np.ndarray
    lam: float
    step: float
    decay: float
    tolerance: float
    max_passes: int
    seed: int
    penalty: str = "proximal"

    def solve(self, targets: np.ndarray, start: np.ndarray | None = None) -> Regressions:
        """Regress each column of `targets`, shape (rows, b), on the inputs.

        The initial coefficients are `start`, shape (b, n), or zero.
        """
        rows, n = self.inputs.shape
        targets = np.ascontiguousarray(targets)
        b = targets.shape[1]
        norms = np.einsum("ij,ij->i", self.inputs, self.inputs)
        first = self.step / max(float(norms.mean()), np.finfo(np.float64).tiny)
        random = np.random.default_rng(self.seed)
        weights = np.zeros((b, n)) if start is None else start.copy()
        passes = np.zeros(b, dtype=np.int64)
        going = np.arange(b)
        for number in range(self.max_passes):
            order = random.permutation(rows)
            moving = weights[going]
            descend(
                self.inputs,
                np.ascontiguousarray(targets[:, going]),
                order,
                norms,
                moving,
                self.lam,
                first,
                first * self.decay,
                number * rows,
                self.penalty == "proximal",
            )
            change = np.abs(moving - weights[going]).sum(axis=1)
            weights[going] = moving
            passes[going] += 1
            still = change > self.tolerance * np.abs(moving).sum(axis=1)
            going = going[still]
            if not len(going):
                break
        converged = np.ones(b, dtype=np.bool_)
        converged[going] = False
        return Regressions(weights, passes, converged, int(passes.sum()) * rows * n)


@kernel(fastmath={"reassoc", "contract", "nsz"})
def descend(inputs, targets, order, norms, weights, lam, first, cooling, seen, is_proximal):
    """Make one pass of gradient and penalty steps over the rows, in `order`, in place.

    `cooling` is γ₀ μ, `seen` the number of rows before this pass.
    """
    n = inputs.shape[1]
    for t in range(order.size):
        row = order[t]
        if norms[row] == 0.0:
            continue
        rate = min(first / (1.0 + cooling * (seen + t)), 1.0 / norms[row])
        cut = rate * lam
        x = inputs[row]
        for i in range(weights.shape[0]):
            w = weights[i]
            predicted = 0.0
            for j in range(n):
                predicted += w[j] * x[j]
            pull = rate * (targets[row, i] - predicted)
            if is_proximal:
                for j in range(n):
                    moved = w[j] + pull * x[j]
                    w[j] = max(moved - cut, 0.0) + min(moved + cut, 0.0)
            else:
                for j in range(n):
                    w[j] += pull * x[j] - cut * np.sign(w[j])


class CoordinateDescent(NamedTuple):
    """Coordinate descent solver for targets on fixed inputs, an exact alternative.

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

    Notes
    -----
    It solves the problem of scikit-learn's ``Lasso(alpha=λ, fit_intercept=False)`` from the moments
    XᵀX / N and Xᵀy / N. The moments cost O(n² N) once; a sweep then costs O(n) per coefficient that
    changes. The method is quadratic in n and unsuitable for the largest systems.
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


Solver = GradientDescent | CoordinateDescent


def solve_path(solver: Solver, targets: np.ndarray, count: int) -> tuple[Regressions, np.ndarray]:
    """Solve for `count` values of λ, each starting from the previous solution.

    The values are a geometric sequence from 1, above which all coefficients of standardised series
    are zero, to λ of the solver. The order in which coefficients enter requires an exact solver:
    after gradient descent, coefficients whose optimum is zero may be slightly different from zero.

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
