"""Penalty λ Σ |w_k| + λ₂ Σ w_k² over single features, and its optimality conditions.

A *feature* is one joint state (a, b) of one pair of variables. Inactive features have weight zero
and no condition here; the search tests them.
"""

from __future__ import annotations

from graftviz.utils.compiling import inner_kernel, kernel


@kernel
def soft_threshold(pull, threshold):
    """Return the minimiser v of ½ (v − pull)² + threshold |v|."""
    if pull > threshold:
        return pull - threshold
    if pull < -threshold:
        return pull + threshold
    return 0.0


@kernel
def feature_residual(weight, gradient, lam, lam2):
    """Return the violation of the optimality condition of one active feature (thesis, eq. 3.8).

    It is |g + 2 λ₂ w + λ sign(w)| if w ≠ 0, and max(0, |g| − λ) if w = 0.
    """
    if weight > 0.0:
        return abs(gradient + 2.0 * lam2 * weight + lam)
    if weight < 0.0:
        return abs(gradient + 2.0 * lam2 * weight - lam)
    return max(0.0, abs(gradient) - lam)


@inner_kernel
def feature_terms(belief, target, weights, active, lam, lam2):
    """Return the penalty of the active features of an edge and their largest violation.

    Parameters
    ----------
    belief, target, weights : float64 arrays, shape (s_i · s_j,)
        Pair belief, data marginal and weights of the edge.
    active : bool array, same shape
    """
    price, worst = 0.0, 0.0
    for k in range(len(weights)):
        if active[k]:
            weight = weights[k]
            price += lam * abs(weight) + lam2 * weight * weight
            worst = max(worst, feature_residual(weight, belief[k] - target[k], lam, lam2))
    return price, worst
