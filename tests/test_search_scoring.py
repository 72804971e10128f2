"""Scores of pairs: kernels, plain twins and the documented formulas agree."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from search_cases import all_scores, random_beliefs, table_of

from graftviz import scores
from graftviz.counts import PairCounts
from graftviz.search.scoring import COUNT, NOISE, ROOT, belief_distance, belief_scoring, score_slots

WEIGHTS = {"count": False, "sqrt": True}
UNITS = {"count": COUNT, "sqrt": ROOT, "noise": NOISE}


@pytest.mark.parametrize("group_weight", WEIGHTS)
@pytest.mark.parametrize("states", [(2, 2), (3, 5), (1, 4), (1, 1), (40, 7)])
def test_one_pair_by_kernel_twin_and_formula(group_weight, states):
    rng = np.random.default_rng(states)
    beliefs = random_beliefs(rng, states)
    rows = 500
    table = rng.multinomial(rows, rng.dirichlet(np.ones(states[0] * states[1])))
    cells = np.concatenate([[99, 98, 97], table, [96]]).astype(np.int32)
    distance = belief_distance(cells, 3, 1 / rows, beliefs, 0, states[0], states[0], states[1])
    counts = table.reshape(states)
    belief_i, belief_j = beliefs[: states[0]], beliefs[states[0] :]
    dimension = scores.edge_dimension(*states, group_weight)
    twin = naive.belief_score(counts, belief_i, belief_j, WEIGHTS[group_weight])
    assert distance / dimension == pytest.approx(twin, rel=1e-12)
    formula = scores.belief_score(counts / rows, belief_i, belief_j, dimension)
    assert formula == pytest.approx(twin, rel=1e-12)
    assert formula <= math.sqrt(2) / dimension


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("max_bytes", [1 << 20, 100, 0])
def test_many_pairs_whether_cached_or_not(unit, max_bytes):
    rng = np.random.default_rng(7)
    table = table_of(7, [2, 3, 1, 5, 4, 2, 6], 300)
    beliefs = random_beliefs(rng, table.cardinalities)
    wanted = all_scores(table, beliefs, unit == "sqrt")
    if unit == "noise":
        per_node = np.split(beliefs, np.cumsum(table.cardinalities)[:-1])
        for i, j in wanted:
            noise = naive.belief_noise(per_node[i], per_node[j], table.n_rows)
            joint = len(per_node[i]) * len(per_node[j])
            wanted[i, j] = wanted[i, j] * joint / noise if noise > 0 else 0.0
        assert min(wanted.values()) == 0.0  # the variable with one state
    counts = PairCounts(table, max_bytes=max_bytes)
    pairs = list(wanted)
    slots = np.array([counts.slot(i, j) for i, j in pairs])
    counts.reserve(0)
    scoring = belief_scoring(counts.packed, beliefs, UNITS[unit])
    for _ in range(2):
        out = np.full(len(slots), np.nan)
        score_slots(slots, counts.packed, counts.store, scoring, counts.scratch, out)
        np.testing.assert_allclose(out, [wanted[pair] for pair in pairs], rtol=1e-12)
    assert counts.tables_counted == len(pairs)
