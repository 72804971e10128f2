"""Plain twins: the formulas as they stand in the papers, slow and obvious, for tests to compare with."""

from __future__ import annotations

import itertools

import numpy as np


def negative_log_pseudo_likelihood(model, codes):  # type: ignore[no-untyped-def]
    """Mean over rows of −Σ_i log p(x_i | all others), from the joint scores of every alternative.

    p(x_i = a | rest) ∝ p(x with x_i replaced by a): no neighbourhoods, no messages, no tricks.
    """
    total = 0.0
    for i in range(model.n_variables):
        scores = []
        for a in range(model.cardinalities[i]):
            changed = codes.copy()
            changed[i] = a
            scores.append(model.log_scores(changed))
        top = np.max(scores, axis=0)
        log_sum = top + np.log(np.sum(np.exp(np.array(scores) - top), axis=0))
        total += np.sum(log_sum - model.log_scores(codes))
    return total / codes.shape[1]


def hop_distances(n, edges):  # type: ignore[no-untyped-def]
    """All shortest path lengths by Floyd and Warshall; infinite where no path joins."""
    hops = np.full((n, n), np.inf)
    np.fill_diagonal(hops, 0.0)
    for i, j in edges:
        hops[i, j] = hops[j, i] = 1.0
    for via in range(n):
        hops = np.minimum(hops, hops[:, via, None] + hops[None, via, :])
    return hops


def anneal_layout(positions, hops, rates, orders):  # type: ignore[no-untyped-def]
    """Move each pair along its line by min(1, rate / h²) of what it lacks, half at either end."""
    positions = positions.copy()
    for rate, order in zip(rates, orders, strict=True):
        for i in order:
            for j in range(i):
                line = positions[i] - positions[j]
                distance, hop = np.linalg.norm(line), abs(hops[i, j])
                if hops[i, j] < 0 and distance > hop:
                    continue
                move = 0.5 * min(1.0, rate / hop**2) * (distance - hop) * line / distance
                positions[i] -= move
                positions[j] += move
    return positions


def settle_layout(positions, hops, unit, sweeps):  # type: ignore[no-untyped-def]
    """Put each node in turn at the mean of x_j + unit · h (x_i − x_j) / |x_i − x_j|, weights h⁻²."""
    positions = positions.copy()
    n = len(positions)
    for sweep in range(sweeps):
        for i in range(n) if sweep % 2 == 0 else reversed(range(n)):
            wanted, weights = [], []
            for j in range(n):
                line = positions[i] - positions[j]
                distance, hop = np.linalg.norm(line), abs(hops[j, i])
                if i != j and not (hops[j, i] < 0 and distance > unit * hop):
                    wanted.append(positions[j] + unit * hop * line / distance)
                    weights.append(hop**-2)
            if weights:
                positions[i] = np.average(wanted, axis=0, weights=weights)
    return positions


def push_apart(positions, gap):  # type: ignore[no-untyped-def]
    """One sweep: each pair closer than `gap` is pushed by half of what it lacks."""
    pushed = positions.copy()
    for i, j in itertools.combinations(range(len(positions)), 2):
        line = positions[i] - positions[j]
        distance = np.linalg.norm(line)
        if distance < gap:
            pushed[i] += 0.25 * (gap - distance) * line / distance
            pushed[j] -= 0.25 * (gap - distance) * line / distance
    return pushed
