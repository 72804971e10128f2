"""Scores of pairs: kernels, plain twins and the documented formulas agree."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from search_cases import all_scores, random_beliefs, table_of

from graftviz import scores
from graftviz.counts import PairCounts
from graftviz.search.scoring import (
    COUNT,
    NOISE,
    ROOT,
    belief_distance,
    belief_scoring,
    impurity_of,
    score_slots,
)
from graftviz.table import DiscreteTable

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


def test_the_unit_of_noise_is_the_spread_of_the_scores_of_independent_columns():
    """Root mean square of many scores of pairs that have nothing to do with each other: 1."""
    table = table_of(3, [2, 5, 3, 4] * 15, 400)
    counts = PairCounts(table)
    margins = counts.packed.margins / table.n_rows
    slots = np.array([counts.slot(i, j) for i in range(60) for j in range(i + 1, 60)])
    out = np.empty(len(slots))
    scoring = belief_scoring(counts.packed, margins, NOISE)
    counts.reserve(0)
    score_slots(slots, counts.packed, counts.store, scoring, counts.scratch, out)
    assert np.sqrt(np.mean(out**2)) == pytest.approx(1.0, abs=0.03)


def test_impurity_is_the_chance_that_two_draws_differ():
    offsets = np.array([0, 1, 3, 7])
    beliefs = np.array([1.0, 0.3, 0.7, 0.25, 0.25, 0.5, 0.0])
    wanted = [0.0, 2 * 0.3 * 0.7, 1 - 2 * 0.0625 - 0.25]
    np.testing.assert_allclose(impurity_of(offsets, beliefs), wanted, atol=1e-15)


def test_independent_beliefs_at_the_datas_margins_score_the_dependence_only():
    independent = np.array([[a, b, a] for a in range(3) for b in range(3) for _ in range(4)])
    table = DiscreteTable.from_codes(independent, cardinalities=[3, 3, 3])
    found = all_scores(table, np.full(9, 1 / 3))
    assert found[0, 1] == pytest.approx(0.0, abs=1e-16)
    assert found[0, 2] == pytest.approx(math.sqrt(3 * (2 / 9) ** 2 + 6 / 81) / 9)
