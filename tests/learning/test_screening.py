"""Screening of all pairs on sampled rows, and the learners that use it."""

from __future__ import annotations

import itertools
import json

import joblib
import numpy as np
import pytest
from learner_cases import conditionals_of, drain, make
from trees import tree_table

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting import screening
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.grafting.grafting import GraftingRun
from graftviz.learning.grafting.screening import screened
from graftviz.learning.scores.kernels import score_batch, score_slots, slack_of
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork
from graftviz.reports.words.steps import outcome_words

SCREENED = ("best-choice", "first-hit", "edge-grafting", "chow-liu")


def standardised(one, other):
    """Return X² of two columns, less its mean and over its deviation; None if one is constant."""
    counts = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(counts, (one, other), 1.0)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < 2:
        return None
    m, margins = len(one), (counts.sum(axis=1), counts.sum(axis=0))
    expected = np.outer(*margins) / m
    r = np.array(counts.shape)
    nu = (r - 1) * (m - r) / (m - 1)
    sigma = (m * np.array([np.sum(1 / own) for own in margins]) - r**2) / (m - 2)
    variance = 2 * m / (m - 3) * np.prod(nu - sigma) + m**2 / (m - 1) * np.prod(sigma)
    excess = np.sum((counts - expected) ** 2 / expected) - np.prod(r - 1) * m / (m - 1)
    return float(excess / np.sqrt(variance))


def plain_candidates(codes, partners):
    """Return pairs that are among the best of one of their variables, ties by partner."""
    lists = {i: [] for i in range(len(codes))}
    for i, j in itertools.combinations(lists, 2):
        value = standardised(codes[i], codes[j])
        if value is not None:
            lists[i].append((-round(value, 8), j))
            lists[j].append((-round(value, 8), i))
    return {(min(i, j), max(i, j)) for i in lists for _, j in sorted(lists[i])[:partners]}


@pytest.mark.parametrize("margins", [([6, 6], [3, 9]), ([30, 20, 10], [55, 3, 2])])
def test_statistic_has_mean_0_and_variance_1_over_permutations(margins):
    one, other = (np.repeat(np.arange(len(own)), own) for own in margins)
    rng = np.random.default_rng(0)
    values = [standardised(one, rng.permutation(other)) for _ in range(20_000)]
    assert np.mean(values) == pytest.approx(0.0, abs=0.03)
    assert np.var(values) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rows", [40, 3000])
def test_candidates_are_the_best_partners_of_each_variable(seed, rows):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, size=70)
    codes = np.stack([rng.integers(0, s, size=rows) for s in sizes], axis=1)
    for i in range(1, 70, 2):
        copied = rng.random(rows) < rng.random() / 2
        codes[copied, i] = np.minimum(codes[copied, i // 2], sizes[i] - 1)
    table = DiscreteTable.from_codes(codes, cardinalities=sizes.tolist())
    found = screened(table, seed=seed, partners=4)
    wanted = plain_candidates(table.codes.astype(np.int64), 4)
    assert set(map(tuple, found.pairs.tolist())) == wanted
    assert found.screening.rows == rows
    assert found.screening.candidates == len(found.pairs)
    assert found.pairs.tolist() == sorted(found.pairs.tolist())
    assert not found.pairs.flags.writeable


def test_rows_and_pairs_depend_on_seed_and_not_on_threads(monkeypatch):
    monkeypatch.setattr(screening, "sampled_rows", lambda *_: 500)
    table, _ = tree_table(150, 3, 4000, 1)
    found = {}
    for cores in (1, 2, 4):
        monkeypatch.setattr(joblib, "cpu_count", lambda cores=cores: cores)
        found[cores] = screened(table, seed=3)
    for one in found.values():
        np.testing.assert_array_equal(one.pairs, found[1].pairs)
    other = screened(table, seed=4)
    assert other.screening.rows == 500
    assert not np.array_equal(other.pairs, found[1].pairs)


def test_number_of_sampled_rows():
    assert screening.sampled_rows(1_000, 20_000, 5) == 20_000
    assert screening.sampled_rows(10_000, 900, 5) == 900
    most = screening.sampled_rows(3_000, 10**6, 5)
    assert most > screening.sampled_rows(10_000, 10**6, 5) >= screening.LEAST_ROWS
    assert screening.sampled_rows(10**5, 10**6, 100) == screening.LEAST_ROWS


@pytest.mark.parametrize("skew", [1.0, 0.6])
def test_pairs_of_coins_are_candidates_beside_many_or_rare_states(skew):
    rng = np.random.default_rng(5)
    coins, rows, shares = 200, 2_000, skew ** np.arange(12)
    codes = rng.integers(0, 2, size=(rows, coins))
    for i in range(0, coins, 2):  # φ of a copy with probability q is q
        copied = rng.random(rows) < 0.1
        codes[copied, i + 1] = codes[copied, i]
    others = rng.choice(12, size=(rows, coins), p=shares / shares.sum())
    table = DiscreteTable.from_codes(np.hstack([codes, others]))
    pairs = set(map(tuple, screened(table, seed=0, partners=3).pairs.tolist()))
    assert np.mean([(i, i + 1) in pairs for i in range(0, coins, 2)]) >= 0.95


@pytest.mark.parametrize("name", SCREENED)
def test_learners_find_a_tree_from_candidates_alone(name):
    table, truth = tree_table(120, 3, 4000, 2)
    run = drain(table, make(name, screening="sample", preset="best"))
    outcome = run.outcome
    edges = set(map(tuple, outcome.model().edges.tolist()))
    assert len(edges & truth) >= 0.8 * len(truth)
    assert len(edges & truth) >= 0.9 * len(edges)
    assert outcome.pairs_screened == 120 * 119 // 2
    assert outcome.tables_counted < outcome.tables_possible / 2
    certificate = outcome.certificate
    assert certificate.screening.candidates == outcome.tables_counted
    assert certificate.possible == outcome.tables_counted - len(edges)
    assert certificate.scored == certificate.possible
    others = f"The other {outcome.pairs_screened - outcome.tables_counted:,} of 7,140 pairs were"
    assert others in outcome_words(outcome)
    assert "pairs were only compared" not in outcome_words(
        drain(table, make(name, screening="all", preset="best", max_edges=5)).outcome
    )


def test_defaults_find_a_sparse_graph_with_few_false_edges():
    table, truth = tree_table(300, 5, 5000, 3)
    run = drain(table, BestChoice())
    edges = [edge[:2] for step in run.steps for edge in step.activated]
    assert np.mean([edge in truth for edge in edges[:200]]) == 1.0
    final = set(map(tuple, run.outcome.model().edges.tolist()))
    assert len(final & truth) >= 0.97 * len(final)
    assert len(final & truth) >= 0.85 * len(truth)
    assert run.outcome.converged


@pytest.mark.parametrize("name", SCREENED)
def test_awkward_columns_and_few_rows_are_screened(name):
    rng = np.random.default_rng(1)
    codes = np.stack(
        [
            np.zeros(30, dtype=np.int64),
            rng.integers(0, 2, size=30),
            np.arange(30),
            np.arange(30) // 2,
            *(rng.integers(0, 3, size=(3, 30))),
        ],
        axis=1,
    )
    table = DiscreteTable.from_codes(codes, cardinalities=[1, 2, 60, 40, 3, 3, 3])
    outcome = drain(table, make(name, screening="sample", preset="best", max_edges=2)).outcome
    assert outcome.certificate.screening.rows == 30
    assert outcome.certificate.screening.candidates <= 15
    json.dumps(outcome.certificate.screening)


# Bounds by drift.


@pytest.mark.parametrize("seed", range(20))
def test_pair_does_not_violate_within_its_slack(seed):
    rng = np.random.default_rng(seed)
    rows, significance = int(rng.integers(50, 50_000)), 3.0
    product = rng.random()
    needed = significance * 2.0 * np.sqrt(product / rows)
    norm, least = rng.random() * needed * 1.2, rng.random() * needed * 1.2
    slack = slack_of.py_func(norm, least, needed, significance, rows)
    if norm > max(least, needed):
        assert slack == 0.0
        return
    for share in (0.0, 0.3, 1.0):
        drift = share * slack
        later = significance * 2.0 * np.sqrt(max(product - 2.5 * drift, 0.0) / rows)
        assert norm + drift <= max(least, later) * (1 + 1e-9)


def test_the_drift_bounds_the_distance_of_conditionals():
    table, truth = tree_table(12, 3, 600, 4, edge_sigma=2.0)
    network = PseudoNetwork(table, PairCounts(table))
    edges, penalty = sorted(truth), Penalty(0.0, 1e-3, False, False)
    for i, j in edges:
        network.add_edge(i, j)

    def conditionals():
        return np.stack([conditionals_of(network.rows, i) for i in range(12)]).astype(np.float64)

    moves = 0.0
    weights = network.rows.multiplicity[: network.rows.codes.shape[1]] / network.rows.rows
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4):
        before, drift = conditionals(), network.state.drift.copy()
        network.fit(penalty, tolerance=tolerance)
        distance = np.linalg.norm(conditionals() - before, axis=2) @ weights
        assert (distance <= network.state.drift - drift + 1e-5).all()
        moves = max(moves, distance.max())
    assert moves > 0.03
    # A polish adds the root mean square distance, and leaves no edge to be evaluated again.
    before, drift = conditionals(), network.state.drift.copy()
    network.polish(Penalty(0.0, 3e-3, False, False), tolerance=1e-5)
    distance = np.sqrt(((conditionals() - before) ** 2).sum(axis=2) @ weights)
    np.testing.assert_allclose(network.state.drift - drift, distance, rtol=1e-3, atol=1e-5)
    assert distance.max() > 0.01
    now = network.state.drift[network.edges].sum(axis=1)
    np.testing.assert_array_equal(network.state.seen_drift[: network.n_edges], now)


def test_batch_scores_equal_single_scores():
    table, truth = tree_table(40, 5, 3000, 6)
    run = GraftingRun(table, EdgeGrafting(), seed=0)
    run.refit(np.array(sorted(truth)[:25]))
    run.counts.count_all()
    store, scoring = run.counts.store, run.scorer.scoring
    slots = np.arange(40 * 39 // 2)
    first, second = store.pairs.first[slots], store.pairs.second[slots]
    found, wanted = np.empty((3, len(slots))), np.empty(len(slots))
    starts = store.cell_offsets[slots]
    score_batch(first, second, starts, store.cells, run.counts.packed, scoring, found)
    score_slots(slots, run.counts.packed, store, scoring, run.counts.scratch, wanted)
    np.testing.assert_array_equal(found[0], wanted)
    assert ((found[2] > 0.0) == (found[0] <= run.threshold)).mean() > 0.99


def test_two_cores_learn_same_model_as_one(monkeypatch):
    table, _ = tree_table(60, 3, 1500, 8)
    found = {}
    for cores in (1, 2):
        monkeypatch.setattr(joblib, "cpu_count", lambda cores=cores: cores)
        run = drain(table, BestChoice())
        found[cores] = [step.activated for step in run.steps], run.outcome.objective
    assert found[1] == found[2]
