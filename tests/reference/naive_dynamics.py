"""Plain twins of the kernels and formulas of linear dynamical systems, slow and obvious."""

from __future__ import annotations

import numpy as np


def soft(value, cut):
    """Move a value `cut` towards zero, and no further."""
    return np.sign(value) * np.maximum(np.abs(value) - cut, 0.0)


def gradient_descent(inputs, target, order, lam, first, decay, seen):
    """One pass of stochastic gradient descent from zero weights, row by row."""
    weights = np.zeros(inputs.shape[1])
    for t, row in enumerate(order):
        x = inputs[row]
        if not x.any():
            continue
        rate = min(first / (1.0 + first * decay * (seen + t)), 1.0 / (x @ x))
        error = target[row] - weights @ x
        weights = soft(weights + rate * error * x, rate * lam)
    return weights


def subgradient_descent(inputs, target, order, lam, first, decay):
    """One pass of stochastic subgradient descent from zero weights, as in algorithm 3."""
    weights = np.zeros(inputs.shape[1])
    for t, row in enumerate(order):
        x = inputs[row]
        if x.any():
            rate = min(first / (1.0 + first * decay * t), 1.0 / (x @ x))
            error = target[row] - weights @ x
            weights = weights + rate * (error * x - lam * np.sign(weights))
    return weights


def lasso(inputs, target, lam, sweeps):
    """½ mean(e²) + λ‖w‖₁, one coefficient after the other, all residuals worked out anew."""
    weights = np.zeros(inputs.shape[1])
    for _ in range(sweeps):
        for j in range(len(weights)):
            x = inputs[:, j]
            if not x.any():
                continue
            rest = target - inputs @ weights + weights[j] * x
            weights[j] = soft(np.mean(x * rest), lam) / np.mean(x * x)
    return weights


def two_hop_scores(parents, two_hop, n):
    """E_ju = Σ_i b_iu δ(j is a parent of i), entry by entry (equation 2.9)."""
    scores = np.zeros((n, n))
    for j in range(n):
        for u in range(n):
            for known, b in zip(parents, two_hop, strict=True):
                if j in known:
                    scores[j, u] += b[u]
    return scores
