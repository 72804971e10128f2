"""Scores of pairs: kernels, plain twins and the documented formulas agree."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from search_cases import all_scores, random_beliefs, table_of

from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.scores.base import edge_dimension
from graftviz.learning.scores.belief import belief_scoring
from graftviz.learning.scores.kernels import COUNT, ROOT, Measure, belief_distance, score_slots

WEIGHTS = {"count": False, "sqrt": True}
MEASURES = {
    "count": Measure(COUNT),
    "sqrt": Measure(ROOT),
    "significance": Measure(COUNT, lam=0.01, significance=2.0),
}


@pytest.mark.parametrize("group_weight", WEIGHTS)
@pytest.mark.parametrize("states", [(2, 2), (3, 5), (1, 4), (1, 1), (40, 7)])
def test_score_of_one_pair_by_kernel_twin_and_formula(group_weight, states):
    rng = np.random.default_rng(states)
    beliefs = random_beliefs(rng, states)
    rows = 500
    table = rng.multinomial(rows, rng.dirichlet(np.ones(states[0] * states[1])))
    cells = np.concatenate([[99, 98, 97], table, [96]]).astype(np.int32)
    distance = belief_distance(cells, 3, 1 / rows, beliefs, 0, states[0], states[0], states[1])
    counts = table.reshape(states)
    belief_i, belief_j = beliefs[: states[0]], beliefs[states[0] :]
    dimension = edge_dimension(*states, group_weight)
    twin = naive.belief_score(counts, belief_i, belief_j, WEIGHTS[group_weight])
    assert distance / dimension == pytest.approx(twin, rel=1e-12)
    assert twin <= math.sqrt(2) / dimension


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("max_bytes", [1 << 20, 100, 0])
def test_scores_of_many_pairs_with_and_without_cache(name, max_bytes):
    rng = np.random.default_rng(7)
    table = table_of(7, [2, 3, 1, 5, 4, 2, 6], 300)
    beliefs = random_beliefs(rng, table.cardinalities)
    wanted = all_scores(table, beliefs, name == "sqrt")
    measure = MEASURES[name]
    if measure.significance:
        per_node = np.split(beliefs, np.cumsum(table.cardinalities)[:-1])
        for (i, j), score in wanted.items():
            expected = table.n_rows * np.outer(per_node[i], per_node[j])
            variance = naive.belief_variance(per_node[i], per_node[j])
            observed = table.joint_counts(i, j).astype(float)
            _, _, share = naive.judged(expected, observed, variance, measure.significance)
            if share <= 1.0:
                wanted[i, j] = min(score, measure.lam * share)
        assert min(wanted.values()) == 0.0  # the variable with one state
    counts = PairCounts(table, max_bytes=max_bytes)
    pairs = list(wanted)
    slots = np.array([counts.slot(i, j) for i, j in pairs])
    counts.reserve(0)
    scoring = belief_scoring(counts.packed, beliefs, measure)
    for _ in range(2):
        out = np.full(len(slots), np.nan)
        score_slots(slots, counts.packed, counts.store, scoring, counts.scratch, out)
        exact = 1e-4 if measure.significance else 1e-12  # thresholds are interpolated
        np.testing.assert_allclose(out, [wanted[pair] for pair in pairs], rtol=exact)
    assert counts.tables_counted == len(pairs)
