"""The belief score: kernels, plain twin, and the formula told to people are one and the same."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from search_cases import all_scores, random_beliefs, table_of

from graftviz import scores
from graftviz.counts import PairCounts
from graftviz.search.scoring import belief_score, score_slots
from graftviz.table import DiscreteTable

WEIGHTS = {"count": False, "sqrt": True}


@pytest.mark.parametrize("group_weight", WEIGHTS)
@pytest.mark.parametrize("states", [(2, 2), (3, 5), (1, 4), (1, 1), (40, 7)])
def test_one_pair_by_kernel_twin_and_formula(group_weight, states):
    rng = np.random.default_rng(states)
    beliefs = random_beliefs(rng, states)
    rows = 500
    table = rng.multinomial(rows, rng.dirichlet(np.ones(states[0] * states[1])))
    cells = np.concatenate([[99, 98, 97], table, [96]]).astype(np.int32)
    square_root = WEIGHTS[group_weight]
    score = belief_score(
        cells, 3, 1 / rows, beliefs, 0, states[0], states[0], states[1], square_root
    )
    counts = table.reshape(states)
    belief_i, belief_j = beliefs[: states[0]], beliefs[states[0] :]
    twin = naive.belief_score(counts, belief_i, belief_j, square_root)
    assert score == pytest.approx(twin, rel=1e-12)
    dimension = scores.edge_dimension(*states, group_weight)
    told = scores.belief_score(counts / rows, belief_i, belief_j, dimension)
    assert score == pytest.approx(told, rel=1e-12)
    assert score <= math.sqrt(2) / dimension


@pytest.mark.parametrize("square_root", [False, True])
@pytest.mark.parametrize("max_bytes", [1 << 20, 100, 0])
def test_many_pairs_whether_cached_or_not(square_root, max_bytes):
    rng = np.random.default_rng(7)
    table = table_of(7, [2, 3, 1, 5, 4, 2, 6], 300)
    beliefs = random_beliefs(rng, table.cardinalities)
    wanted = all_scores(table, beliefs, square_root)
    counts = PairCounts(table, max_bytes=max_bytes)
    pairs = list(wanted)
    slots = np.array([counts.slot(i, j) for i, j in pairs])
    counts.reserve(0)
    for _ in range(2):
        out = np.full(len(slots), np.nan)
        score_slots(slots, counts.packed, counts.store, beliefs, square_root, counts.scratch, out)
        np.testing.assert_allclose(out, [wanted[pair] for pair in pairs], rtol=1e-12)
    assert counts.tables_counted == len(pairs)


def test_independent_beliefs_at_the_datas_margins_score_the_dependence_only():
    independent = np.array([[a, b, a] for a in range(3) for b in range(3) for _ in range(4)])
    table = DiscreteTable.from_codes(independent, cardinalities=[3, 3, 3])
    found = all_scores(table, np.full(9, 1 / 3))
    assert found[0, 1] == pytest.approx(0.0, abs=1e-16)
    assert found[0, 2] == pytest.approx(math.sqrt(3 * (2 / 9) ** 2 + 6 / 81) / 9)
