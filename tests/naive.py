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
