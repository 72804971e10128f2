"""Predictions, imputed values, most probable states and samples, against all joint states."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import graftviz as gv
from graftviz import ChowLiu, DiscreteTable, InputError, MarkovNetwork, PairwiseMRF
from graftviz.data.synthetic.potentials import joint_probabilities, joint_states, random_model
from graftviz.inference.likelihood import nlpl
from graftviz.inference.prediction import UNOBSERVED, conditional_marginals

SIZES = [2, 3, 2, 3, 2]
EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]


def small_model(seed: int = 0) -> PairwiseMRF:
    return PairwiseMRF.of(random_model(EDGES, SIZES, seed=seed, names=list("abcde")))


def by_enumeration(model: PairwiseMRF, states: list[int], i: int) -> np.ndarray:
    """Return p(x_i | observed states) from all joint states."""
    joint, chances = joint_states(model), joint_probabilities(model)
    agrees = np.ones(joint.shape[1], dtype=bool)
    for k, state in enumerate(states):
        if state != UNOBSERVED and k != i:
            agrees &= joint[k] == state
    found = np.bincount(joint[i], np.where(agrees, chances, 0.0), int(model.cardinalities[i]))
    return found / found.sum()


rows_of_codes = st.lists(
    st.tuples(*(st.integers(UNOBSERVED, size - 1) for size in SIZES)), min_size=1, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(rows=rows_of_codes, seed=st.integers(0, 5))
def test_marginals_of_unobserved_variables_equal_enumeration(
    rows: list[tuple[int, ...]], seed: int
) -> None:
    model = small_model(seed)
    found = conditional_marginals(model, np.array(rows).T)
    offsets = model.node_offsets
    for row, states in enumerate(rows):
        for i, state in enumerate(states):
            own = found[row, offsets[i] : offsets[i + 1]]
            expected = by_enumeration(model, list(states), i)
            if state != UNOBSERVED:
                expected = np.eye(SIZES[i])[state]
            np.testing.assert_allclose(own, expected, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(rows=rows_of_codes, i=st.integers(0, 4))
def test_predictions_equal_enumeration(rows: list[tuple[int, ...]], i: int) -> None:
    model = small_model()
    table = [
        {
            name: model.labels[k][s]
            for k, (name, s) in enumerate(zip("abcde", row, strict=True))
            if s >= 0
        }
        for row in rows
    ]
    frame = pd.DataFrame(table, columns=list("abcde"))
    chances = model.predict_proba(frame, target="abcde"[i])
    for row, states in enumerate(rows):
        np.testing.assert_allclose(chances[row], by_enumeration(model, list(states), i), atol=1e-12)
    best = model.predict(frame, target=i)
    assert best.tolist() == [model.labels[i][k] for k in chances.argmax(axis=1)]


def test_a_result_and_an_estimator_predict_like_their_model() -> None:
    frame = gv.load_dataset("survey").table.to_frame()
    network = MarkovNetwork("chow-liu").fit(frame)
    target = frame.columns[1]
    expected = network.model_.predict_proba(frame, target)
    assert (network.predict_proba(frame, target) == expected).all()
    assert (network.result_.predict_proba(frame.drop(columns=target), target) == expected).all()
    every = network.predict_proba(frame)
    begin = network.model_.node_offsets[1]
    np.testing.assert_allclose(every[:, begin : begin + expected.shape[1]], expected)
    codes = network.predict(frame)
    assert codes.shape == frame.shape
    labels = np.array(network.model_.labels[1], dtype=object)
    assert (labels[codes[:, 1]] == network.predict(frame, target)).all()


def test_imputed_rows_have_observed_and_most_probable_values() -> None:
    model = small_model()
    frame = model.sample(60, seed=1).to_frame()
    holes = np.random.default_rng(0).random(frame.shape) < 0.3
    frame.index = pd.RangeIndex(100, 160)
    found = model.impute(frame.mask(holes))
    assert (found.index == frame.index).all()
    assert (found.to_numpy() == frame.to_numpy())[~holes].all()
    for row, i in np.argwhere(holes).tolist():
        states = [
            UNOBSERVED if holes[row, k] else model.labels[k].index(frame.iloc[row, k])
            for k in range(len(SIZES))
        ]
        expected = by_enumeration(model, states, i).argmax()
        assert found.iloc[row, i] == model.labels[i][expected]


def test_numbers_are_coded_by_bins_of_training_table() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    frame = pd.DataFrame({"x": x, "y": (x > 0).astype(int), "z": rng.normal(size=500)})
    network = MarkovNetwork("chow-liu").fit(frame)
    assert network.predict({"x": [100.0], "z": [0.0]} | {"x": 100.0, "z": 0.0}, "y") == ["1"]
    assert network.predict({"x": -100.0}, "y") == ["0"]
    complete = network.impute(pd.DataFrame({"y": [1, None]}))
    assert complete["x"][0] in network.model_.labels[0][2:]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 50), observed=st.dictionaries(st.integers(0, 4), st.integers(0, 1)))
def test_the_most_probable_state_has_the_largest_probability(
    seed: int, observed: dict[int, int]
) -> None:
    model = small_model(seed)
    found = model.most_probable(observed)
    states = [
        labels.index(found[name]) for name, labels in zip(model.names, model.labels, strict=True)
    ]
    joint, chances = joint_states(model), joint_probabilities(model)
    for i, state in observed.items():
        chances = np.where(joint[i] == state, chances, -1.0)
        assert states[i] == state
    at = np.flatnonzero((joint == np.array(states)[:, np.newaxis]).all(axis=0))
    assert chances[at[0]] == pytest.approx(chances.max())


def test_most_probable_state_of_wide_model_is_refused() -> None:
    n = 60
    edges = [(i, j) for i in range(n) for j in range(i + 1, n)]
    with pytest.raises(InputError, match="sparser model"):
        PairwiseMRF.of(random_model(edges, [3] * n, seed=0)).most_probable()


@pytest.mark.parametrize("method", ["exact", "gibbs"])
@pytest.mark.parametrize("evidence", [{}, {"c": "1", "a": 0}])
def test_samples_have_the_frequencies_of_the_model(method: Any, evidence: dict[str, Any]) -> None:
    model, rows = small_model(3), 20_000
    table = model.sample(rows, evidence=evidence, seed=1, method=method)
    assert isinstance(table, DiscreteTable)
    assert (table.names, table.labels) == (model.names, model.labels)
    repeated = model.sample(rows, evidence=evidence, seed=1, method=method)
    assert (table.codes == repeated.codes).all()
    states = [UNOBSERVED] * len(SIZES)
    for name, state in evidence.items():
        states["abcde".index(name)] = int(state)
    for i in range(len(SIZES)):
        expected = (
            np.eye(SIZES[i])[states[i]] if states[i] >= 0 else by_enumeration(model, states, i)
        )
        found = np.bincount(table.codes[i], minlength=SIZES[i]) / rows
        # Draws of Gibbs chains are correlated, so they are given three times the deviation.
        assert np.abs(found - expected).max() < 3 * 4.0 * np.sqrt(0.25 / rows)


def test_beliefs_weights_and_columns_are_found_by_name() -> None:
    model = small_model()
    beliefs = gv.infer(model, "exact")
    assert beliefs["b"].to_dict() == dict(zip(model.labels[1], beliefs.node[1], strict=True))
    assert (beliefs["b", "a"].to_numpy() == beliefs.edge[0].T).all()
    assert (model["a", "b"].to_numpy() == model.edge_weights(0)).all()
    assert (model["b", "a"].to_numpy() == model.edge_weights(0).T).all()
    assert (model["b"].to_numpy() == model.node_weights(1)).all()
    table = model.sample(5)
    assert table["c"].tolist() == table.to_frame()["c"].tolist() == table[2].tolist()
    with pytest.raises(InputError, match="no edge between 'a' and 'e'"):
        model["a", "e"]
    with pytest.raises(InputError, match="no variable"):
        table["f"]


def test_unseen_numbers_have_the_nearest_state() -> None:
    model = small_model()
    with pytest.warns(UserWarning, match="column 'a' has 1 value that"):
        found = model.predict_proba(pd.DataFrame({"a": [0, 7]}), target="b")
    assert (found == model.predict_proba(pd.DataFrame({"a": [0, 1]}), target="b")).all()


def test_rows_are_scored_by_their_pseudo_likelihood() -> None:
    model = small_model()
    table = model.sample(40, seed=1)
    expected = -nlpl(model, table)
    for rows in (table, table.to_frame(), table.to_frame()[["e", "d", "c", "b", "a"]]):
        assert model.score(rows) == pytest.approx(expected)
    with pytest.raises(InputError, match="1 value is missing"):
        model.score(table.to_frame().astype(object).mask(np.eye(40, 5) * [[1, 0, 0, 0, 0]] > 0))


BAD_ROWS = {
    "a value": ({"a": "7"}, "b", "holds the label '7'"),
    "a column": ({"aa": "0"}, "b", "no variable named 'aa'"),
    "a target": ({"a": "0"}, "f", "no variable named 'f'"),
    "a shape": (np.zeros((3, 2)), "b", r"need the shape \(rows, 5\); got \(3, 2\)"),
    "no rows": (pd.DataFrame(columns=["a"]), "b", "no row to predict"),
}


@pytest.mark.parametrize(("X", "target", "sentence"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_invalid_rows_are_refused(X: Any, target: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        small_model().predict(X, target=target)


def test_observed_states_of_probability_zero_are_refused() -> None:
    weights = np.array([0.0, 0.0, 0.0, 0.0, -np.inf, 0.0, -np.inf, 0.0])
    model = PairwiseMRF([2, 2], [(0, 1)], weights, ("a", "b"))
    with pytest.raises(InputError, match="row 1 have probability zero"):
        model.impute({"b": "0"})
    with pytest.raises(InputError, match="probability zero"):
        model.most_probable({"b": 0})


def test_reprs_are_short() -> None:
    result = gv.learn(gv.load_dataset("survey").table, ChowLiu())
    for value in (result, result.model, gv.infer(result.model), result.trace):
        assert 10 < len(repr(value)) < 300, type(value)


def test_column_of_weights_is_ignored_in_prediction() -> None:
    rows = gv.load_dataset("survey").table.to_frame().head(400)
    weighted = rows.assign(weight=np.arange(400) % 3 + 1)
    result = gv.learn(gv.read_table(weighted, weights="weight"), ChowLiu())
    network = MarkovNetwork(ChowLiu()).fit(rows, sample_weight=weighted["weight"])
    for found in (result, result.model, network):
        for target in ("home", None):
            assert (found.predict(weighted, target) == found.predict(rows, target)).all()
            np.testing.assert_array_equal(
                found.predict_proba(weighted, target), found.predict_proba(rows, target)
            )
        others = weighted.drop(columns="home")
        assert (found.predict(others, "home") == found.predict(rows, "home")).all()
        assert found.impute(weighted).equals(found.impute(rows))
        assert found.score(weighted) == found.score(rows)
        # If a variable is missing, the extra column may be its misspelled name.
        misspelled = rows.rename(columns={"commute": "comute"})
        for call in (found.predict, found.predict_proba):
            with pytest.raises(ValueError, match="comute"):
                call(misspelled, "home")
        for call in (found.impute, found.score):
            with pytest.raises(ValueError, match="comute"):
                call(misspelled)
    assert (network.score_samples(weighted) == network.score_samples(rows)).all()


# ----------------------------------------------------------------------------- other libraries


def test_the_graph_for_networkx_has_names_and_norms() -> None:
    model = small_model()
    graph = model.to_networkx()
    assert sorted(graph) == list(model.names)
    norms = nx.get_edge_attributes(graph, "weight")
    expected = [
        norms.get((a, b)) for a, b in (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e"))
    ]
    np.testing.assert_allclose(expected, model.edge_norms())


@pytest.mark.parametrize("name", ["survey", "karate"])
def test_the_graph_is_written_by_networkx_and_read_back(name: str, tmp_path: Path) -> None:
    model = gv.learn(gv.load_dataset(name).table, ChowLiu()).model
    graph = model.to_networkx()
    nx.write_graphml(graph, tmp_path / "a.graphml")
    nx.write_gexf(graph, tmp_path / "a.gexf")
    (tmp_path / "a.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    graphs = [
        nx.read_graphml(tmp_path / "a.graphml"),
        nx.read_gexf(tmp_path / "a.gexf"),
        nx.node_link_graph(json.loads((tmp_path / "a.json").read_text()), edges="edges"),
    ]
    for found in graphs:
        assert list(found) == list(model.names)
        for node, one in zip(graph, model.labels, strict=True):
            assert json.loads(found.nodes[node]["labels"]) == list(one)
            assert found.nodes[node]["states"] == len(one)
        assert {frozenset(edge) for edge in found.edges} == {
            frozenset(edge) for edge in graph.edges
        }
        for i, j, values in graph.edges(data=True):
            assert found.edges[i, j]["weight"] == values["weight"]
            assert found.edges[i, j]["weights"] == values["weights"]
    for file in ("a.graphml", "a.json"):
        restored = gv.read_model(tmp_path / file)
        assert (restored.names, restored.labels) == (model.names, model.labels)
        order = [restored.edges.tolist().index(edge) for edge in model.edges.tolist()]
        for e, k in enumerate(order):
            assert (restored.edge_weights(k) == model.edge_weights(e)).all()


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_pgmpy_computes_the_same_marginals() -> None:
    inference = pytest.importorskip("pgmpy.inference")
    model = small_model()
    network = model.to_pgmpy()
    assert network.check_model()
    assert set(network.edges) == {("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e")}
    engine, exact = inference.VariableElimination(network), gv.infer(model, "exact")
    for name, labels, marginal in zip(model.names, model.labels, exact.node, strict=True):
        found = engine.query([name], show_progress=False)
        assert found.state_names[name] == list(labels)
        np.testing.assert_allclose(found.values / found.values.sum(), marginal, rtol=1e-9)


def test_missing_pgmpy_error_names_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgmpy", None)
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    with pytest.raises(InputError, match=r"pip install 'pgmpy>=1\.1'"):
        small_model().to_pgmpy()


def test_the_figure_shows_every_edge_once() -> None:
    model = small_model()

    def drawn(figure: Any) -> dict[str, int]:
        found: dict[str, int] = {}
        for trace in figure.data:
            if trace.mode == "lines":
                found[trace.name] = found.get(trace.name, 0) + len(trace.x) // 3
        return found

    assert drawn(gv.figures.graph_figure(model)) == {"edges": 5}
    truth = [("b", "a"), (1, 2), ("a", "e")]
    assert drawn(gv.figures.graph_figure(model, np.array(truth, dtype=object))) == {
        "true": 2,
        "false": 3,
        "missing": 1,
    }
    assert drawn(gv.figures.graph_figure(model, truth[:2])) == {"true": 2, "false": 3, "missing": 0}


def test_a_warning_tells_of_probabilities_that_are_not_exact() -> None:
    side = 22
    edges = [
        (i, j) for i, j in nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side)).edges
    ]
    model = PairwiseMRF.of(random_model(edges, [4] * side**2, seed=1))
    observed = {model.names[0]: model.labels[0][0]}
    with pytest.warns(UserWarning, match=r"483 columns unknown .* belief propagation"):
        model.predict_proba(observed, target=1)
    with pytest.warns(UserWarning, match="too many for exact inference"):
        model.impute(observed)
