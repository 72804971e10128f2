"""Plain twins: likelihoods and all pair marginals by going through every joint state."""

from __future__ import annotations

import naive
import numpy as np


def nll(model, codes):
    """Mean over rows of −log p(x)."""
    every, chances = naive.joint_probabilities(model)
    by_state = dict(zip(every, chances, strict=True))
    return -np.mean([np.log(by_state[tuple(row)]) for row in codes.T.tolist()])


def conditional_marginal_loss(model, codes, hidden):
    """Σ over rows and hidden h of −log P(x_h | x_observed)."""
    every, chances = naive.joint_probabilities(model)
    every = np.array(every)
    hidden = set(hidden)
    observed = [i for i in range(model.n_variables) if i not in hidden]
    total = 0.0
    for row in codes.T:
        agrees = (every[:, observed] == row[observed]).all(axis=1)
        for h in hidden:
            both = agrees & (every[:, h] == row[h])
            total -= np.log(chances[both].sum() / chances[agrees].sum())
    return total


def pair_marginal(model, i, j):
    """p(x_i, x_j) as a table."""
    every, chances = naive.joint_probabilities(model)
    table = np.zeros((model.cardinalities[i], model.cardinalities[j]))
    for x, chance in zip(every, chances, strict=True):
        table[x[i], x[j]] += chance
    return table
