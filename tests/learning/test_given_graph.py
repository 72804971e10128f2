"""`gv.fit` for a given graph, and how well results predict."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from learner_cases import followers_table, parts_of

import graftviz as gv
from graftviz import DiscreteTable

TABLE = followers_table(8, rows=600)
NAMES = TABLE.names
EDGES = [(0, 1), (1, 2), (2, 5)]


def same_graph():
    graph = nx.Graph([(NAMES[i], NAMES[j]) for i, j in EDGES])
    frame = pd.DataFrame(EDGES, columns=["a", "b"])
    forms = EDGES, graph, frame, np.array(EDGES)
    return [pytest.param(one, id=type(one).__name__) for one in forms]


@pytest.mark.parametrize("graph", same_graph())
def test_a_graph_in_any_form_has_the_same_weights(graph):
    result, expected = gv.fit(graph, TABLE), gv.fit(EDGES, TABLE)
    assert sorted(map(tuple, result.edges.tolist())) == EDGES
    np.testing.assert_array_equal(result.model.weights, expected.model.weights)


def test_a_learned_graph_is_fitted_to_the_same_likelihood():
    learned = gv.learn(TABLE)
    again = gv.fit(learned, TABLE)
    assert again.n_edges == learned.n_edges
    assert gv.nll(again.model, TABLE) == pytest.approx(gv.nll(learned.model, TABLE), abs=1e-4)
    assert gv.fit(learned.model, TABLE).n_edges == learned.n_edges


def test_marginals_of_a_given_graph_are_those_of_the_data():
    result = gv.fit(EDGES, TABLE, lam2=0.0)
    beliefs = gv.infer(result.model, "exact")
    for e, (i, j) in enumerate(result.edges.tolist()):
        counts = np.zeros((TABLE.cardinalities[i], TABLE.cardinalities[j]))
        np.add.at(counts, (TABLE.codes[i], TABLE.codes[j]), 1.0)
        np.testing.assert_allclose(beliefs.edge[e], counts / TABLE.n_rows, atol=1e-4)
    assert "reasons.given" in parts_of(result.trace.stop_reason)


def test_columns_without_edges_are_independent():
    result = gv.fit([], TABLE)
    assert result.n_edges == 0
    assert result.trace.stop_reason.kind == "reasons.given"
    assert result.quality.nlpl == pytest.approx(result.quality.independent, rel=1e-3)


def test_pseudo_likelihood_is_fitted_on_request():
    result = gv.fit(EDGES, TABLE, fit="pseudo-likelihood")
    assert result.trace.outcome.objective_name == "pseudo-likelihood"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([(0, 0)], "Edges of the graph: number 1, (0, 0), joins a variable with itself."),
        ([("x", "y")], "Edges of the graph name 'x', which is no variable"),
        ([(0, 99)], "is no pair of variables 0 … 7."),
    ],
)
def test_errors_name_the_edge(graph, message):
    with pytest.raises(gv.InputError) as caught:
        gv.fit(graph, TABLE)
    assert message in str(caught.value)


def test_quality_of_held_out_rows_and_of_independent_columns():
    random = np.random.default_rng(0)
    codes = TABLE.codes.T[random.permutation(TABLE.n_rows)]
    train, test = (DiscreteTable.from_codes(part) for part in (codes[:400], codes[400:]))
    result = gv.learn(train, test=test)
    quality = result.quality
    assert (quality.rows, quality.n_rows) == ("test", 200)
    assert quality.nlpl == result.nlpl_test
    expected = 0.0
    for i in range(8):
        counts = train.state_counts(i) + 0.5
        expected -= np.log(counts / counts.sum())[test.codes[i]].mean()
    assert quality.independent == pytest.approx(expected)


def test_quality_without_held_out_rows_is_that_of_rows_left_out():
    result = gv.learn(TABLE)
    quality = result.quality
    assert (quality.rows, quality.n_rows) == ("left out", 600)
    assert result.nlpl_train < quality.nlpl < quality.independent


def test_shrunk_weights_are_named():
    result = gv.learn(TABLE, gv.BestChoice(preset="paper"))
    assert result.quality.rows == "training"
    assert result.quality.is_shrunk
    assert gv.learn(TABLE, gv.NodewiseL1()).quality.refitted is not None
    assert gv.learn(TABLE, gv.ChowLiu()).quality.refitted is None
