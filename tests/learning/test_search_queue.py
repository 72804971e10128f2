"""The order of tests equals that of a full priority queue over all pairs."""

from __future__ import annotations

import collections
import itertools

import naive
import numpy as np
import pytest
from fakes import random_table
from search_cases import all_scores, random_beliefs, scoring_by

from graftviz.learning.counts.packed import pack_table
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.queue import (
    ACTIVE,
    BY_CHANCE,
    BY_OFFSET,
    FROZEN,
    N_HUBS,
    QUEUE_SIZES,
    QUEUED,
    REMAINDER_SIZE,
    RESERVED,
    new_search_state,
    random_below,
    random_word,
)
from graftviz.learning.grafting.reservoir import EXHAUSTED, LIMIT, REACHED, ReservoirSearch
from graftviz.learning.trace import ADMITTED, DISPLACED_MINIMUM, PASSED, TOO_WEAK

VERDICTS = {
    "passed": PASSED,
    "admitted": ADMITTED,
    "too weak": TOO_WEAK,
    "displaced": DISPLACED_MINIMUM,
}


def pairs_of(search, slots):
    """Return the pairs of slots as a set; none may occur twice."""
    found = [tuple(pair) for pair in search.edges(np.asarray(slots, dtype=np.int64)).tolist()]
    assert len(set(found)) == len(found)
    return set(found)


def queued_slots(state):
    """Return the slots in all heaps of the queue."""
    slots = []
    for heap, here in enumerate(state.queue_slots):
        slots.extend(here[: state.sizes[QUEUE_SIZES + heap]].tolist())
    return slots


def places(search):
    """Return the pairs in each list of the engine."""
    state, stored = search.state, range(search.counts.store.pairs.size[0])
    everything = pairs_of(search, stored)
    n = search.counts.n_variables
    lists = {
        QUEUED: pairs_of(search, queued_slots(state)),
        RESERVED: pairs_of(search, state.reservoir_slots[: search.reservoir_size]),
        FROZEN: pairs_of(search, state.frozen[: search.frozen_size]),
        ACTIVE: pairs_of(search, np.flatnonzero(state.place[: len(everything)] == ACTIVE)),
    }
    for code, pairs in lists.items():
        assert pairs == pairs_of(search, np.flatnonzero(state.place[: len(everything)] == code))
    lists["undrawn"] = set(itertools.combinations(range(n), 2)) - everything
    assert len(lists["undrawn"]) == search.unseen_size
    partners = collections.Counter(itertools.chain.from_iterable(lists["undrawn"]))
    assert state.undrawn.tolist() == [partners[i] for i in range(n)]
    return lists


class Shadow:
    """Search and its plain twin, which checks every test of the search."""

    def __init__(self, seed, *, lam, by_history=True, full_queue=False):
        self.rng = np.random.default_rng(seed)
        n = int(self.rng.integers(4, 13))
        self.table = random_table(seed, n, 50)
        self.beliefs = random_beliefs(self.rng, self.table.cardinalities)
        capacity = int(self.rng.integers(1, n + 1))
        level = {"all freeze": 10.0, "all violate": 1e-9}.get(lam)
        if level is None:
            level = float(np.median(list(all_scores(self.table, self.beliefs).values())))
        self.threshold = level
        self.search = ReservoirSearch(
            PairCounts(self.table),
            capacity=capacity,
            seed=seed,
            order=BY_OFFSET if by_history else BY_CHANCE,
            full_queue=full_queue,
        )
        self.twin = naive.FullQueue(n, capacity, level, by_history, full_queue)
        self.active = set()
        self.round = 0

    @property
    def scoring(self):
        return scoring_by(self.search, self.beliefs)

    def boost(self):
        is_hub = self.rng.random(self.table.n_variables) < self.rng.choice([0.0, 0.2, 0.6])
        self.search.boost(is_hub, threshold=self.threshold)
        self.twin.boost(np.flatnonzero(is_hub).tolist())
        self.check_places()

    def test(self, limit, until=None):
        """Run tests of the search and replay its log in the twin, edge by edge."""
        search, twin = self.search, self.twin
        search.begin_step()
        ended = search.test(
            self.scoring, self.threshold, round_number=self.round, limit=limit, until=until
        )
        tests, replaced = search.log()
        replaced = iter(map(tuple, replaced.tolist()))
        scores = all_scores(self.table, self.beliefs)
        for edge, score, verdict in zip(
            map(tuple, tests.edges.tolist()), tests.scores, tests.verdicts, strict=True
        ):
            assert edge in twin.next_pairs(self.round)
            assert twin.tested.get(edge, 0) < self.round
            assert score == pytest.approx(scores[edge], rel=1e-12)
            expected, may_leave = twin.judge(score)
            assert verdict == VERDICTS[expected]
            displaced = next(replaced) if expected == "displaced" else None
            assert displaced is None or displaced in may_leave
            twin.settle(edge, score, self.round, displaced)
        assert next(replaced, None) is None
        assert search.refills == twin.refills
        self.check_end(ended, len(tests.scores), limit, until)
        self.check_places()
        return ended

    def check_end(self, ended, tests, limit, until):
        assert limit is None or tests <= limit
        if ended == LIMIT:
            assert tests == limit
        elif ended == REACHED:
            assert self.search.reservoir_size == until
        else:
            assert ended == EXHAUSTED
            assert not self.twin.next_pairs(self.round)
            outside = set(self.twin.pairs) - self.active - set(self.twin.reservoir)
            assert all(self.twin.tested[pair] == self.round for pair in outside)

    def check_places(self):
        """Check that every pair is in exactly one list, the same in search and twin."""
        found, twin = places(self.search), self.twin
        assert found[RESERVED] == set(twin.reservoir)
        assert found[FROZEN] == set(twin.frozen)
        assert found[ACTIVE] == self.active
        assert found["undrawn"] == twin.unseen
        assert found[QUEUED] == set(twin.queue) - twin.unseen
        assert self.search.counts.tables_counted == len(twin.tested)

    def activate(self, share):
        """Activate some edges of the reservoir, move the beliefs and update the reservoir."""
        size = self.search.reservoir_size
        chosen = self.search.state.reservoir_slots[:size][self.rng.random(size) < share].copy()
        edges = pairs_of(self.search, chosen)
        self.search.activate(chosen)
        self.active |= edges
        self.beliefs = random_beliefs(self.rng, self.table.cardinalities)
        left = pairs_of(self.search, self.search.rescore(self.scoring, self.threshold))
        scores = all_scores(self.table, self.beliefs)
        reservoir = {edge: scores[edge] for edge in self.twin.reservoir if edge not in edges}
        dropped = {edge for edge, score in reservoir.items() if score <= self.threshold}
        assert left == dropped
        exact = dict(zip(map(tuple, self.log_order()), self.stored_scores(), strict=True))
        for edge, score in reservoir.items():
            assert exact[edge] == pytest.approx(score, rel=1e-12)
            (self.twin.frozen if edge in dropped else self.twin.reservoir)[edge] = exact[edge]
        for edge in edges | dropped:
            del self.twin.reservoir[edge]
        self.check_places()

    def log_order(self):
        return self.search.edges(np.arange(self.search.counts.store.pairs.size[0])).tolist()

    def stored_scores(self):
        return self.search.state.score[: self.search.counts.store.pairs.size[0]]


@pytest.mark.parametrize("lam", ["all freeze", "some violate", "all violate"])
@pytest.mark.parametrize("hubs", [False, True])
@pytest.mark.parametrize("full_queue", [False, True])
def test_every_tested_edge_has_the_least_priority(lam, hubs, full_queue):
    for seed in range(6):
        shadow = Shadow(seed, lam=lam, full_queue=full_queue)
        patient = seed % 2  # so that hubs change long before all pairs are drawn
        for _ in range(10):
            shadow.round += 1
            if hubs:
                shadow.boost()
            ended = shadow.test(int(shadow.rng.choice([1, 4, 9] if patient else [2, 10, 100])))
            if ended == LIMIT and not patient and shadow.rng.random() < 0.5:
                shadow.test(None, until=shadow.search.reservoir_size + 1)
            elif not patient and shadow.rng.random() < 0.5:
                shadow.test(None)
            shadow.activate(0.4)


@pytest.mark.parametrize("hubs", [False, True])
def test_frozen_edges_return_with_equal_priority_without_history(hubs):
    for seed in range(12):
        shadow = Shadow(seed, lam="some violate", by_history=False)
        for _ in range(6):
            shadow.round += 1
            if hubs:
                shadow.boost()
            shadow.test(int(shadow.rng.choice([1, 5, 40])))
            shadow.activate(0.5)


@pytest.mark.parametrize("full_queue", [False, True])
def test_a_round_without_limit_tests_everything_once(full_queue):
    for seed in range(6):
        shadow = Shadow(seed, lam="all freeze", full_queue=full_queue)
        possible = shadow.search.counts.tables_possible
        for shadow.round in (1, 2):
            assert shadow.test(None) == EXHAUSTED
            assert shadow.search.tests_logged == possible
            assert shadow.test(None) == shadow.test(5) == EXHAUSTED
            assert shadow.search.tests_logged == 0


@pytest.mark.parametrize("hubs", [False, True])
@pytest.mark.parametrize("batch", [1, 17, 200])
def test_all_pairs_of_forty_variables_are_drawn_once(hubs, batch):
    """Check beyond the point where the remaining pairs are listed instead of guessed."""
    rng = np.random.default_rng(batch)
    table = random_table(1, 40, 30)
    beliefs = random_beliefs(rng, table.cardinalities)
    search = ReservoirSearch(PairCounts(table), capacity=3, seed=batch)
    threshold = 10.0
    drawn = []
    while len(drawn) < 780:
        if hubs:
            search.boost(rng.random(40) < 0.02, threshold=threshold)
        search.begin_step()
        assert search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=batch) in (
            LIMIT,
            EXHAUSTED,
        )
        drawn += map(tuple, search.log()[0].edges.tolist())
    assert set(drawn) == set(itertools.combinations(range(40), 2))
    assert len(drawn) == 780
    assert search.unseen_size == search.queue_size == 0
    assert search.frozen_size == 780
    assert (
        search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=batch)
        == EXHAUSTED
    )


def test_hubs_that_appear_after_the_remainder_is_listed():
    """Check that pairs drawn for a late hub are not drawn again from the list."""
    table = random_table(1, 40, 30)
    beliefs = random_beliefs(np.random.default_rng(1), table.cardinalities)
    threshold = 10.0
    for seed in range(5):
        search = ReservoirSearch(PairCounts(table), capacity=3, seed=seed)
        search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=760)
        listed = 0
        while search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=1) == LIMIT:
            before, listed = listed, search.state.sizes[REMAINDER_SIZE]
            if listed % 4 == 3 and listed != before:
                hub = np.argmax(search.state.undrawn * (search.state.boosts == 0))
                search.boost(np.arange(40) == hub, threshold=threshold)
            places(search)
        assert search.state.sizes[N_HUBS] > 0
        assert len(search.log()[0].edges) == search.frozen_size == 780


def test_edges_between_hubs_come_first_and_other_hub_edges_next():
    table = random_table(3, 12, 40)
    beliefs = random_beliefs(np.random.default_rng(0), table.cardinalities)
    threshold = 10.0
    is_hub = np.isin(np.arange(12), (4, 9))
    search = ReservoirSearch(PairCounts(table), capacity=2, seed=0)
    search.boost(is_hub, threshold=threshold)
    search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=None)
    edges = search.log()[0].edges.tolist()
    assert edges[0] == [4, 9]
    assert all({4, 9} & set(edge) for edge in edges[1:21])
    assert not any({4, 9} & set(edge) for edge in edges[21:])


def rank_of_next(seed, table, packed, beliefs, *, hub, before, full_queue):
    """Draw some pairs; return the number of candidates of the next draw and the rank drawn."""
    counts, threshold = PairCounts(table, packed), 10.0
    n = table.n_variables
    search = ReservoirSearch(counts, capacity=1, seed=seed, full_queue=full_queue)
    if hub is not None:
        search.boost(np.arange(n) == hub, threshold=threshold)
    search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=before)
    drawn = {tuple(edge) for edge in search.log()[0].edges.tolist()}
    left = [p for p in itertools.combinations(range(n), 2) if hub is None or hub in p]
    left = [pair for pair in left if pair not in drawn]
    search.begin_step()
    search.test(scoring_by(search, beliefs), threshold, round_number=1, limit=1)
    return len(left), left.index(tuple(search.log()[0].edges[0].tolist()))


@pytest.mark.parametrize(
    ("n", "hub", "before", "full_queue"),
    [
        (6, None, 0, False),
        (6, None, 0, True),
        (6, None, 9, False),
        (30, None, 431, False),
        (6, 2, 0, False),
        (90, 2, 87, False),
    ],
    ids=["drawn", "full queue", "some left", "few left", "at a hub", "few left at a hub"],
)
def test_equal_priorities_come_in_uniform_order(n, hub, before, full_queue):
    """Check pairs drawn by guessing and from the list of remaining pairs."""
    table = random_table(5, n, 10)
    packed = pack_table(table)
    beliefs = random_beliefs(np.random.default_rng(1), table.cardinalities)
    options = {"hub": hub, "before": before, "full_queue": full_queue}
    draws = [rank_of_next(seed, table, packed, beliefs, **options) for seed in range(600)]
    (cells,) = {count for count, _ in draws}
    found = np.bincount([rank for _, rank in draws], minlength=cells)
    expected = len(draws) / cells
    statistic = ((found - expected) ** 2 / expected).sum()
    assert statistic < cells - 1 + 4 * (2 * (cells - 1)) ** 0.5


def test_generator_equals_its_twin_in_whole_numbers():
    state = new_search_state(3, 1, 42)
    twin = int(state.random[0])
    for _ in range(50):
        twin, word = naive.splitmix64(twin)
        assert int(random_word(state.random)) == word
        assert int(state.random[0]) == twin
    for bound in (1, 2, 7, 10**12):
        values = [int(random_below(state.random, bound)) for _ in range(50)]
        assert 0 <= min(values) <= max(values) < bound


@pytest.mark.parametrize("hubs", [False, True])
def test_screened_pairs_are_tested_in_the_order_of_their_scores(hubs):
    """Check that a boosted edge comes first if its boost exceeds the lead of another score."""
    table = random_table(11, 12, 60)
    rng = np.random.default_rng(2)
    beliefs = random_beliefs(rng, table.cardinalities)
    search = ReservoirSearch(PairCounts(table), capacity=5, seed=0)
    quick = scoring_by(search, beliefs)
    search.screen(quick, 0.05)
    assert search.counts.tables_counted == search.queue_size == 66
    assert search.unseen_size == 0
    assert len(search.inactive_scores(quick, is_current=False)[0]) == 0
    is_hub = np.arange(12) < (2 if hubs else 0)
    search.boost(is_hub, threshold=0.05)
    scores = all_scores(table, beliefs)
    priority = {
        pair: 1.0 - score / 0.05 - is_hub[list(pair)].sum() for pair, score in scores.items()
    }
    other = random_beliefs(rng, table.cardinalities)
    search.test(scoring_by(search, other), 0.05, round_number=1, limit=None)
    tested = [tuple(edge) for edge in search.log()[0].edges.tolist()]
    assert len(tested) == 66
    keys = [round(priority[pair], 9) for pair in tested]
    assert keys == sorted(keys)
    slots, found = search.inactive_scores(scoring_by(search, other), is_current=False)
    assert len(slots) == 66
    wanted = all_scores(table, other)
    pairs = [tuple(edge) for edge in search.edges(slots).tolist()]
    np.testing.assert_allclose(found, [wanted[pair] for pair in pairs], rtol=1e-12)
