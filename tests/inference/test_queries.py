"""Queries: answers by enumeration, and counts of operations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from inference_cases import random_edges

from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.exact.ordering import greedy_elimination
from graftviz.inference.queries import Query, answered, query_operations


def enumerated(model, query):
    """Return the answer from exp(score) of all joint states that agree with the evidence."""
    sizes = model.cardinalities.tolist()
    states = np.array(list(itertools.product(*map(range, sizes))))
    shares = np.exp(model.log_scores(states.T))
    table = np.zeros([sizes[i] for i in query.targets])
    for state, share in zip(states, shares, strict=True):
        if all(state[i] == k for i, k in query.evidence.items()):
            table[tuple(state[list(query.targets)])] += share
    return table / table.sum()


QUERIES = [
    Query((0,), {}),
    Query((3, 1), {}),
    Query((1, 3), {0: 1}),
    Query((5, 2, 4), {1: 0, 0: 1}),
    Query((0, 1, 2, 3), {5: 1}),
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("share", "seed"), [(0.15, 0), (0.4, 1), (0.7, 2), (1.0, 3)])
def test_answers_and_operations_equal_enumeration(query, share, seed):
    sizes = np.array([2, 3, 2, 2, 3, 2])
    edges = random_edges(6, share, np.random.default_rng(seed))
    model = random_model(edges, sizes.tolist(), node_sigma=1.0, edge_sigma=1.0, seed=seed)
    order = greedy_elimination(model.edges, sizes).order
    found = answered(model, query, order=order)
    assert found.table == pytest.approx(enumerated(model, query), abs=1e-12)
    assert found.operations == query_operations(model.edges, sizes, order, query)
    assert found.converged


def test_messages_answer_queries_on_a_forest():
    edges = np.array([[0, 1], [1, 2], [1, 3], [4, 5]])
    model = random_model(edges, [2, 3, 2, 2, 3, 2], node_sigma=1.0, edge_sigma=1.0, seed=5)
    for query in QUERIES:
        found = answered(model, query, "bp")
        assert found.table == pytest.approx(enumerated(model, query), abs=1e-7)


def test_other_components_cost_no_operations():
    sizes = np.full(6, 2)
    order = np.arange(6)
    alone = query_operations(np.array([[0, 1]]), sizes, order, Query((0, 1), {}))
    beside = np.array([[0, 1], [2, 3], [3, 4], [2, 4], [4, 5]])
    assert query_operations(beside, sizes, order, Query((0, 1), {})) == alone
    assert query_operations(beside, sizes, order, Query((2, 5), {})) > alone
    observed = query_operations(beside, sizes, order, Query((2, 5), {4: 0}))
    assert observed < query_operations(beside, sizes, order, Query((2, 5), {}))
