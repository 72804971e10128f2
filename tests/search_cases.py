"""Shared data of the search tests: tables, and beliefs that are independent of them."""

from __future__ import annotations

import itertools

import naive
import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.scores.belief import belief_scoring
from graftviz.learning.scores.kernels import Measure


def table_of(seed, cardinalities, rows):
    """Independent uniform variables with so many states each."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, s, size=rows) for s in cardinalities], axis=1)
    return DiscreteTable.from_codes(codes, cardinalities=cardinalities)


def random_beliefs(rng, cardinalities):
    """A random distribution for every variable, flat."""
    return np.concatenate([rng.dirichlet(np.ones(states)) for states in cardinalities])


def scoring_by(search, beliefs, **measure):
    """Return the scoring of a search by these beliefs; later changes in place take effect."""
    return belief_scoring(search.counts.packed, beliefs, Measure(**measure))


def all_scores(table, beliefs, square_root=False):
    """The score of every pair, {(i, j): s}, by the plain twin."""
    per_node = np.split(beliefs, np.cumsum(table.cardinalities)[:-1])
    states = table.cardinalities.tolist()
    return {
        (i, j): naive.belief_score(
            naive.count_pair(table.codes[i], table.codes[j], states[i], states[j]),
            per_node[i],
            per_node[j],
            square_root,
        )
        for i, j in itertools.combinations(range(table.n_variables), 2)
    }
