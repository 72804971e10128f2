"""Noise of scores: the significance that few pairs exceed by chance."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import drain, significance_of
from scipy.stats import chi2

from graftviz import BestChoice, DiscreteTable, EdgeGrafting, PairwiseMRF, learn
from graftviz.fitting.noise import lower_significance
from graftviz.metrics import nlpl
from graftviz.sampling import random_graph, random_model, sample_gibbs


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


def chance(freedom: float, size: int, seed: int) -> np.ndarray:
    """Return norms of independent pairs as multiples of their noise."""
    return np.sqrt(np.random.default_rng(seed).chisquare(freedom, size) / freedom)


@pytest.mark.parametrize("freedom", [1.0, 3.0, 16.0])
@pytest.mark.parametrize("size", [40, 2000])
def test_significance_is_not_lowered_by_chance(freedom: float, size: int) -> None:
    lowered = 0
    for seed in range(40):
        multiples = chance(freedom, size, seed)
        multiples = multiples[multiples <= 3.0]
        lowered += lower_significance(multiples, np.full(len(multiples), freedom), 3.0) < 3.0
    assert lowered <= 1


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_lowered_significance_admits_more_edges_than_chance(share: float) -> None:
    rng = np.random.default_rng(5)
    is_edge = rng.random(4000) < share
    multiples = np.abs(rng.normal(size=4000) + is_edge * rng.normal(scale=2.0, size=4000))
    below = multiples <= 3.5
    lowered = lower_significance(multiples[below], np.ones(int(below.sum())), 3.5)
    admitted = is_edge[below & (multiples > lowered)]
    assert 1.5 <= lowered < 3.0
    assert admitted.mean() > 0.5
    # Among the next pairs, edges are no longer in the clear majority.
    following = is_edge[(multiples <= lowered) & (multiples > lowered - 0.3)]
    assert lowered == 1.5 or following.mean() < 0.75


def test_significance_without_pairs_is_not_lowered() -> None:
    assert lower_significance(np.zeros(0), np.zeros(0), 3.0) == 3.0


def dense_model() -> PairwiseMRF:
    graph = random_graph(30, probability=0.5, seed=1)
    return random_model(graph.edges, [2] * 30, node_sigma=0.0, edge_sigma=0.12, seed=1)


@pytest.mark.parametrize("learner", [BestChoice(), EdgeGrafting()])
def test_runs_lower_the_significance_on_data_with_many_weak_edges(
    learner: BestChoice | EdgeGrafting,
) -> None:
    model = dense_model()
    train, test = (sample_gibbs(model, 4000, seed=seed).table for seed in (2, 3))
    usual = round(significance_of(train), 1)
    strict = learn(train, type(learner)(significance=usual))
    run = drain(train, learner)
    lowest = run.steps[-1].test.significance
    assert run.steps[0].test.significance == usual > lowest
    assert run.outcome.automatic["significance"] == run.outcome.certificate.threshold == lowest
    assert run.outcome.certificate.proves_optimality
    (step,) = [step for step in run.steps if any("κ was lowered" in note for note in step.notes)]
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
