"""Metrics: ratios against sets, NLPL against its plain twin, and steps against whole models."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from fakes import ScriptedLearner, random_table
from hypothesis import given, strategies as st
from learner_cases import drain

from graftviz.metrics import (
    MetricsObserver,
    StepMetrics,
    negative_log_pseudo_likelihood,
    recall_precision_f1,
)
from graftviz.model import PairwiseMRF
from graftviz.table import DiscreteTable

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
def test_edge_metrics_are_the_ratios_of_sets(found, truth):
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
def test_nlpl_equals_its_plain_twin(cardinalities, rows):
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, s, size=rows) for s in cardinalities], axis=1)
    table = DiscreteTable.from_codes(codes, cardinalities=cardinalities)
    model = random_model(5, cardinalities)
    slow = naive.negative_log_pseudo_likelihood(model, table.codes)
    assert negative_log_pseudo_likelihood(model, table) == pytest.approx(slow, rel=1e-12)


def test_an_impossible_row_costs_infinitely_much_and_never_nan():
    table = DiscreteTable.from_codes([[0, 0], [1, 1], [1, 0]], cardinalities=[2, 2])
    forbidden = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    possible = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): forbidden})
    assert negative_log_pseudo_likelihood(possible, table) == math.inf
    assert negative_log_pseudo_likelihood(possible, table.rows([0, 1])) < math.inf
    nothing = PairwiseMRF.from_tables([np.full(2, -np.inf), np.zeros(2)], {})
    assert negative_log_pseudo_likelihood(nothing, table) == math.inf


def test_overflowing_weights_are_refused():
    table = DiscreteTable.from_codes([[0, 0], [1, 1]])
    huge = PairwiseMRF.from_tables([np.full(2, 1.7e308)] * 2, {(0, 1): np.full((2, 2), 1.7e308)})
    with pytest.raises(ArithmeticError, match="overflow"):
        negative_log_pseudo_likelihood(huge, table)


@pytest.mark.parametrize("per_step", [1, 3])
def test_observing_step_by_step_equals_measuring_each_model(per_step):
    table = random_table(11, 12, 600)
    truth = np.array([[0, 1], [2, 5], [3, 9], [4, 11]])
    run = drain(table, ScriptedLearner(max_edges=40, per_step=per_step), seed=8)
    observer = MetricsObserver(run.steps[0].history.start, table, truth)

    def whole(model: PairwiseMRF) -> StepMetrics:
        nlpl = negative_log_pseudo_likelihood(model, table)
        return StepMetrics(*recall_precision_f1(model.edges, truth), nlpl)

    assert observer.start == whole(run.steps[0].history.start)
    for step in run.steps:
        seen, expected = observer.observe(step), whole(step.model())
        assert seen[:3] == expected[:3]
        assert seen.nlpl_test == pytest.approx(expected.nlpl_test, rel=1e-9)
    final = whole(run.outcome.model())
    assert observer.observe_history(run.outcome.history) == pytest.approx(final, rel=1e-9)


def test_steps_may_be_left_out_but_not_taken_back():
    table = random_table(1, 8, 200)
    steps = drain(table, ScriptedLearner()).steps
    observer = MetricsObserver(steps[0].history.start, table, np.array([[0, 1]]))
    observer.observe(steps[0])
    jumped = observer.observe(steps[4])
    expected = negative_log_pseudo_likelihood(steps[4].model(), table)
    assert jumped.nlpl_test == pytest.approx(expected, rel=1e-9)
    assert observer.observe(steps[4]) == jumped
    with pytest.raises(ValueError, match="already observed"):
        observer.observe(steps[3])
