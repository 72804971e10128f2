"""Arguments of other types: accepted if they are unambiguous, else refused in one sentence."""

from __future__ import annotations

import doctest
import importlib
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import graftviz as gv
from graftviz import InputError, dynamics
from graftviz.data.sets.dataset import DataSet
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.registry import DEFAULT
from graftviz.learning.run import checked_edges

FRAME = pd.DataFrame(
    {
        "rain": ["no", "yes", "no", "yes"] * 40,
        "grass": ["dry", "wet", "dry", "wet", "dry", "wet", "wet", "dry"] * 20,
        "day": ["odd", "odd", "even", "even"] * 40,
    }
)
TABLE = gv.read_table(FRAME)
LEARNER = gv.ChowLiu()
MODEL = gv.learn(TABLE, LEARNER).model
SET = DataSet("rain", "Rain", TABLE)
TABULAR = {"frame": FRAME, "array": FRAME.to_numpy(), "data set": SET}


@pytest.mark.parametrize("source", TABULAR.values(), ids=TABULAR)
def test_any_container_of_rows_is_accepted_as_table(source):
    result = gv.learn(source, LEARNER, test=source)
    assert np.array_equal(result.model.weights, MODEL.weights)
    assert result.nlpl_test == pytest.approx(result.nlpl_train)
    assert gv.nll(MODEL, source) == gv.nll(MODEL, TABLE)
    assert gv.ncmll(MODEL, source) == gv.ncmll(MODEL, TABLE)
    assert PairCounts(source).n_rows == TABLE.n_rows
    assert gv.edge_stability(source, LEARNER, subsamples=2).n_rows == TABLE.n_rows
    (point,) = gv.lam_path(source, "edge-grafting", lams=[0.01]).points
    assert point.model.names[0] in ("rain", "x0")
    assert len(gv.tuning_grid(source, "edge-grafting", {"lam": [0.01]}).points) == 1


def test_held_out_frames_have_the_codes_of_the_training_rows():
    few = FRAME[FRAME["grass"] == "wet"][["day", "grass", "rain"]]
    result = gv.learn(FRAME, LEARNER, test=few)
    coded = gv.read_table(few, like=TABLE)
    assert result.nlpl_test == gv.learn(TABLE, LEARNER, test=coded).nlpl_test
    assert gv.nll(MODEL, few) == gv.nll(MODEL, coded)


def test_learner_is_accepted_by_name():
    assert gv.learn(TABLE, "chow-liu").learner == LEARNER


def test_row_of_frame_is_accepted_as_evidence():
    row = FRAME.iloc[1].where([True, False, True], None)
    by_mapping = gv.infer(MODEL, "exact", evidence={"rain": "yes", "day": "odd"})
    assert dict(gv.infer(MODEL, "exact", evidence=row).evidence) == dict(by_mapping.evidence)


def test_true_edges_are_accepted_by_name_or_position():
    expected = [[0, 1], [1, 2]]
    for truth in (
        [("grass", "rain"), ("grass", "day")],
        [("grass", 0), (np.int64(2), "grass")],
        np.array([["grass", "rain"], ["day", "grass"]]),
        pd.DataFrame({"source": ["rain", "day"], "target": ["grass", "grass"], "step": [1, 2]}),
    ):
        assert checked_edges(truth, TABLE.names).tolist() == expected
        assert gv.Run(TABLE, LEARNER, truth=truth).truth.tolist() == expected


@pytest.mark.parametrize("learner", ["best-choice", gv.BestChoice(alpha=0.9)])
def test_options_of_the_learner_are_parameters_of_a_search(learner):
    search = GridSearchCV(gv.MarkovNetwork(learner), {"learner__alpha": [0.0, 0.5]}, cv=2)
    search.fit(FRAME)
    assert search.best_estimator_.learner_.alpha == search.best_params_["learner__alpha"]
    assert set(search.cv_results_["param_learner__alpha"]) == {0.0, 0.5}


def test_series_have_the_names_of_a_frame():
    assert SYSTEM.names == SERIES.names == ("a", "b")


def test_a_network_is_fitted_to_a_data_set():
    network = gv.MarkovNetwork("chow-liu").fit(SET)
    assert network.score(SET) == network.score(FRAME)


DENSE = dynamics.Dense()
SERIES = dynamics.TimeSeries.from_array(
    pd.DataFrame(np.random.default_rng(1).normal(size=(9, 2)), columns=["a", "b"])
)
SYSTEM = dynamics.learn(SERIES, DENSE).system
REFUSED = {
    "swapped": (lambda: gv.learn(LEARNER, TABLE), "first argument must be the table"),
    "swapped path": (lambda: gv.lam_path(LEARNER, TABLE), "first argument must be the table"),
    "path": (lambda: gv.learn("survey.csv", LEARNER), "not a path; read the file"),
    "number": (lambda: gv.learn(3, LEARNER), "not an int"),
    "unknown learner": (lambda: gv.learn(TABLE, "best"), "no learner 'best'; .* best-choice"),
    "class": (lambda: gv.learn(TABLE, gv.ChowLiu), r"not the class; write ChowLiu\(\)"),
    "no learner": (lambda: gv.learn(TABLE, None), "one of best-choice, .*, not None"),
    "frame to the learner": (lambda: next(LEARNER.steps(FRAME)), "type DataFrame; .*read_table"),
    "numbers": (
        lambda: gv.learn(pd.DataFrame(np.random.default_rng(0).random((50, 2))), LEARNER),
        "Options are those of read_table",
    ),
    "evidence as method": (lambda: gv.infer(MODEL, {"rain": "yes"}), "must be one of bp, exact"),
    "intervals of a number": (
        lambda: gv.edge_stability(TABLE, LEARNER, subsamples=2).intervals(5),
        "must be a model .* of type int",
    ),
    "array as series": (lambda: dynamics.learn(np.eye(3), DENSE), "must be a TimeSeries, .*array"),
    "swapped series": (lambda: dynamics.learn(DENSE, SERIES), "must be a TimeSeries"),
    "share as test rows": (
        lambda: dynamics.learn(SERIES, DENSE, test=0.2),
        "argument test must be",
    ),
    "name of dynamics": (lambda: dynamics.learn(SERIES, "dense"), "must be a learner of dynamics"),
    "class of dynamics": (lambda: dynamics.learn(SERIES, dynamics.Dense), "not the class Dense"),
    "learner of edges": (lambda: dynamics.learn(SERIES, LEARNER), "must be a learner of dynamics"),
    "result as system": (
        lambda: dynamics.predict(dynamics.learn(SERIES, DENSE), SERIES),
        "must be a LinearSystem, .*DynamicsResult",
    ),
    "after the last row": (lambda: dynamics.predict(SYSTEM, SERIES.values[-1:], 3), "last row use"),
    "half a step": (lambda: dynamics.predict(SYSTEM, SERIES, 1.5), "forecasts of 1 to 8 steps"),
    "one row of numbers": (lambda: SYSTEM.predict(np.ones(2)), "array of times × 2 series"),
    "equal names": (
        lambda: dynamics.TimeSeries.from_array(np.eye(3), ("a", "a", "b")),
        "same name",
    ),
    "list as evidence": (lambda: gv.infer(MODEL, evidence=["rain"]), "mapping or a Series"),
    "frame as evidence": (lambda: gv.infer(MODEL, evidence=FRAME), "mapping or a Series"),
    **{
        f"table as a model of {name}": (call, "argument must be a model .* of type DiscreteTable")
        for name, call in {
            "infer": lambda: gv.infer(TABLE),
            "nll": lambda: gv.nll(TABLE, MODEL),
            "nlpl": lambda: gv.nlpl(TABLE, MODEL),
            "ncmll": lambda: gv.ncmll(TABLE, MODEL),
            "local_marginal": lambda: gv.local_marginal(TABLE, 0),
            "write_model": lambda: gv.write_model(TABLE, "model.uai"),
            "graph_figure": lambda: gv.figures.graph_figure(TABLE),
        }.items()
    },
    "unknown name": (
        lambda: gv.learn(TABLE, LEARNER, truth=[("rain", "gras")]),
        "name 'gras', which is no variable; did you mean 'grass'",
    ),
    "names alone": (lambda: gv.learn(TABLE, LEARNER, truth=["ab"]), "must be pairs"),
    "file": (lambda: gv.learn(TABLE, LEARNER, truth="edges.csv"), "read_truth"),
    "unknown parameter": (
        lambda: gv.MarkovNetwork().set_params(learner__alhpa=1),
        "'alhpa' is no option of best-choice",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_other_arguments_are_refused_in_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_result_and_estimator_are_accepted_as_model(tmp_path):
    result = gv.learn(TABLE, LEARNER)
    estimator = gv.MarkovNetwork(learner=LEARNER).fit(FRAME)
    for own, holder in ((result.model, result), (estimator.model_, estimator)):
        assert gv.nll(holder, TABLE) == gv.nll(own, TABLE)
        assert gv.nlpl(holder, TABLE) == gv.nlpl(own, TABLE)
        assert gv.ncmll(holder, TABLE) == gv.ncmll(own, TABLE)
        for found, other in zip(gv.infer(holder).node, gv.infer(own).node, strict=True):
            assert np.array_equal(found, other)
        assert gv.local_marginal(holder, 0).bound == gv.local_marginal(own, 0).bound
        assert gv.figures.graph_figure(holder) == gv.figures.graph_figure(own)
        assert gv.figures.degree_figure(holder) == gv.figures.degree_figure(own)
        gv.write_model(holder, tmp_path / "model.json")
        assert np.array_equal(gv.read_model(tmp_path / "model.json").edges, own.edges)


def test_every_function_has_the_same_default_learner():
    functions = (gv.learn, gv.Run, gv.MarkovNetwork, gv.edge_stability, gv.lam_path)
    for function in functions:
        assert inspect.signature(function).parameters["learner"].default == DEFAULT
    table = gv.load_dataset("survey").table.rows(slice(200))
    assert gv.learn(table).learner == gv.BestChoice()


def test_figures_are_an_attribute_of_the_package():
    assert "figures" in dir(gv)
    assert gv.figures.__name__ == "graftviz.reports.figures"


@pytest.mark.parametrize("module", ["data.reading.reading", "learning.registry"])
def test_the_examples_of_docstrings_run(module):
    names = {"gv": gv, "np": np, "pd": pd}
    found = doctest.testmod(importlib.import_module(f"graftviz.{module}"), extraglobs=names)
    assert found.attempted > 0
    assert found.failed == 0
