"""Predictions of networks beside logistic regressions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from graftviz.__main__ import main
from graftviz.evaluation.benchmarks import prediction
from graftviz.evaluation.benchmarks.prediction import regression_loss, split, tables


def test_numbers_are_cut_and_unseen_states_left_out():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"number": random.normal(size=90), "answer": ["yes", "no"] * 45})
    frame["once"] = ["no"] * 89 + ["yes"]
    frame["text"] = [f"row {k}" for k in range(90)]
    train, test = split(frame)
    assert set(train.names) <= {"number", "answer", "once"}
    assert train.cardinalities[train.names.index("number")] == 4
    assert (train.n_rows, test.n_rows) == (60, 30)
    np.testing.assert_array_equal(train.cardinalities, test.cardinalities)


def test_regressions_of_independent_columns_cost_their_entropies():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.integers(0, 2, (6_000, 4))).astype(str).add_prefix("c")
    assert regression_loss(*split(frame)) == pytest.approx(4 * np.log(2.0), abs=0.01)


def test_every_table_has_columns_and_held_out_rows():
    for load in tables().values():
        train, test = split(load())
        assert train.n_variables >= 5
        assert test.n_rows >= 0.3 * (train.n_rows + test.n_rows)


@pytest.mark.parametrize("name", ["iris", "tips"])
def test_network_predicts_as_well_as_regressions(name, tmp_path, capsys):
    assert main(["bench", "--only", f"prediction, {name}", "--out", str(tmp_path)]) == 0
    row = json.loads((tmp_path / "prediction.json").read_text())["rows"][0]
    assert row["table"] == name
    assert row["best-choice"] < row["independent"]
    assert row["ratio"] < 1.05
    assert row["gap"] < 1e-4
    assert f"| {name} |" in (tmp_path / "prediction.md").read_text()
    assert "ratio" in capsys.readouterr().out
    assert prediction.measurements("no such table") == ()
