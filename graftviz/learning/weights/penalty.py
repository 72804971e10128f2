"""Penalty λ Σ_g d_g ‖w_g‖₂ + λ₂ ‖w‖₂² (BC eq. 2) and its proximal step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.utils.compiling import kernel


class Penalty(NamedTuple):
    """Weights of the penalty, and the groups that it applies to.

    Attributes
    ----------
    lam, lam2 : float
        λ and λ₂.
    square_root : bool
        Whether d_g is the square root of the group's number of joint states instead of the number.
    nodes : bool
        Whether node weights are penalised too (the paper's form). Penalised node weights bias the
        beliefs, so that independent pairs pass the activation test.
    """

    lam: float
    lam2: float
    square_root: bool
    nodes: bool


@kernel
def group_dimension(joint_states, square_root):
    """Return d_g of a group with `joint_states` joint states."""
    return np.sqrt(joint_states) if square_root else float(joint_states)


@kernel
def proximal_step(weights, smooth_gradient, curvature, threshold, size):
    """Replace `weights` by the minimiser of the diagonal local model plus the group norm.

    It minimises Σ_k [g_k (v_k - w_k) + ½ h_k (v_k - w_k)²] + c ‖v‖₂ over v. With u = w - g / h the
    solution is 0 if ‖h u‖ ≤ c, else v_k = h_k u_k / (h_k + c / ν) where ν = ‖v‖ is the root of
    Σ (h_k u_k / (h_k ν + c))² = 1. That sum is decreasing and convex in ν, so Newton's
    iteration from the left end converges without safeguards.

    Parameters
    ----------
    weights : float64 array
        w, overwritten with v.
    smooth_gradient : float64 array
        g; used as scratch.
    curvature : float64 array
        h > 0.
    threshold : float
        c = λ d_g.
    size : int
        Number of entries used.

    Returns
    -------
    float
        max |v - w|.
    """
    target = 0.0
    steepest = 0.0
    for k in range(size):
        smooth_gradient[k] = curvature[k] * weights[k] - smooth_gradient[k]  # h u
        target += smooth_gradient[k] ** 2
        steepest = max(steepest, curvature[k])
    target = np.sqrt(target)
    change = 0.0
    if target <= threshold:
        for k in range(size):
            change = max(change, abs(weights[k]))
            weights[k] = 0.0
        return change
    if threshold > 0.0:
        norm = (target - threshold) / steepest
        for _ in range(60):
            value, slope = -1.0, 0.0
            for k in range(size):
                below = curvature[k] * norm + threshold
                ratio = smooth_gradient[k] / below
                value += ratio * ratio
                slope -= 2.0 * ratio * ratio * curvature[k] / below
            move = -value / slope
            norm += move
            if move <= 1e-14 * norm:
                break
        ridge = threshold / norm
    else:
        ridge = 0.0
    for k in range(size):
        new = smooth_gradient[k] / (curvature[k] + ridge)
        change = max(change, abs(new - weights[k]))
        weights[k] = new
    return change


@kernel
def group_residual(weights, gradient, threshold, lam2, size):
    """Return the violation of a group's optimality condition, as a 2-norm in gradient units.

    It is ‖g + 2 λ₂ w + c w / ‖w‖‖ if w ≠ 0 and max(0, ‖g‖ - c) if w = 0, with c = λ d_g.
    """
    norm = 0.0
    for k in range(size):
        norm += weights[k] ** 2
    norm = np.sqrt(norm)
    total = 0.0
    if norm > 0.0:
        pull = 2.0 * lam2 + threshold / norm
        for k in range(size):
            total += (gradient[k] + pull * weights[k]) ** 2
        return np.sqrt(total)
    for k in range(size):
        total += gradient[k] ** 2
    return max(0.0, np.sqrt(total) - threshold)
