"""Stochastic gradient descent for many ℓ₁-penalised regressions on the same inputs.

Every regression minimises ½ mean(e²) + λ‖w‖₁ over the rows, e = y − w·x, one row at a time, in a
new random order for every pass that is the same for all regressions (thesis, algorithm 3).

- **Step size**: γ_t = γ₀ / (1 + γ₀ μ t) after t rows, where γ₀ is `step` divided by the mean of
  ‖x‖², and at most 1 / ‖x‖² of the current row, the step that fits this row exactly.
- **Penalty**: after each gradient step, every coefficient is moved by γ_t λ towards zero, at most
  to zero (a proximal step). With ``penalty="subgradient"``, as in the thesis, γ_t λ sign(w) is
  subtracted together with the gradient; it overshoots, so that hardly any coefficient is zero.
- **Convergence**: a regression ends when a pass has changed its coefficients by at most
  `tolerance` times their size, in ℓ₁ norms.

All regressions process a row together, so that it is read from memory once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import kernel


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
    """Stochastic gradient descent solver for targets on fixed inputs.

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
