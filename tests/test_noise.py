"""Noise of scores: the significance that few pairs exceed by chance."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import significance_of
from scipy.stats import chi2

from graftviz import BestChoice, DiscreteTable, learn


def independent(n: int, states: int, rows: int, seed: int = 0, skew: float = 1.0) -> DiscreteTable:
    shares = skew ** np.arange(states)
    random = np.random.default_rng(seed)
    codes = random.choice(states, size=(rows, n), p=shares / shares.sum())
    return DiscreteTable.from_codes(codes, cardinalities=[states] * n)


@pytest.mark.parametrize("n", [10, 60])
@pytest.mark.parametrize("states", [2, 3, 6])
def test_significance_of_equally_frequent_states_is_a_quantile(n: int, states: int) -> None:
    # All states have the same variance: d = (s - 1)² degrees of freedom.
    freedom = (states - 1) ** 2
    expected = np.sqrt(chi2.isf(1 / (25 * (n - 1)), freedom) / freedom)
    found = significance_of(independent(n, states, 100_000))
    assert found == pytest.approx(max(expected, 2.0), rel=0.02)


def test_rare_states_and_more_variables_raise_the_significance() -> None:
    even, skewed = (independent(20, 4, 20_000, skew=skew) for skew in (1.0, 0.2))
    assert significance_of(skewed) > significance_of(even) + 0.3
    many = independent(200, 2, 2000)
    assert significance_of(many) > significance_of(independent(20, 2, 2000)) + 0.3


def test_significance_without_varying_variables() -> None:
    assert significance_of(independent(3, 1, 50)) == 3.0


@pytest.mark.parametrize(("states", "skew"), [(2, 1.0), (3, 0.5), (5, 0.4)])
def test_about_one_pair_in_fifty_independent_variables_becomes_an_edge(
    states: int, skew: float
) -> None:
    tables = [independent(50, states, 1500, seed, skew) for seed in range(12)]
    edges = sum(learn(table, BestChoice()).n_edges for table in tables)
    assert 1 <= edges <= 30
