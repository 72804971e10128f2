"""The lazy scan of edge grafting: its maximum while beliefs change."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from search_cases import all_scores, random_beliefs, scoring_by, table_of

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.exhaustive import ExhaustiveSearch
from graftviz.learning.scores.kernels import COUNT, ROOT, score_slots


class MovingBeliefs:
    """Beliefs that move node by node; drift sums the lengths of all moves, as in a fit."""

    def __init__(self, seed, table, **options):
        self.rng = np.random.default_rng(seed)
        self.table = table
        self.offsets = np.concatenate([[0], np.cumsum(table.cardinalities)])
        self.beliefs = random_beliefs(self.rng, table.cardinalities)
        self.drift = np.zeros(table.n_variables)
        self.search = ExhaustiveSearch(PairCounts(table, **options))
        while self.search.count(2):
            pass

    def move(self, share, size):
        """Move a share of the nodes a few steps each, towards random distributions."""
        for i in np.flatnonzero(self.rng.random(self.table.n_variables) < share):
            belief = self.beliefs[self.offsets[i] : self.offsets[i + 1]]
            for _ in range(int(self.rng.integers(1, 4))):
                goal = random_beliefs(self.rng, [len(belief)])
                step = size * self.rng.random() * (goal - belief)
                belief += step
                self.drift[i] += np.linalg.norm(step)

    def scoring(self, square_root=False):
        return scoring_by(self.search, self.beliefs, unit=ROOT if square_root else COUNT)

    def best(self, square_root=False):
        return self.search.best(self.scoring(square_root), self.drift)

    def score_all(self, square_root=False):
        self.search.score_all(self.scoring(square_root), self.drift)

    def inactive_scores(self, square_root=False):
        scores = all_scores(self.table, self.beliefs, square_root)
        return {pair: s for k, (pair, s) in enumerate(scores.items()) if not self.search.active[k]}

    def check(self, square_root=False):
        """Check that the scan finds the maximum over all inactive pairs."""
        slot, score = self.best(square_root)
        scores = self.inactive_scores(square_root)
        assert score == pytest.approx(max(scores.values()), rel=1e-12)
        assert score == pytest.approx(scores[self.search.edge(slot)], rel=1e-12)
        return slot


def mixed_table(seed, n=9, most=5, rows=80):
    sizes = np.random.default_rng(seed).integers(1, most + 1, size=n).tolist()
    return table_of(seed, sizes, rows)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("square_root", [False, True])
def test_the_best_is_the_maximum_of_all(seed, size, square_root):
    wanderer = MovingBeliefs(seed, mixed_table(seed))
    if seed % 2:
        wanderer.score_all(square_root)
    for step in range(25):
        slot = wanderer.check(square_root)
        if step % 2:
            wanderer.search.active[slot] = True
        wanderer.move(0.3, size)


def test_ties_are_won_by_the_smaller_pair():
    """Check copies of a column with equal beliefs, which have equal scores with any third."""
    base = table_of(5, [3, 3], 50).codes
    table = DiscreteTable.from_codes(np.concatenate([base, base, base]).T, cardinalities=[3] * 6)
    wanderer = MovingBeliefs(0, table)
    wanderer.beliefs[:] = np.tile(wanderer.beliefs[:6], 3)
    found = []
    for _ in range(15):
        slot = wanderer.check()
        found.append((round(wanderer.best()[1], 12), wanderer.search.edge(slot)))
        wanderer.search.active[slot] = True
    for score in {score for score, _ in found}:
        equal = [pair for other, pair in found if other == score]
        assert equal == sorted(equal)
    assert len({score for score, _ in found}) <= 3
    assert {pair for _, pair in found} == set(itertools.combinations(range(6), 2))


def test_pairs_that_cannot_be_the_maximum_are_not_scored_again():
    wanderer = MovingBeliefs(6, mixed_table(6, n=15))
    wanderer.score_all()
    wanderer.check()
    before = wanderer.search.scores.copy()
    wanderer.move(1.0, 1e-4)
    wanderer.check()
    looked_at = np.count_nonzero(wanderer.search.scores != before)
    assert 1 <= looked_at <= 20


def test_edges_that_were_released_can_be_the_best_again():
    wanderer = MovingBeliefs(3, mixed_table(3))
    taken = []
    for _ in range(6):
        slot = wanderer.check()
        wanderer.search.active[slot] = True
        taken.append(wanderer.search.edge(slot))
        wanderer.move(0.5, 0.2)
    wanderer.search.release(np.array([taken[0], taken[3]]))
    assert np.count_nonzero(wanderer.search.active) == 4
    assert {taken[0], taken[3]} <= set(wanderer.inactive_scores())
    wanderer.check()
    wanderer.search.release(np.array(taken[1:3]))
    found = []
    while True:
        slot, _ = wanderer.best()
        if slot < 0:
            break
        wanderer.check()
        found.append(wanderer.search.edge(slot))
        wanderer.search.active[slot] = True
    assert set(taken[:4]) <= set(found)


def test_with_a_significance_the_best_is_the_maximum_too():
    wanderer = MovingBeliefs(8, mixed_table(8))
    for _ in range(12):
        scoring = scoring_by(wanderer.search, wanderer.beliefs, lam=0.01, significance=2.0)
        slot, score = wanderer.search.best(scoring, wanderer.drift)
        out = np.empty(len(wanderer.search.scores))
        counts = wanderer.search.counts
        everything = np.arange(len(out))
        score_slots(everything, counts.packed, counts.store, scoring, counts.scratch, out)
        out[wanderer.search.active] = -np.inf
        assert score == out[slot] == out.max()
        wanderer.search.active[slot] = True
        wanderer.move(0.4, 0.1)


def test_scoring_all_finds_the_same_best_and_counts_every_inactive_pair():
    bounded, plain = (MovingBeliefs(4, mixed_table(4)) for _ in range(2))
    for _ in range(8):
        for wanderer in (bounded, plain):
            wanderer.move(0.5, 0.01)
        slot, best = bounded.best()
        inactive = np.count_nonzero(~plain.search.active)
        before = plain.search.tests
        found, score = plain.search.best(plain.scoring(), plain.drift, scores_all=True)
        assert (found, score) == (slot, pytest.approx(best, rel=1e-12))
        assert plain.search.tests - before == inactive
        for wanderer in (bounded, plain):
            wanderer.search.active[slot] = True
    assert bounded.search.tests < plain.search.tests
