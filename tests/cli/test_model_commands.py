"""Commands about a model: sample, convert and infer."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graftviz import PairwiseMRF, infer, read_model
from graftviz.__main__ import main
from graftviz.data.synthetic.potentials import random_model
from graftviz.model.readwrite.uai import write_uai


@pytest.fixture
def model() -> PairwiseMRF:
    return random_model([(0, 1), (1, 2), (2, 3)], [2, 3, 2, 3], seed=0, names=list("abcd"))


@pytest.fixture
def uai(model: PairwiseMRF, tmp_path: Path) -> str:
    write_uai(model, tmp_path / "model.uai")
    return str(tmp_path / "model.uai")


def test_sample_prints_the_rows_of_the_library(
    model: PairwiseMRF, uai: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--rows", "20", "--seed", "3", "--evidence", "b=2", "--evidence", "c=0"]
    assert main(["sample", uai, *arguments]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out), dtype=str)
    expected = PairwiseMRF.of(model).sample(20, seed=3, evidence={"b": 2, "c": 0}).to_frame()
    assert (printed.to_numpy() == expected.to_numpy()).all()
    assert set(printed["b"]) == {"2"}


@pytest.mark.parametrize("ending", [".graphml", ".json", ".uai"])
def test_convert_writes_the_same_model(
    model: PairwiseMRF, uai: str, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"other{ending}"
    assert main(["convert", uai, str(path)]) == 0
    back = read_model(path)
    np.testing.assert_allclose(back.edge_norms(), model.edge_norms(), atol=1e-12)
    assert (back.names, back.labels) == (model.names, model.labels)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sample", "--evidence", "b"], "written as VARIABLE=STATE, not 'b'"),
        (["sample", "--evidence", "b=7"], "no state '7'"),
        (["sample", "--evidence", "b=1", "--evidence", "b=2"], "two different states"),
        (["sample", "--rows", "0"], "at least 1 row"),
        (["sample", "--rows", "9" * 40], "at most 1,000,000,000 rows"),
        (["convert", "other.txt"], "not 'other.txt'"),
    ],
)
def test_invalid_request_is_refused_in_one_sentence(
    uai: str, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = arguments
    assert main([command, uai, *rest]) == 2
    assert sentence in capsys.readouterr().err


def test_infer_prints_beliefs_without_a_folder(
    model: PairwiseMRF, uai: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["infer", uai, "--method", "exact"]) == 0
    found = json.loads(capsys.readouterr().out)
    beliefs = infer(model, "exact")
    assert found["log_z"] == pytest.approx(beliefs.log_partition)
    assert found["marginals"]["c"] == pytest.approx(beliefs["c"].to_dict())


def test_infer_takes_states_by_name(
    model: PairwiseMRF, uai: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["infer", uai, "--method", "exact", "--evidence", "a=1", "--evidence", "b=2"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = infer(model, "exact", evidence={"a": "1", "b": "2"})
    assert found["marginals"]["c"] == pytest.approx(expected["c"].to_dict())
