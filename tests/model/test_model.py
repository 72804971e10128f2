"""The model: validation, layout of weights, and derived quantities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graftviz import InputError, PairwiseMRF
from graftviz.model.pairwise import zero_sum


def random_model(seed: int, n: int = 6, most_states: int = 4) -> PairwiseMRF:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most_states + 1, size=n)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.5]
    order = rng.permutation(len(pairs))
    edges = np.array([pairs[k] for k in order], dtype=np.int64).reshape(-1, 2)
    cells = sizes.sum() + sizes[edges].prod(axis=1).sum()
    return PairwiseMRF(sizes, edges, rng.normal(size=cells))


REFUSED = {
    "no variable": (([], [], []), "at least one variable"),
    "no state": (([2, 0], [], [0, 0]), "at least one state"),
    "loop": (([2, 2], [[1, 1]], np.zeros(8)), r"pairs i < j of variables 0 … 1"),
    "turned edge": (([2, 2], [[1, 0]], np.zeros(8)), "i < j"),
    "unknown variable": (([2, 2], [[0, 2]], np.zeros(8)), "0 … 1"),
    "negative variable": (([2, 2], [[-1, 1]], np.zeros(8)), "0 … 1"),
    "double edge": (([2, 2], [[0, 1], [0, 1]], np.zeros(12)), "stands twice"),
    "too few weights": (([2, 3], [[0, 1]], np.zeros(10)), "has 11 weights, but 10 were given"),
    "not a number": (([2], [], [0, np.nan]), "not a number"),
    "plus infinity": (([2], [], [0, np.inf]), "infinity"),
    "too few names": (([2, 2], [], np.zeros(4), ("a",)), "2 different names"),
    "equal names": (([2, 2], [], np.zeros(4), ("a", "a")), "2 different names"),
    "too few labels": (([2, 2], [], np.zeros(4), (), (("0", "1"), ("0",))), "one label per state"),
    "labels of too few": (([2, 2], [], np.zeros(4), (), (("0", "1"),)), "one label per state"),
}


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_inconsistent_arguments_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        PairwiseMRF(*arguments)


REFUSED_TABLES = {
    "nothing": (([], {}), "at least one variable"),
    "turned matrix": (([[0, 0], [0, 0, 0]], {(0, 1): np.zeros((3, 2))}), r"shape \(2, 3\)"),
    "flat matrix": (([[0, 0], [0, 0, 0]], {(0, 1): np.zeros(6)}), r"edge \(0, 1\).*shape \(2, 3\)"),
    "loop": (([[0, 0]], {(0, 0): np.zeros((2, 2))}), "two of the variables"),
    "unknown": (([[0], [0]], {(0, 2): np.zeros((1, 1))}), "0 … 1"),
    "negative": (([[0], [0]], {(-1, 0): np.zeros((1, 1))}), "0 … 1"),
    "both ways": (([[0], [0]], {(0, 1): [[0]], (1, 0): [[0]]}), "stands twice"),
}


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED_TABLES.values(), ids=REFUSED_TABLES)
def test_tables_of_wrong_shape_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        PairwiseMRF.from_tables(*arguments)


@pytest.mark.parametrize("seed", range(5))
def test_offsets_give_every_weight_to_one_group(seed):
    model = random_model(seed)
    nodes, edges = model.node_offsets, model.edge_offsets
    assert len(nodes) == model.n_variables + 1
    assert len(edges) == model.n_edges + 1
    assert nodes[0] == 0
    assert edges[0] == nodes[-1]
    assert edges[-1] == len(model.weights)
    for i, size in enumerate(model.cardinalities):
        assert nodes[i + 1] - nodes[i] == size
        assert np.array_equal(model.node_weights(i), model.weights[nodes[i] : nodes[i + 1]])
    for e, (i, j) in enumerate(model.edges):
        matrix = model.edge_weights(e)
        assert matrix.shape == (model.cardinalities[i], model.cardinalities[j])
        assert np.array_equal(matrix.reshape(-1), model.weights[edges[e] : edges[e + 1]])


@pytest.mark.parametrize("seed", range(5))
def test_norms_degrees_and_scores_equal_plain_loops(seed):
    model = random_model(seed)
    norms = [np.linalg.norm(zero_sum(model.edge_weights(e))) for e in range(model.n_edges)]
    assert np.allclose(model.edge_norms(), norms, rtol=1e-14)
    degrees = [sum(i in edge for edge in model.edges.tolist()) for i in range(model.n_variables)]
    assert model.degrees().tolist() == degrees
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(size, size=7) for size in model.cardinalities])
    for row, score in zip(codes.T, model.log_scores(codes), strict=True):
        wanted = sum(model.node_weights(i)[row[i]] for i in range(model.n_variables))
        wanted += sum(model.edge_weights(e)[row[i], row[j]] for e, (i, j) in enumerate(model.edges))
        assert score == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_norms_are_invariant_under_reparametrisation(seed):
    model = random_model(seed)
    rng = np.random.default_rng(seed)
    nodes = [model.node_weights(i).copy() for i in range(model.n_variables)]
    tables = {}
    for e, (i, j) in enumerate(model.edges.tolist()):
        by_row, by_column = (rng.normal(scale=5.0, size=model.cardinalities[k]) for k in (i, j))
        scale = np.log(1e6) * (e == 0)  # one factor times a million
        tables[i, j] = model.edge_weights(e) + by_row[:, None] + by_column + scale
        nodes[i] -= by_row
        nodes[j] -= by_column
    shifted = PairwiseMRF.from_tables(nodes, tables)
    assert not np.allclose(shifted.weights, model.weights)
    assert np.allclose(shifted.edge_norms(), model.edge_norms(), rtol=1e-10, atol=1e-12)


def test_impossible_states_do_not_affect_norms():
    table = np.array([[0.5, -0.5, 3.0], [-0.5, 0.5, -7.0]])
    ruled_out = table + np.array([0.0, 0.0, -np.inf])
    node = np.array([0.0, 0.0, -np.inf])
    models = [
        PairwiseMRF.from_tables([np.zeros(2), np.zeros(3)], {(0, 1): ruled_out}),
        PairwiseMRF.from_tables([np.zeros(2), node], {(0, 1): table}),
        PairwiseMRF.from_tables([np.zeros(2), np.zeros(2)], {(0, 1): table[:, :2]}),
    ]
    assert [model.edge_norms().tolist() for model in models] == [[1.0]] * 3
    hard = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): np.diag([-np.inf, 0.0])})
    assert hard.edge_norms().tolist() == [np.inf]
    nothing = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): np.full((2, 2), -np.inf)})
    assert nothing.edge_norms().tolist() == [0.0]


def test_a_zero_sum_table_has_rows_and_columns_without_sums_and_keeps_zero_potentials():
    table = np.random.default_rng(0).normal(size=(3, 4))
    table[0, 1] = table[2, 3] = -np.inf
    centred = zero_sum(table)
    assert np.isneginf(centred[0, 1])
    assert np.isneginf(centred[2, 3])
    finite = np.where(np.isfinite(centred), centred, 0.0)
    assert np.allclose(finite.sum(axis=0), 0.0, atol=1e-12)
    assert np.allclose(finite.sum(axis=1), 0.0, atol=1e-12)
    assert zero_sum(np.array([[1e308, 0.0], [0.0, 1e308]])).max() == 5e307


@pytest.mark.parametrize("seed", range(3))
def test_tables_may_be_given_in_either_orientation(seed):
    model = random_model(seed)
    nodes = [model.node_weights(i) for i in range(model.n_variables)]
    as_given, turned = {}, {}
    for e, (i, j) in enumerate(model.edges.tolist()):
        as_given[i, j] = model.edge_weights(e)
        turned[j, i] = model.edge_weights(e).T.tolist()
    for tables in (as_given, turned):
        built = PairwiseMRF.from_tables(nodes, tables)
        assert np.array_equal(built.cardinalities, model.cardinalities)
        assert np.array_equal(built.edges, model.edges)
        assert np.array_equal(built.weights, model.weights)


def test_names_and_labels_are_stored_or_generated():
    made_up = PairwiseMRF([2, 3], [], np.zeros(5))
    assert made_up.names == ("x0", "x1")
    assert made_up.labels == (("0", "1"), ("0", "1", "2"))
    named = PairwiseMRF.from_tables([[0, 0]], {}, names=["sky"], labels=[["clear", "grey"]])
    assert named.names == ("sky",)
    assert named.labels == (("clear", "grey"),)


def test_arrays_of_model_are_read_only():
    weights = np.zeros(8)
    model = PairwiseMRF([2, 2], [[0, 1]], weights)
    weights[:] = 1.0
    assert not model.weights.any()
    handed_out = (model.cardinalities, model.edges, model.weights)
    for array in (*handed_out, model.node_weights(0), model.edge_weights(0)):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    with pytest.raises(AttributeError):
        model.weights = weights
