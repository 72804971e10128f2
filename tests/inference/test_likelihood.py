"""Likelihoods of held-out rows and the cost of inference, against enumeration."""

from __future__ import annotations

import itertools
import math

import naive
import naive_likelihood
import numpy as np
import pytest
from fakes import random_pairs, random_table
from hypothesis import given, strategies as st
from learner_cases import drain

from graftviz import (
    BestChoice,
    DiscreteTable,
    InputError,
    PairwiseMRF,
    inference_cost,
    ncmll,
    nll,
    nlpl,
)
from graftviz.data.synthetic.graphs import ising_grid
from graftviz.inference.cost import all_marginals, exact_operations
from graftviz.inference.exact.junction_tree import RepeatedTree
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.likelihood import hidden_halves, ncmll_by_half
from graftviz.learning.observer import MetricsObserver, StepMetrics, recall_precision_f1

SIZES = ([2, 3, 2, 4, 2, 3], [3, 1, 2, 2, 2], [2, 2])


def random_model_and_table(seed, sizes, density=0.6):
    rng = np.random.default_rng(seed)
    pairs = [e for e in itertools.combinations(range(len(sizes)), 2) if rng.random() < density]
    model = PairwiseMRF.from_tables(
        [rng.normal(size=s) for s in sizes],
        {(i, j): rng.normal(size=(sizes[i], sizes[j])) for i, j in pairs},
    )
    codes = np.stack([rng.integers(0, s, size=40) for s in sizes], axis=1)
    return model, DiscreteTable.from_codes(codes, cardinalities=sizes)


def independent(nodes):
    return PairwiseMRF.from_tables([np.array(node) for node in nodes], {})


@pytest.mark.parametrize("sizes", SIZES)
def test_nll_matches_plain_twin(sizes):
    model, table = random_model_and_table(1, sizes)
    assert nll(model, table) == pytest.approx(naive_likelihood.nll(model, table.codes), rel=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_ncmll_matches_plain_twin_for_each_half(sizes):
    model, table = random_model_and_table(2, sizes)
    found = ncmll_by_half(model, table, halves=3, seed=5)
    slow = [
        naive_likelihood.conditional_marginal_loss(model, table.codes, hidden.tolist())
        for hidden in hidden_halves(len(sizes), 3, 5)
    ]
    assert np.array(found.by_half) * table.n_rows == pytest.approx(slow, rel=1e-10)
    assert found.mean == pytest.approx(np.mean(found.by_half))
    assert found.total == pytest.approx(np.mean(slow))


def test_ncmll_by_messages_is_exact_on_trees():
    rng = np.random.default_rng(7)
    edges = {(i, i + 1): rng.normal(size=(2, 2)) for i in range(6)}
    model = PairwiseMRF.from_tables([rng.normal(size=2) for _ in range(7)], edges)
    _, table = random_model_and_table(8, [2] * 7)
    exact = ncmll_by_half(model, table)
    for method in ("bp", "trbp"):
        found = ncmll_by_half(model, table, method=method)
        assert found.converged
        assert found.mean == pytest.approx(exact.mean, rel=1e-6)


def test_rows_with_unknown_states_are_refused():
    model = independent([[0.0, -np.inf], [0.0, 0.0]])
    rows = DiscreteTable.from_codes(np.array([[0, 1], [1, 0]]), cardinalities=[2, 2])
    for measure in (nll, ncmll):
        with pytest.raises(
            InputError, match=r"Row 2 .* state '1' of 'x0' is not in the training rows"
        ):
            measure(model, rows)
    more = DiscreteTable.from_codes(np.array([[0, 2], [1, 0]]), cardinalities=[2, 3])
    with pytest.raises(InputError, match="'x1' has 3 states in these rows and 2 in the model"):
        nll(model, more)
    with pytest.raises(InputError, match="3 variables and the model has 2"):
        ncmll(model, DiscreteTable.from_codes(np.zeros((2, 3), dtype=int)))
    forbidden = PairwiseMRF.from_tables(
        [np.zeros(2), np.zeros(2)], {(0, 1): np.array([[0.0, 0.0], [0.0, -np.inf]])}
    )
    both = DiscreteTable.from_codes(np.array([[0, 1], [1, 1]]), cardinalities=[2, 2])
    for measure in (nll, ncmll):
        with pytest.raises(InputError, match="Row 2 has probability zero"):
            measure(forbidden, both)


def test_repeated_tree_is_exact_for_any_node_weights():
    model, _ = random_model_and_table(9, [2, 3, 2, 3, 2, 2], density=0.7)
    tree = RepeatedTree(model)
    rng = np.random.default_rng(1)
    for shift in (0.0, 3.0, 900.0):
        weights = rng.normal(size=int(model.node_offsets[-1])) - shift
        weights[1] = -np.inf
        (found,), (log_partition,) = tree.marginals(weights[None])
        rest = model.weights[len(weights) :]
        changed = PairwiseMRF(model.cardinalities, model.edges, np.concatenate([weights, rest]))
        nodes, _, wanted = naive.marginals(changed)
        assert found == pytest.approx(np.concatenate(nodes), abs=1e-12)
        assert log_partition == pytest.approx(wanted, rel=1e-12)
    weights[:2] = -np.inf
    assert tree.marginals(weights[None])[1] == [-np.inf]


def test_repeated_tree_with_little_memory_gives_same_marginals():
    model = ising_grid(6, 6, field=1.0, coupling=1.0, seed=1)
    roomy = RepeatedTree(model)
    short = RepeatedTree(model, int(0.8 * roomy.plan.bytes))
    assert short.plan.segments > 1
    weights = np.random.default_rng(1).normal(size=int(model.node_offsets[-1]))
    weights = np.stack([weights, 0.5 * weights])
    assert short.marginals(weights)[0] == pytest.approx(roomy.marginals(weights)[0], abs=1e-12)
    weights[1, :2] = -np.inf
    assert np.isinf(short.marginals(weights)[1]).tolist() == [False, True]


def test_all_marginals_match_enumeration():
    model, _ = random_model_and_table(10, [2, 3, 2, 4, 2, 1], density=0.4)
    found = all_marginals(model, "exact")
    offsets = model.node_offsets
    for i, j in itertools.combinations(range(6), 2):
        table = found.pair[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
        assert table == pytest.approx(naive_likelihood.pair_marginal(model, i, j), abs=1e-12)
    assert found.operations <= exact_operations(model, plan_elimination(model))


def test_cost_grows_with_density_and_operations_are_deterministic():
    sparse, _ = random_model_and_table(11, [2] * 8, density=0.3)
    dense, _ = random_model_and_table(11, [2] * 8, density=0.9)
    for method in ("exact", "trbp"):
        little, much = (inference_cost(model, method, repeats=2) for model in (sparse, dense))
        assert little.operations < much.operations
        assert little.operations == inference_cost(sparse, method, repeats=1).operations
        assert little.seconds > 0.0
        assert (little.method, little.repeats) == (method, 2)


def test_invalid_arguments_of_cost_are_refused():
    model, table = random_model_and_table(13, [2, 2])
    with pytest.raises(InputError, match="must be one of"):
        inference_cost(model, "guess")
    with pytest.raises(InputError, match="at least once"):
        inference_cost(model, repeats=0)
    with pytest.raises(InputError, match="must be one of"):
        ncmll(model, table, method="guess")
    with pytest.raises(InputError, match="At least one half"):
        ncmll(model, table, halves=0)


# Metrics.


nodes = st.integers(0, 7)
edge_lists = st.lists(st.tuples(nodes, nodes).filter(lambda edge: edge[0] != edge[1]))


def random_model(seed: int, cardinalities: list[int], density: float = 0.5) -> PairwiseMRF:
    rng = np.random.default_rng(seed)
    n = len(cardinalities)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < density]
    return PairwiseMRF.from_tables(
        [rng.normal(size=s) for s in cardinalities],
        {(i, j): rng.normal(size=(cardinalities[i], cardinalities[j])) for i, j in pairs},
    )


@given(edge_lists, edge_lists)
def test_edge_metrics_match_ratios_of_sets(found, truth):
    result = recall_precision_f1(found, np.array(truth, dtype=np.int64).reshape(-1, 2))
    found_set = {frozenset(edge) for edge in found}
    true_set = {frozenset(edge) for edge in truth}
    hits = len(found_set & true_set)
    assert result.recall == (hits / len(true_set) if true_set else None)
    assert result.precision == (hits / len(found_set) if found_set else None)
    if hits:
        harmonic = 2 / (1 / result.recall + 1 / result.precision)
        assert math.isclose(result.f1, harmonic)
    else:
        assert result.f1 == (0.0 if found_set or true_set else None)


@pytest.mark.parametrize(
    ("cardinalities", "rows"),
    [([2, 3, 4, 2, 5, 1], 700), ([1, 1], 3), ([2] * 9, 513), ([300, 2, 3], 20), ([6, 5, 7], 1)],
)
def test_nlpl_matches_plain_twin(cardinalities, rows):
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, s, size=rows) for s in cardinalities], axis=1)
    table = DiscreteTable.from_codes(codes, cardinalities=cardinalities)
    model = random_model(5, cardinalities)
    slow = naive.nlpl(model, table.codes)
    assert nlpl(model, table) == pytest.approx(slow, rel=1e-12)


def test_nlpl_of_impossible_row_is_infinite():
    table = DiscreteTable.from_codes([[0, 0], [1, 1], [1, 0]], cardinalities=[2, 2])
    forbidden = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    possible = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): forbidden})
    assert nlpl(possible, table) == math.inf
    assert nlpl(possible, table.rows([0, 1])) < math.inf
    nothing = PairwiseMRF.from_tables([np.full(2, -np.inf), np.zeros(2)], {})
    assert nlpl(nothing, table) == math.inf


def test_overflowing_weights_are_refused():
    table = DiscreteTable.from_codes([[0, 0], [1, 1]])
    huge = PairwiseMRF.from_tables([np.full(2, 1.7e308)] * 2, {(0, 1): np.full((2, 2), 1.7e308)})
    with pytest.raises(ArithmeticError, match="overflow"):
        nlpl(huge, table)


@pytest.mark.parametrize(
    "learner", [random_pairs(max_edges=40), BestChoice(preset="paper", alpha=0.0, max_edges=40)]
)
def test_metrics_of_observed_steps_match_metrics_of_models(learner):
    table = random_table(11, 12, 600)
    truth = np.array([[0, 1], [2, 5], [3, 9], [4, 11]])
    run = drain(table, learner, seed=8)
    observer = MetricsObserver(run.steps[0].history.start, table, truth)

    def whole(model: PairwiseMRF) -> StepMetrics:
        return StepMetrics(*recall_precision_f1(model.edges, truth), nlpl(model, table))

    assert observer.start == whole(run.steps[0].history.start)
    for step in run.steps:
        seen, expected = observer.observe(step), whole(step.model())
        assert seen[:3] == expected[:3]
        assert seen.nlpl_test == pytest.approx(expected.nlpl_test, rel=1e-9)
    final = whole(run.outcome.model())
    assert observer.observe_history(run.outcome.history) == pytest.approx(final, rel=1e-9)


def test_steps_may_be_skipped_but_not_observed_in_reverse():
    table = random_table(1, 8, 200)
    steps = drain(table, random_pairs()).steps
    observer = MetricsObserver(steps[0].history.start, table, np.array([[0, 1]]))
    observer.observe(steps[0])
    jumped = observer.observe(steps[4])
    expected = nlpl(steps[4].model(), table)
    assert jumped.nlpl_test == pytest.approx(expected, rel=1e-9)
    assert observer.observe(steps[4]) == jumped
    with pytest.raises(ValueError, match="already observed"):
        observer.observe(steps[3])
