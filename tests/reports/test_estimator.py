"""MarkovNetwork is a scikit-learn estimator and learns the same models as `learn`."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from learner_cases import mixed_table, scale_free_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import graftviz as gv
from graftviz import DiscreteTable, InputError, learn, read_table
from graftviz.inference.likelihood import nlpl
from graftviz.learning.registry import learner_class, learner_names
from graftviz.utils.options import option_specs


def expected_failed_checks(estimator: gv.MarkovNetwork) -> dict[str, str]:
    """Return checks of scikit-learn that are expected to fail, with reasons."""
    if estimator.continuous == "bin" and estimator.cardinalities is None:
        return {}
    reason = "its data are fractions, which this estimator refuses; test_weights.py tests the same"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


# The default path of twelve λ takes seconds.
QUICKER = {"nodewise-l1": {"path": 2}}

CHECKED = [
    *(gv.MarkovNetwork(learner_class(name)(**QUICKER.get(name, {}))) for name in learner_names()),
    gv.MarkovNetwork(max_states=2),  # bins all that is not binary
    gv.MarkovNetwork(continuous="reject"),
    gv.MarkovNetwork(missing="drop"),
    gv.MarkovNetwork(missing="state"),
    gv.MarkovNetwork(cardinalities=20),
]


@pytest.fixture(scope="module")
def table() -> DiscreteTable:
    return scale_free_table(15, 3, 1000)


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failed_checks)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# Options


@pytest.mark.parametrize("name", learner_names())
def test_options_of_the_learner_are_nested_parameters(name):
    network = gv.MarkovNetwork(name)
    nested = {key: value for key, value in network.get_params().items() if "__" in key}
    learner = learner_class(name)()
    options = [spec.name for spec in option_specs(learner_class(name))]
    assert nested == {f"learner__{option}": getattr(learner, option) for option in options}
    assert clone(network.set_params(**nested)).get_params() == network.get_params()
    assert network.learner == learner


def test_nested_option_replaces_that_of_the_learner(table):
    network = gv.MarkovNetwork(gv.BestChoice(alpha=0.25, lam=0.01)).set_params(learner__lam=0.004)
    assert network.learner == gv.BestChoice(alpha=0.25, lam=0.004)
    assert clone(network).fit(table).learner_ == network.learner
    both = network.set_params(learner__max_edges=3, learner=gv.FirstHit())
    assert both.learner == gv.FirstHit(max_edges=3)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"learner": "best"}, "no learner 'best'"),
        ({"learner": 3}, "The learner must be one of best-choice, .*, not 3"),
        ({"random_state": -1}, "seed must be at least 0"),
        ({"random_state": None}, "seed must be a whole number"),
        ({"missing": "ignore"}, "Option missing must be one of"),
        ({"cardinalities": [3, 3]}, "15 columns of codes need"),
        ({"cardinalities": "many"}, "one whole number, or one per column"),
    ],
)
def test_invalid_parameters_are_refused_by_fit(parameters, words, table):
    network = gv.MarkovNetwork(**parameters)
    with pytest.raises(InputError, match=words):
        network.fit(table.codes.T)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"learner__alhpa": 0.5}, r"'alhpa' is no option of best-choice; there are .*alpha"),
        ({"alpha": 0.5}, r"'alpha' is no parameter of MarkovNetwork; .* learner__alpha"),
        ({"learner__alpha": 2.0}, "Option alpha must be at least 0 and at most 1; got 2"),
        ({"learner__lam": "small"}, "Option lam must be a number"),
    ],
)
def test_invalid_parameters_are_refused_when_they_are_set(parameters, words):
    with pytest.raises(InputError, match=words):
        gv.MarkovNetwork().set_params(**parameters)


def test_fitted_estimator_can_be_pickled(table):
    network = gv.MarkovNetwork(gv.BestChoice(score="belief", objective="bethe", max_edges=3))
    network.fit(table)
    assert network.score(table) == -network.result_.nlpl_train
    assert pickle.loads(pickle.dumps(network)).score(table) == network.score(table)


# Fitting and scoring


@pytest.mark.parametrize("name", learner_names())
def test_fit_matches_learn_and_score_is_minus_nlpl(name, table):
    train, test = table.split(0.2, seed=1)
    result = learn(train, learner_class(name)(max_edges=14), seed=4, test=test)
    network = gv.MarkovNetwork(learner_class(name)(max_edges=14), random_state=4).fit(train)
    assert network.model_.weights.tobytes() == result.model.weights.tobytes()
    np.testing.assert_array_equal(network.edges_, result.model.edges)
    assert network.result_.stop_reason == result.stop_reason
    assert network.score(test) == -result.nlpl_test
    rows = network.score_samples(test)
    assert rows.shape == (test.n_rows,)
    np.testing.assert_allclose(rows.mean(), network.score(test), rtol=1e-12)


def test_all_types_of_x_give_same_result(table):
    codes = table.codes.T
    network = gv.MarkovNetwork(gv.BestChoice(lam=0.005)).fit(table)
    for rows in (table.to_frame(), codes, codes.tolist(), codes.astype(float), codes.astype(str)):
        again = gv.MarkovNetwork(gv.BestChoice(lam=0.005)).fit(rows)
        assert again.result_.fingerprint == table.fingerprint
        assert again.score(rows) == network.score(table)
        assert again.n_features_in_ == 15
        assert hasattr(again, "feature_names_in_") == isinstance(rows, pd.DataFrame)
    assert network.feature_names_in_.tolist() == list(table.names)
    assert network.score(table.to_frame()) == network.score(table)
    assert network.coding_.names == table.names
    assert network.coding_.labels == table.labels


def test_test_rows_are_coded_like_the_training_rows():
    train = pd.DataFrame({"a": list("xyz") * 20, "b": list("uvuvvw") * 10, "c": [3, 10] * 30})
    network = gv.MarkovNetwork("edge-grafting").fit(train)
    few = train.iloc[[5, 1, 1]]  # lacks labels of the training rows
    assert few["b"].nunique() < 3
    np.testing.assert_allclose(
        network.score_samples(few), network.score_samples(train)[[5, 1, 1]], rtol=1e-12
    )
    strange = few.assign(b=["u", "q", "v"])
    with pytest.raises(InputError, match=r"row 2, column 'b' holds the label 'q', which does"):
        network.score(strange)
    with pytest.raises(ValueError, match="feature names should match"):
        network.score(few.rename(columns={"b": "d"}))
    with pytest.raises(NotFittedError):
        gv.MarkovNetwork().score(train)


def test_bins_and_missing_values_of_test_rows_follow_the_training_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 3))
    values[:, 1] += values[:, 0]
    values[::9, 2] = np.nan
    network = gv.MarkovNetwork(missing="state", bins=3).fit(values)
    assert [len(states) for states in network.coding_.labels] == [3, 3, 4]
    like = read_table(values[:50], missing="state", like=network.coding_)
    assert network.score(values[:50]) == -nlpl(network.model_, like)
    with pytest.raises(InputError, match="Row 1, column 3 of X holds NaN"):
        gv.MarkovNetwork().fit(values)
    with pytest.raises(InputError, match="column 'x0' has 200 different numbers"):
        gv.MarkovNetwork(continuous="reject", missing="state").fit(values)


def test_states_of_no_training_row_can_be_declared():
    codes = np.random.default_rng(1).integers(0, 3, (60, 4))
    unseen = np.full((1, 4), 3)
    undeclared = gv.MarkovNetwork().fit(codes)
    with pytest.warns(UserWarning, match="the nearest state stands for it"):
        assert undeclared.score(unseen) == undeclared.score(unseen - 1)
    network = gv.MarkovNetwork(cardinalities=4).fit(codes.astype(float))
    assert network.model_.cardinalities.tolist() == [4, 4, 4, 4]
    assert network.score(unseen) < network.score(codes)
    for wrong, words in (
        (-1, "Negative values"),
        (0.5, "Row 3, column 2 of X holds 0.5"),
        (9, "9"),
    ):
        bad = codes.astype(float)
        bad[2, 1] = wrong
        with pytest.raises(InputError, match=words):
            gv.MarkovNetwork(cardinalities=4).fit(bad)
    frame = pd.DataFrame(codes[:, :3], columns=list("abc")).astype("category")
    frame["b"] = frame["b"].cat.add_categories([7, 5])
    frame.loc[4, "b"] = None
    declared = gv.MarkovNetwork(missing="state").fit(frame)
    assert declared.coding_.labels == (
        ("0", "1", "2"),
        ("0", "1", "2", "5", "7", "missing"),
        ("0", "1", "2"),
    )
    observed = gv.MarkovNetwork(missing="state").fit(frame.astype({"b": "Int64"}))
    assert declared.result_.n_edges == observed.result_.n_edges


def test_impossible_rows_have_no_likelihood():
    network = gv.MarkovNetwork().fit(mixed_table())
    model = network.model_
    weights = np.array(model.weights)
    weights[model.node_offsets[0]] = -np.inf  # state 0 of the first variable
    network.model_ = type(model)(
        model.cardinalities, model.edges, weights, model.names, model.labels
    )
    impossible = mixed_table().codes[0] == 0
    assert 0 < impossible.sum() < len(impossible)
    rows = network.score_samples(mixed_table())
    np.testing.assert_array_equal(np.isneginf(rows), impossible)
    assert network.score(mixed_table()) == -np.inf
