"""The test of pairs: its statistic, its level and the usual significance."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from learner_cases import drain, parts_of, significance_of
from scipy.stats import gamma, norm

import graftviz as gv
from graftviz import BestChoice, DiscreteTable, EdgeGrafting, PairwiseMRF, learn
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import random_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.likelihood import nlpl
from graftviz.learning.scores.kernels import slack_of
from graftviz.learning.scores.pair_test import (
    PairTest,
    UsualLevel,
    chance_of,
    judge,
    level_of,
    pair_test,
    separating_significance,
    shape_of,
    threshold_of,
)
from graftviz.learning.trace import Remark

LEVELS = (1.5, 3.0, 4.5)


def independent(n: int, states: int, rows: int, seed: int = 0, skew: float = 1.0) -> DiscreteTable:
    shares = skew ** np.arange(states)
    random = np.random.default_rng(seed)
    codes = random.choice(states, size=(rows, n), p=shares / shares.sum())
    return DiscreteTable.from_codes(codes, cardinalities=[states] * n)


# -------------------------------------------------------------------------------- one pair


def of_counts(observed: np.ndarray, kappa: float) -> PairTest:
    """Return the test of the two variables of a table of counts."""
    margins = observed.sum(axis=1), observed.sum(axis=0)
    offsets = np.cumsum([0, *observed.shape])
    return pair_test(np.concatenate(margins), offsets, observed.sum(), kappa)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw expected and observed counts and their variance; states may be rare or unobserved."""
    sizes = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shares = [
        rng.dirichlet(np.full(size, draw(st.sampled_from([0.2, 1.0, 20.0])))) for size in sizes
    ]
    mixed = np.outer(*shares)
    cell = tuple(int(rng.integers(size)) for size in sizes)
    mixed[cell] += draw(st.sampled_from([0.0, 0.005, 0.05, 0.3]))
    rows = draw(st.sampled_from([8, 60, 500, 20_000]))
    observed = rng.multinomial(rows, mixed.ravel() / mixed.sum()).reshape(sizes).astype(float)
    observed *= draw(st.sampled_from([1.0, 0.5, 1.75]))
    assume(observed.sum() >= 6.0)
    margins = observed.sum(axis=1), observed.sum(axis=0)
    expected = np.outer(*margins) / observed.sum()
    expected += draw(st.sampled_from([0.0, 0.3])) * (observed - expected)
    impurity = np.prod([1 - np.sum((own / observed.sum()) ** 2) for own in margins])
    return expected, observed, float(impurity * draw(st.sampled_from([1.0, 0.4])))


@given(pairs(), st.sampled_from(LEVELS))
def test_judgement_of_a_pair_equals_that_of_the_twin(
    pair: tuple[np.ndarray, np.ndarray, float], kappa: float
) -> None:
    expected, observed, variance = pair
    total = float(np.sum((expected - observed) ** 2))
    # The counts of other pairs stand before those of the pair.
    counts, cells = expected.ravel(), observed.ravel()
    found = judge(of_counts(observed, kappa), 0, 1, total, variance, counts, cells)
    assert found == pytest.approx(naive.judged(expected, observed, variance, kappa), rel=1e-3)


def test_pair_that_cannot_vary_never_passes() -> None:
    for observed in (np.array([[70.0, 30.0], [0.0, 0.0]]), np.array([[70.0, 30.0]])):
        test = of_counts(observed, 2.0)
        flat = observed.ravel()
        assert threshold_of(test, 0, 1) == 0.0
        assert judge(test, 0, 1, 50.0, 0.1, flat + 5.0, flat) == (0.0, 0.0, 0.0)


def permuted(counts: np.ndarray) -> np.ndarray:
    """Return the matrix of 1{x_r = x_s}, centred in rows and columns."""
    states = np.repeat(np.eye(len(counts)), counts, axis=0)
    centred = states - states.mean(axis=0)
    return centred @ centred.T


@pytest.mark.parametrize(
    "margins",
    [
        ([6, 6], [3, 9]),
        ([30, 20, 10], [15, 15, 15, 15]),
        ([58, 1, 1], [50, 10]),
        ([2, 58], [3, 57]),
    ],
)
def test_mean_and_variance_are_those_of_random_permutations(
    margins: tuple[list[int], list[int]],
) -> None:
    counts = [np.array(own) for own in margins]
    own, other = map(permuted, counts)
    rng, rows = np.random.default_rng(0), len(own)
    statistics = []
    for _ in range(20_000):
        order = rng.permutation(rows)
        statistics.append(np.vdot(own, other[np.ix_(order, order)]))
    mean, variance = naive.moments_of_pair(*counts)
    assert np.mean(statistics) == pytest.approx(mean, rel=0.03)
    assert np.var(statistics) == pytest.approx(variance, rel=0.08)
    test = pair_test(np.concatenate(counts), np.cumsum([0, *map(len, counts)]), rows, 3.0)
    assert shape_of(test, 0, 1) == pytest.approx(mean**2 / variance, rel=1e-9)


@pytest.mark.parametrize("kappa", [3.0, 4.5])
def test_threshold_depends_on_states_and_their_shares(kappa: float) -> None:
    even = [pair_test([500] * 2 * s, np.array([0, s, 2 * s]), 500 * s, kappa) for s in (2, 3, 6)]
    binary, *_, many = needed = [threshold_of(test, 0, 1) for test in even]
    # Two states: nearly the square of a normal number.
    assert binary == pytest.approx(kappa, rel=0.01)
    assert needed == sorted(needed, reverse=True)
    rare = pair_test([2980, 20] * 2, np.array([0, 2, 4]), 3000, kappa)
    assert threshold_of(rare, 0, 1) > 1.3 * binary > many > 1.0


# ---------------------------------------------------------------------------------- levels


@pytest.mark.parametrize("rows", [300, 3000])
@pytest.mark.parametrize(
    "shares", [[0.99, 0.01], [0.5, 0.49, 0.01], [0.3, 0.3, 0.39, 0.01], [0.97, 0.01, 0.01, 0.01]]
)
@pytest.mark.parametrize("kappa", [2.0, 3.0])
def test_independent_pairs_with_rare_states_pass_at_the_level_or_less_often(
    rows: int, shares: list[float], kappa: float
) -> None:
    n, states, passed = 250, len(shares), 0
    codes = np.random.default_rng(rows).choice(states, size=(rows, n), p=shares)
    indicators = np.eye(states)[codes].reshape(rows, -1)
    counts = (indicators.T @ indicators).reshape(n, states, n, states)
    margins = indicators.sum(axis=0)
    test = pair_test(margins, np.arange(n + 1) * states, rows, kappa)
    own = margins.reshape(n, states)
    for i, j in itertools.combinations(range(n), 2):
        observed = np.ascontiguousarray(counts[i, :, j]).ravel()
        expected = np.outer(own[i], own[j]).ravel() / rows
        total = float(np.sum((expected - observed) ** 2))
        variance = test.impurity[i] * test.impurity[j]
        passed += judge(test, i, j, total, variance, expected, observed)[2] > 1.0
    count = n * (n - 1) / 2
    chance = level_of(kappa) * count
    assert level_of(kappa) == pytest.approx(2 * norm.sf(kappa))
    assert passed <= 1.1 * chance + 3 * np.sqrt(chance)


def test_chances_are_those_of_the_gamma_distribution() -> None:
    n, rows, kappa = 60, 2000, 3.0
    table = independent(n, 3, rows, skew=0.6)
    margins = np.concatenate([table.state_counts(i) for i in range(n)])
    test = pair_test(margins, np.arange(n + 1) * 3, rows, kappa)
    every = np.array(list(itertools.combinations(range(n), 2)))
    shares = []
    for i, j in every:
        observed = table.joint_counts(i, j).ravel().astype(float)
        expected = np.outer(table.state_counts(i), table.state_counts(j)).ravel() / rows
        variance = test.impurity[i] * test.impurity[j]
        total = float(np.sum((expected - observed) ** 2))
        found = judge(test, i, j, total, variance, expected, observed)
        shares.append(min(found[2], 1.0))
    chances = chance_of(test, every, np.array(shares))
    i, j = every[7]
    shape = shape_of(test, i, j)
    multiple = shares[7] * threshold_of(test, i, j)
    assert chances[7] == pytest.approx(gamma.sf(shape * multiple**2, shape), rel=1e-3)
    # They are distributed evenly, and not below the level.
    assert np.quantile(chances, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.04)
    assert chances.min() >= level_of(kappa) * 0.999


def test_chance_is_one_where_rare_states_decide() -> None:
    test = pair_test([990, 10, 990, 10, 600, 400], np.array([0, 2, 4, 6]), 1000, 3.0)
    found = chance_of(test, np.array([[0, 1], [0, 2], [1, 2]]), np.full(3, 0.9))
    assert found[0] == 1.0
    assert max(found[1], found[2]) < 0.1


# ----------------------------------------------------------------------------------- slack


@given(pairs(), st.floats(0.0, 1.0), st.sampled_from(LEVELS))
def test_pair_does_not_pass_within_its_slack(
    pair: tuple[np.ndarray, np.ndarray, float], part: float, kappa: float
) -> None:
    """Check the largest changes that a drift may cause: of the norm by it, of M by 5/2 of it."""
    expected, observed, variance = pair
    rows, factor = observed.sum(), 2.0
    multiple, needed, _ = naive.judged(expected, observed, variance, kappa)
    assume(variance > 1e-6)
    drift = part * slack_of.py_func(multiple, needed, variance, factor, rows)
    assume(multiple < needed)
    least = variance - 2.5 * drift
    norm_after = factor * np.linalg.norm(expected - observed) / rows + drift
    assert least >= 0.0
    assert norm_after <= needed * factor * np.sqrt(least / rows) * (1 + 1e-9) + 1e-12


# ----------------------------------------------------------------------------- significance


@pytest.mark.parametrize("n", [10, 60])
@pytest.mark.parametrize("states", [2, 3, 6])
def test_about_one_pair_in_fifty_variables_passes_the_usual_significance(
    n: int, states: int
) -> None:
    found = significance_of(independent(n, states, 100_000))
    assert found == pytest.approx(norm.isf(1 / (50 * (n - 1))), rel=0.005)


def test_variables_that_do_not_vary_have_no_pairs() -> None:
    table = independent(20, 2, 500)
    codes = np.concatenate([table.codes, np.zeros((30, 500), dtype=np.uint8)]).T
    some = DiscreteTable.from_codes(codes, cardinalities=[2] * 50)
    assert significance_of(some) == significance_of(table)


def test_pairs_of_few_variables_pass_in_one_of_a_hundred_tables() -> None:
    for few in (independent(3, 2, 50), independent(3, 1, 50)):
        assert significance_of(few) == pytest.approx(norm.isf(0.005), rel=0.005)


@pytest.mark.parametrize(("states", "skew"), [(2, 1.0), (3, 0.5), (5, 0.4)])
def test_about_one_pair_in_fifty_independent_variables_becomes_an_edge(
    states: int, skew: float
) -> None:
    tables = [independent(50, states, 1500, seed, skew) for seed in range(12)]
    edges = sum(learn(table, BestChoice()).n_edges for table in tables)
    assert 1 <= edges <= 30


@pytest.mark.parametrize("size", [40, 2000])
def test_significance_is_not_lowered_by_chance(size: int) -> None:
    lowered = 0
    for seed in range(80):
        chances = np.random.default_rng(seed).random(size)
        lowered += separating_significance(chances[chances >= level_of(3.0)], 3.0) < 3.0
    assert lowered <= 2


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_lowered_significance_admits_more_edges_than_chance(share: float) -> None:
    rng = np.random.default_rng(5)
    is_edge = rng.random(4000) < share
    multiples = np.abs(rng.normal(size=4000) + is_edge * rng.normal(scale=2.0, size=4000))
    below = multiples <= 3.5
    lowered = separating_significance(2 * norm.sf(multiples[below]), 3.5)
    admitted = is_edge[below & (multiples > lowered)]
    assert 1.5 <= lowered < 3.0
    assert admitted.mean() > 0.5
    # Among the next pairs, edges are no longer in the clear majority.
    following = is_edge[(multiples <= lowered) & (multiples > lowered - 0.3)]
    assert lowered == 1.5 or following.mean() < 0.75


def test_significance_without_pairs_is_not_lowered() -> None:
    assert separating_significance(np.zeros(0), 3.0) == 3.0


def dense_model() -> PairwiseMRF:
    graph = random_graph(30, probability=0.5, seed=1)
    return random_model(graph.edges, [2] * 30, node_sigma=0.0, edge_sigma=0.12, seed=1)


@pytest.mark.parametrize("learner", [BestChoice(), EdgeGrafting()])
def test_runs_lower_the_significance_on_data_with_many_weak_edges(
    learner: BestChoice | EdgeGrafting,
) -> None:
    model = dense_model()
    train, test = (sample_gibbs(model, 4000, seed=seed).table for seed in (2, 3))
    usual = significance_of(train)
    strict = learn(train, type(learner)(significance=usual))
    run = drain(train, learner)
    lowest = run.steps[-1].test.significance
    assert run.steps[0].test.significance == usual > lowest
    assert run.outcome.automatic["significance"] == run.outcome.certificate.threshold == lowest
    assert run.outcome.certificate.proves_optimality
    (step,) = [step for step in run.steps if step.notes]
    assert step.notes[-1] == Remark("notes.lowered", {"before": usual, "after": lowest})
    assert step.test.significance == lowest

    truth = set(map(tuple, model.edges.tolist()))
    edges, before = ({*map(tuple, m.edges.tolist())} for m in (run.outcome.model(), strict.model))
    added = edges - before
    assert len(edges) > 1.5 * len(before)
    assert len(added & truth) > 0.5 * len(added)
    assert nlpl(run.outcome.model(), test) < nlpl(strict.model, test)


def test_changed_options_do_not_raise_a_lowered_significance() -> None:
    model = dense_model()
    steps = BestChoice().steps(sample_gibbs(model, 4000, seed=2).table, seed=0)
    step = next(steps)
    usual = step.test.significance
    while step.test.significance == usual:
        step = next(steps)
    assert steps.send(BestChoice(alpha=0.0)).test.significance == step.test.significance < usual
    assert steps.send(BestChoice(significance=1.2)).test.significance == 1.2


def coins_beside_factors(seed: int) -> pd.DataFrame:
    """Return 30 answers that three hidden traits cause, and 20 coins."""
    random = np.random.default_rng(seed)
    traits, loadings = random.normal(size=(1000, 3)), 0.8 * random.normal(size=(3, 30))
    answers = traits @ loadings + random.logistic(size=(1000, 30)) > 0
    coins = random.integers(0, 2, (1000, 20))
    return pd.DataFrame(np.hstack([answers, coins]).astype(int)).add_prefix("c")


def test_a_lowered_level_gives_independent_columns_few_edges():
    results = [gv.learn(coins_beside_factors(seed)) for seed in (0, 1)]
    alone = [gv.learn(coins_beside_factors(seed).iloc[:, :30]) for seed in (0, 1)]
    reasons = [result.trace.outcome.stop_reason for result in results]
    assert all("parts.passes_lowered" in parts_of(reason) for reason in reasons)
    of_coins = [(result.edges >= 30).any(axis=1).sum() for result in results]
    assert sum(of_coins) <= 6
    for result, false, own in zip(results, of_coins, alone, strict=True):
        assert result.n_edges - false == pytest.approx(own.n_edges, rel=0.1)
        test = result.trace[-1].test
        assert len(test.usual_for) >= 15
        assert test.significance_of(0, max(test.usual_for)) == test.usual > test.significance


def test_variables_at_the_usual_level_have_its_thresholds():
    margins, offsets = np.array([500, 500, 300, 700, 200, 800]), np.array([0, 2, 4, 6])
    usual, low = (pair_test(margins, offsets, 1000, kappa) for kappa in (3.0, 2.0))
    mixed = pair_test(margins, offsets, 1000, 2.0, UsualLevel(3.0, frozenset({1})))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = usual if 1 in (i, j) else low
        assert threshold_of(mixed, i, j) == threshold_of(expected, i, j)


@pytest.mark.parametrize("rows", [300, 2000])
def test_one_row_is_no_evidence(rows):
    for seed in range(4):
        random = np.random.default_rng(seed)
        first = random.integers(0, 2, rows)
        copies = np.where(random.random((5, rows)) < 0.8, first, 1 - first)
        once = np.zeros(rows, dtype=int)
        once[random.integers(rows)] = 1
        edges = gv.learn(pd.DataFrame(np.vstack([first, copies, once]).T).add_prefix("c")).edges
        assert not (edges == 6).any()
