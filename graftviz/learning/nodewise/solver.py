"""Group-ℓ₁ multinomial logistic regression of one variable on others, for nodewise learning.

For variable i the penalised loss per row is

    F(b, W) = −(1/N) Σ_m log p(x_i | x_A) + Σ_j c_j ‖W_j‖₂ + λ₂ Σ_j ‖W_j‖₂²,
    p(x_i = a | x_A) ∝ exp(b[a] + Σ_j W_j[x_j, a]),

with one weight per state of i and state (a *cell*) of each neighbour j. It is minimised by proximal
Newton steps: block coordinate descent on the quadratic model of the loss plus the exact penalty,
then a line search. The Hessian is computed from a few thousand rows and reused as long as
violations fall quickly; the gradient uses all rows, so the optimum does not depend on the Hessian.
All computations use orthonormal contrasts of the states whose mean covariance is diagonal.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from graftviz.learning.weights.penalty import group_residual, proximal_step
from graftviz.learning.weights.softmax import LANES, loss_and_gradient, residuals
from graftviz.utils.compiling import inner_kernel, kernel

_SWEEPS = 100  # sweeps of block coordinate descent on one quadratic model
_INEXACT = 0.1  # tolerance of a model's minimum relative to the current violation
_HALVINGS = 30
_ROUNDING = 1e-13  # rounding error of the objective per row
_HESSIAN_ROWS = 8192  # rows that the Hessian is computed from; the gradient uses all
_RIDGE = 1e-9
_INTERCEPT_STEPS = 100
_SLOW = 0.3  # ratio of successive violations above which the Hessian is recomputed


class Solution(NamedTuple):
    """Result of one regression.

    Attributes
    ----------
    objective : float
        F(b, W).
    violation : float
        Largest violation of an optimality condition.
    steps : int
        Number of proximal Newton steps.
    gradient : float64 array, shape (C, s)
        Gradient of the loss at the weights.
    """

    objective: float
    violation: float
    steps: int
    gradient: np.ndarray


def solve_regression(
    codes: np.ndarray,
    cells: np.ndarray,
    starts: np.ndarray,
    thresholds: np.ndarray,
    lam2: float,
    tolerance: float,
    weights: np.ndarray,
    *,
    max_steps: int = 200,
) -> Solution:
    """Minimise F for one variable, starting from `weights`.

    Parameters
    ----------
    codes : unsigned array, shape (N,)
        x_i, every state of which occurs.
    cells : int32 array, shape (N, A)
        For each row the cell of every neighbour; cell 0 is the intercept.
    starts : int64 array, shape (free neighbours + 1,)
        Cells ``starts[k]`` … ``starts[k + 1]`` belong to neighbour k.
    thresholds : float64 array, shape (free neighbours,)
        c_k = λ d_k.
    lam2 : float
    tolerance : float
        Bound on the violation of each optimality condition, as a 2-norm in gradient units.
    weights : float64 array, shape (C, s)
        Intercept, then W_j[x_j, :] cell after cell; rows sum to 0. Overwritten, except for the
        cells from ``starts[-1]``, which are fixed.
    max_steps : int
    """
    free = int(starts[-1])
    gradient = np.empty_like(weights)
    loss = loss_and_gradient(codes, cells, weights, gradient)
    price = _price(weights, starts, thresholds, lam2)
    violation = _violation(weights, gradient, starts, thresholds, lam2)
    steps = 0
    model: _Model | None = None
    while violation > tolerance and steps < max_steps:
        steps += 1
        if model is None:
            model = _model(codes, cells, starts, weights)
        model_tolerance = max(_INEXACT * violation, 0.1 * tolerance)
        values, slopes = weights[:free] @ model.basis, gradient[:free] @ model.basis
        _solve_model(
            model.hessian, model.bounds, starts, thresholds, lam2, model_tolerance, values, slopes
        )
        direction = values @ model.basis.T - weights[:free]
        trial, new_gradient = weights.copy(), np.empty_like(weights)
        trial[:free] += direction
        expected = np.vdot(direction, gradient[:free]) - price
        expected += _price(trial, starts, thresholds, lam2)
        length = 1.0
        for _ in range(_HALVINGS):
            trial[:free] = weights[:free] + length * direction
            new_loss = loss_and_gradient(codes, cells, trial, new_gradient)
            new_price = _price(trial, starts, thresholds, lam2)
            if new_loss + new_price <= loss + price + 1e-4 * length * expected + _ROUNDING:
                break
            length *= 0.5
        weights[:], gradient = trial, new_gradient
        loss, price, before = new_loss, new_price, violation
        violation = _violation(weights, gradient, starts, thresholds, lam2)
        if violation > _SLOW * before:
            model = None  # recompute the Hessian
    return Solution(loss + price, violation, steps, gradient)


def fit_intercept(
    codes: np.ndarray, cells: np.ndarray, weights: np.ndarray, tolerance: float
) -> np.ndarray:
    """Fit the intercept ``weights[0]`` by Newton's method, with all other weights fixed.

    Parameters
    ----------
    codes, cells
        See :func:`solve_regression`.
    weights : float64 array, shape (C, s)
    tolerance : float
        Bound on the difference between mean prediction and share of the rows, as a 2-norm.

    Returns
    -------
    float64 array, shape (s,)
        That difference.
    """
    components = weights.shape[1] - 1
    later = np.flatnonzero(codes)
    differences = np.empty((len(codes), components))
    gap, move, before = np.zeros(components + 1), np.zeros(components + 1), np.inf
    for _ in range(_INTERCEPT_STEPS):
        residuals(codes, cells, weights, 0, differences)
        gap[1:] = differences.mean(axis=0)
        gap[0] = -gap[1:].sum()
        size = float(np.linalg.norm(gap))
        if size <= tolerance:
            break
        if size > before:
            # The step was too long: undo half of it.
            move *= 0.5
            weights[0] += move
            continue
        before = size
        differences[later, codes[later] - 1] += 1.0
        mean = differences.mean(axis=0)
        curvature = np.diag(mean) - differences.T @ differences / len(codes)
        move = np.concatenate(
            [[0.0], np.linalg.solve(curvature + _RIDGE * np.eye(components), gap[1:])]
        )
        move -= move.mean()
        weights[0] -= move
    return gap


class _Model(NamedTuple):
    """Quadratic model of a loss: contrasts, Hessian, and a diagonal bound of its blocks.

    Attributes
    ----------
    basis : float64 array, shape (s, E)
        E = s − 1 orthonormal contrasts of the states in which their mean covariance is diagonal.
        The direction of equal entries is omitted, as a constant added to all states has no effect.
    hessian : float64 array, shape (C, E, C, E)
    bounds : float64 array, shape (C, E)
    """

    basis: np.ndarray
    hessian: np.ndarray
    bounds: np.ndarray


def _model(codes: np.ndarray, cells: np.ndarray, starts: np.ndarray, weights: np.ndarray) -> _Model:
    """Return the quadratic model at the weights, computed from every k-th row."""
    stride = max(1, len(codes) // _HESSIAN_ROWS)
    codes, cells = np.ascontiguousarray(codes[::stride]), np.ascontiguousarray(cells[::stride])
    states, free = weights.shape[1], int(starts[-1])
    components = states - 1
    predictions = np.empty((len(codes), components))
    residuals(codes, cells, weights, 0, predictions)
    later = np.flatnonzero(codes)
    predictions[later, codes[later] - 1] += 1.0
    # All states but the first: entries of state 0 follow, as covariances sum to 0.
    mean = np.diag(predictions.mean(axis=0)) - predictions.T @ predictions / len(codes)
    helmert = _contrasts(states)
    turned = helmert[1:] - helmert[0]
    basis = np.ascontiguousarray(helmert @ np.linalg.eigh(turned.T @ mean @ turned)[1])
    parts = (components * states // 2 + LANES - 1) // LANES * LANES
    covariances = np.zeros((len(codes), parts))
    _fill_covariances(predictions, covariances)
    hessian = np.empty((free, components, free, components))
    _hessian(cells, starts, covariances, np.ascontiguousarray(basis[1:] - basis[0]), hessian)
    square = hessian.reshape(free * components, free * components)
    square[np.diag_indices_from(square)] += _RIDGE
    own = np.abs(hessian[np.arange(free), :, np.arange(free), :])
    return _Model(basis, hessian, own.sum(axis=2))


@functools.cache
def _contrasts(states: int) -> np.ndarray:
    """Return Helmert's contrasts: orthonormal columns orthogonal to equal entries, (s, s − 1)."""
    basis = np.zeros((states, states - 1))
    for e in range(states - 1):
        basis[: e + 1, e] = 1.0
        basis[e + 1, e] = -(e + 1.0)
    basis /= np.linalg.norm(basis, axis=0)
    return basis


@kernel
def _fill_covariances(predictions, out):
    """Write Cov(1{x = a}, 1{x = b} | x_A) of every row, a ≥ b ≥ 1, to `out`, shape (N, parts)."""
    for m in range(len(predictions)):
        at = 0
        for a in range(predictions.shape[1]):
            for b in range(a + 1):
                out[m, at] = -predictions[m, a] * predictions[m, b]
                at += 1
            out[m, at - 1] += predictions[m, a]


@inner_kernel
def _sum_parts(cells_k, cells_l, covariances, size_l, sums):
    """Add the covariances of every row to the sums of the row's pair of cells."""
    parts = covariances.shape[1]
    source = covariances.reshape(covariances.size)
    total = sums.reshape(sums.size)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for m in range(len(cells_k)):
        into = np.uint64((cells_k[m] * size_l + cells_l[m]) * parts)
        start = np.uint64(m * parts)
        for u in range(0, parts, LANES):
            at, of = into + np.uint64(u), start + np.uint64(u)
            total[at] += source[of]
            total[at + one] += source[of + one]
            total[at + two] += source[of + two]
            total[at + three] += source[of + three]


@kernel
def _hessian(cells, starts, covariances, turned, hessian):
    """Write the Hessian of the loss in the contrasts, shape (C, E, C, E)."""
    rows, width = len(cells), len(starts) - 1
    components = len(turned)
    parts = covariances.shape[1]
    first = np.zeros(width + 1, dtype=np.int64)
    size = np.ones(width + 1, dtype=np.int64)
    columns = np.zeros((width + 1, rows), dtype=np.int32)
    for k in range(width):
        first[k + 1] = starts[k]
        size[k + 1] = starts[k + 1] - starts[k]
        for m in range(rows):
            columns[k + 1, m] = cells[m, k] - starts[k]
    full = np.empty((components, components))
    half = np.empty((components, components))
    for k in range(width + 1):
        for other in range(k, width + 1):
            sums = np.zeros((size[k] * size[other], parts))
            _sum_parts(columns[k], columns[other], covariances, size[other], sums)
            for b in range(size[k]):
                for c in range(size[other]):
                    if not np.any(sums[b * size[other] + c]):  # no row is in both cells
                        hessian[first[k] + b, :, first[other] + c, :] = 0.0
                        hessian[first[other] + c, :, first[k] + b, :] = 0.0
                        continue
                    at = 0
                    for x in range(components):
                        for y in range(x + 1):
                            full[x, y] = full[y, x] = sums[b * size[other] + c, at] / rows
                            at += 1
                    for x in range(components):
                        for y in range(components):
                            half[x, y] = 0.0
                            for z in range(components):
                                half[x, y] += full[x, z] * turned[z, y]
                    for x in range(components):
                        for y in range(components):
                            value = 0.0
                            for z in range(components):
                                value += turned[z, x] * half[z, y]
                            hessian[first[k] + b, x, first[other] + c, y] = value
                            hessian[first[other] + c, y, first[k] + b, x] = value


@kernel
def _solve_model(hessian, bounds, starts, thresholds, lam2, tolerance, values, slopes):
    """Minimise the quadratic model plus penalty by block coordinate descent.

    Parameters
    ----------
    hessian : float64 array, shape (C, E, C, E)
        Hessian of the loss in the E contrasts.
    bounds : float64 array, shape (C, E)
        Diagonal of an upper bound of the diagonal blocks of the Hessian.
    starts : int64 array, shape (A + 1,)
        Cells ``starts[k]`` … ``starts[k + 1]`` belong to neighbour k; cell 0 is the intercept.
    thresholds : float64 array, shape (A,)
        c_k = λ d_k.
    tolerance : float
        Allowed violation of the model's optimality conditions.
    values : float64 array, shape (C, E)
        Weights, overwritten with the minimiser.
    slopes : float64 array, shape (C, E)
        Gradient of the loss, overwritten with that of the model at the minimiser.
    """
    cells, components = values.shape
    scratch = np.empty((4, cells * components))
    block, gradient, curvature, before = scratch[0], scratch[1], scratch[2], scratch[3]
    flat = slopes.reshape(cells * components)
    rows = hessian.reshape(cells * components, cells * components)
    for _ in range(_SWEEPS):
        worst = 0.0
        for k in range(-1, len(thresholds)):
            first, last = (starts[k], starts[k + 1]) if k >= 0 else (0, 1)
            threshold, ridge = (thresholds[k], lam2) if k >= 0 else (0.0, 0.0)
            size = (last - first) * components
            at = 0
            for c in range(first, last):
                for e in range(components):
                    block[at] = values[c, e]
                    gradient[at] = slopes[c, e]
                    at += 1
            violation = group_residual(block, gradient, threshold, ridge, size)
            worst = max(worst, violation)
            if violation <= 0.01 * tolerance:
                continue
            at = 0
            for c in range(first, last):
                for e in range(components):
                    before[at] = block[at]
                    gradient[at] += 2.0 * ridge * block[at]
                    curvature[at] = bounds[c, e] + 2.0 * ridge
                    at += 1
            proximal_step(block, gradient, curvature, threshold, size)
            at = 0
            for c in range(first, last):
                for e in range(components):
                    move = block[at] - before[at]
                    values[c, e] = block[at]
                    own = rows[c * components + e]
                    for x in range(len(flat)):
                        flat[x] += own[x] * move
                    at += 1
        if worst <= tolerance:
            break


@kernel
def _price(weights, starts, thresholds, lam2):
    """Return Σ_k c_k ‖W_k‖ + λ₂ ‖W_k‖²."""
    total = 0.0
    for k in range(len(thresholds)):
        square = 0.0
        for c in range(starts[k], starts[k + 1]):
            for a in range(weights.shape[1]):
                square += weights[c, a] ** 2
        total += thresholds[k] * math.sqrt(square) + lam2 * square
    return total


@kernel
def _violation(weights, gradient, starts, thresholds, lam2):
    """Return the largest violation of the optimality conditions of the intercept and groups."""
    states = weights.shape[1]
    flat, slopes = weights.reshape(weights.size), gradient.reshape(gradient.size)
    worst = 0.0
    for a in range(states):
        worst += gradient[0, a] ** 2
    worst = math.sqrt(worst)
    for k in range(len(thresholds)):
        size = (starts[k + 1] - starts[k]) * states
        at = starts[k] * states
        worst = max(worst, group_residual(flat[at:], slopes[at:], thresholds[k], lam2, size))
    return worst
