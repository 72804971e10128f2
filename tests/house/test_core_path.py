"""From a file to a saved model, with required dependencies only and without `conftest.py`.

`.ci/run` runs this file a second time, with the lowest versions that `pyproject.toml` allows.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import graftviz as gv
from graftviz.__main__ import main

SURVEY = Path(__file__).resolve().parents[2] / "sample_data" / "survey" / "table.csv"
LEARNER = "chow-liu"  # compiles least


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    """Survey with gaps, numbers, an ordered column and case weights."""
    frame = pd.read_csv(SURVEY)
    random = np.random.default_rng(0)
    frame = frame.mask(random.random(frame.shape) < 0.02)
    frame["age"] = random.normal(40.0, 10.0, len(frame)).round(1)
    frame["wakes up"] = pd.Categorical(frame["wakes up"], ["late", "early"], ordered=True)
    frame["count"] = random.integers(1, 4, len(frame))
    return frame


@pytest.fixture(scope="module")
def table(answers: pd.DataFrame) -> gv.DiscreteTable:
    return gv.read_table(answers, missing="drop", continuous="bin", weights="count")


@pytest.fixture(scope="module")
def result(table: gv.DiscreteTable) -> gv.Result:
    return gv.learn(table, LEARNER)


def test_files_are_read_like_the_frame(
    answers: pd.DataFrame, table: gv.DiscreteTable, tmp_path: Path
) -> None:
    answers.to_csv(tmp_path / "answers.csv", index=False)
    answers.to_parquet(tmp_path / "answers.parquet")
    for name in ("answers.csv", "answers.parquet"):
        found = gv.read_table(
            tmp_path / name, missing="drop", continuous="bin", weights="count", like=table
        )
        assert (found.codes == table.codes).all(), name
        assert (found.weights == table.weights).all(), name
    assert sorted(table.to_frame()["wakes up"].unique()) == ["early", "late"]


def test_tree_is_learned_and_gives_marginals(table: gv.DiscreteTable, result: gv.Result) -> None:
    assert result.model.n_edges == table.n_variables - 1
    found = gv.infer(result.model, "bp")
    for i, belief in enumerate(found.node):
        np.testing.assert_allclose(belief, table.state_counts(i) / table.total_weight, atol=0.01)
    assert result.plot().to_dict()["data"]


def test_saved_result_is_read_back(result: gv.Result, tmp_path: Path) -> None:
    found = gv.read_result(result.save(tmp_path / "result"))
    np.testing.assert_allclose(found.model.weights, result.model.weights, atol=1e-12)
    for name in ("model.uai", "model.graphml", "model.json"):
        gv.write_model(result, tmp_path / name)
        assert gv.read_model(tmp_path / name).n_edges == result.model.n_edges
    assert "<iframe" in result._repr_html_()


def test_the_command_learns_and_infers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(SURVEY), "--learner", LEARNER, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["infer", str(tmp_path / "model.uai"), "--method", "bp"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_estimator_is_tuned_by_grid_search() -> None:
    frame = pd.read_csv(SURVEY).head(600)
    search = GridSearchCV(gv.MarkovNetwork(LEARNER), {"learner__max_edges": [1, 10]}, cv=2).fit(
        frame
    )
    assert search.best_params_ == {"learner__max_edges": 10}
    assert search.best_estimator_.edges_.shape == (10, 2)
