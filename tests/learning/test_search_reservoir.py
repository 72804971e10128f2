"""The reservoir: stored edges, the choice among them, and resizing."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from search_cases import all_scores, random_beliefs, scoring_by, table_of

from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.reservoir import EXHAUSTED, ReservoirSearch
from graftviz.learning.scores.kernels import score_slots

EVERYTHING = 1e-12


def case(seed, n=9):
    rng = np.random.default_rng(seed)
    table = table_of(seed, rng.integers(2, 6, size=n).tolist(), 60)
    return table, random_beliefs(rng, table.cardinalities)


def started(seed, *, n=9, capacity=10, threshold=EVERYTHING, limit=None, **options):
    """Return a search after one round of tests, with table and beliefs; all scores differ."""
    table, beliefs = case(seed, n)
    counts = PairCounts(table, **options)
    search = ReservoirSearch(counts, capacity=capacity, seed=seed)
    search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=limit)
    return search, table, beliefs


def reservoir_of(search):
    """Return the reservoir as {pair: score}."""
    size = search.reservoir_size
    edges = search.edges(search.state.reservoir_slots[:size]).tolist()
    found = dict(zip(map(tuple, edges), search.state.reservoir_keys[:size].tolist(), strict=True))
    assert len(found) == size
    return found


def frozen(search):
    slots = search.state.frozen[: search.frozen_size]
    return {tuple(edge) for edge in search.edges(slots).tolist()}


def pairs_in(array):
    return [tuple(edge) for edge in array.tolist()]


def test_log_grows_during_tests_and_is_returned_read_only():
    search, *_ = started(3, n=110, limit=5000)
    search.test(
        scoring_by(search, search.counts.packed.margins / 60),
        EVERYTHING,
        round_number=1,
        limit=None,
    )
    tests, replaced = search.log()
    assert set(pairs_in(tests.edges)) == set(itertools.combinations(range(110), 2))
    assert len(tests.edges) == search.counts.tables_possible > 5000
    assert not any(a.flags.writeable for a in (tests.edges, tests.scores, tests.verdicts, replaced))
    search.begin_step()
    assert (search.tests_logged, len(search.log()[0].scores), len(search.log()[1])) == (0, 0, 0)


def test_a_small_cache_changes_neither_order_nor_scores():
    plain, *_ = started(4, n=20, limit=150)
    tight, *_ = started(4, n=20, limit=150, max_bytes=100)
    np.testing.assert_array_equal(plain.log()[0].edges, tight.log()[0].edges)
    np.testing.assert_array_equal(plain.log()[0].scores, tight.log()[0].scores)


alphas = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(st.integers(0, 50), alphas, st.integers(1, 12), st.sampled_from([None, 1, 2]))
def test_choice_equals_plain_rule(seed, alpha, budget, digits):
    """Check also coarse scores, of which many are equal."""
    search, *_ = started(seed, capacity=15)
    if digits is not None:
        search.state.reservoir_keys[:] = search.state.reservoir_keys.round(digits)
    scores = reservoir_of(search)
    choice = search.choose(alpha, budget)
    chosen, skipped = search.edges(choice.slots), search.edges(choice.skipped)
    expected_chosen, expected_skipped, tau = naive.choose_edges(scores, alpha, budget)
    assert pairs_in(chosen) == expected_chosen
    assert pairs_in(skipped) == expected_skipped
    assert 1 <= len(chosen) <= (1 if alpha == 1 else budget)
    assert len(np.unique(chosen)) == 2 * len(chosen)
    view = choice.view
    assert scores == dict(zip(pairs_in(view.edges), view.scores.tolist(), strict=True))
    assert (np.diff(view.scores) <= 0).all()
    assert view.capacity == 15
    assert view.maximum == max(scores.values()) == scores[pairs_in(chosen)[0]]
    assert view.mean == pytest.approx(np.mean(list(scores.values())))
    assert view.tau == pytest.approx(tau)
    assert view.tau <= view.maximum
    assert all(scores[pair] >= view.tau for pair in pairs_in(chosen) + pairs_in(skipped))
    assert not any(array.flags.writeable for array in (view.edges, view.scores))
    assert reservoir_of(search) == scores


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("score", [0.1, 0.7, 1 / 3])
def test_equal_scores_are_all_eligible(alpha, score):
    """Check equal scores, whose mean may exceed them by rounding."""
    for capacity in (3, 6, 7, 36):
        search, *_ = started(0, capacity=capacity)
        search.state.reservoir_keys[:] = score
        choice = search.choose(alpha, 100)
        assert len(choice.slots) + len(choice.skipped) == capacity


def test_a_score_equal_to_lambda_does_not_violate():
    search, _, beliefs = started(3, capacity=36)
    score = sorted(reservoir_of(search).values())[20]
    at_lam = score
    assert score not in reservoir_of(started(3, capacity=36, threshold=at_lam)[0]).values()
    search.rescore(scoring_by(search, beliefs), at_lam)
    assert sorted(reservoir_of(search).values())[0] > score
    assert search.reservoir_size == 36 - 21


def test_smaller_reservoir_drops_the_weakest_edges():
    search, _, beliefs = started(5, capacity=20)
    before = reservoir_of(search)
    search.resize(6)
    left = pairs_in(search.edges(search.rescore(scoring_by(search, beliefs), EVERYTHING)))
    order = sorted(before, key=before.get)
    assert left == order[: len(order) - 6]
    assert set(reservoir_of(search)) == set(order[-6:])
    assert search.choose(0.5, 9).view.capacity == 6


def test_larger_reservoir_keeps_edges_and_accepts_more():
    search, table, beliefs = started(5, capacity=4)
    before = reservoir_of(search)
    search.resize(30)
    assert reservoir_of(search) == before
    assert search.rescore(scoring_by(search, beliefs), EVERYTHING).size == 0
    search.test(scoring_by(search, beliefs), EVERYTHING, round_number=2, limit=None)
    scores = all_scores(table, beliefs)
    best = sorted(scores.values(), reverse=True)[:30]
    np.testing.assert_allclose(sorted(reservoir_of(search).values(), reverse=True), best)


def test_released_edges_are_frozen_and_tested_again():
    search, _, beliefs = started(2, capacity=8)
    slots = search.state.reservoir_slots[:5].copy()
    chosen = pairs_in(search.edges(slots))
    search.activate(slots)
    search.release(np.array(chosen[:2]))
    assert set(chosen[:2]) <= frozen(search)
    assert len(search.rescore(scoring_by(search, beliefs), EVERYTHING)) == 0
    search.begin_step()
    ended = search.test(scoring_by(search, beliefs), EVERYTHING, round_number=2, limit=None)
    assert ended == EXHAUSTED
    tested = set(pairs_in(search.log()[0].edges))
    assert set(chosen[:2]) <= tested
    assert not set(chosen[2:]) & tested
    slots, _ = search.inactive_scores(scoring_by(search, beliefs), is_current=False)
    assert len(slots) == search.counts.tables_possible - len(chosen) + 2


def test_pair_is_scored_again_only_after_beliefs_of_an_end_moved():
    table, beliefs = case(7)
    counts = PairCounts(table)
    search = ReservoirSearch(counts, capacity=10, seed=7)
    drift = np.zeros(table.n_variables)
    scoring = scoring_by(search, beliefs, lam=0.01, significance=2.0)._replace(drift=drift)
    every = table.n_variables * (table.n_variables - 1) // 2
    search.test(scoring, EVERYTHING, round_number=1, limit=None)
    slots, before = search.inactive_scores(scoring, is_current=False)
    assert len(slots) == every
    beliefs[:] = random_beliefs(np.random.default_rng(1), table.cardinalities)
    drift[[2, 5]] += 0.25
    afresh = np.empty(every)
    score_slots(slots, counts.packed, counts.store, scoring, counts.scratch, afresh)
    moved = np.isin(search.edges(slots), [2, 5]).any(axis=1)
    search.rescore(scoring, EVERYTHING)
    search.begin_step()
    search.test(scoring, EVERYTHING, round_number=2, limit=None)
    _, scores = search.inactive_scores(scoring, is_current=False)
    np.testing.assert_array_equal(scores, np.where(moved, afresh, before))
    assert 0 < np.count_nonzero(scores != before) <= moved.sum()
    search.invalidate_scores()
    np.testing.assert_array_equal(search.inactive_scores(scoring, is_current=False)[1], afresh)
