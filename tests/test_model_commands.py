"""Commands about a model: sample, score and convert."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graftviz import PairwiseMRF, infer, learn, nll, read_model, read_table, write_model
from graftviz.__main__ import main
from graftviz.errors import InputError
from graftviz.formats.uai import write_uai
from graftviz.metrics import nlpl
from graftviz.sampling import random_model


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
    expected = model.sample(20, seed=3, evidence={"b": 2, "c": 0}).to_frame()
    assert (printed.to_numpy() == expected.to_numpy()).all()
    assert set(printed["b"]) == {"2"}


def test_score_prints_the_losses_of_the_library(
    model: PairwiseMRF, uai: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "rows.csv")
    assert main(["sample", uai, "--rows", "50", "--out", path]) == 0
    capsys.readouterr()
    assert main(["score", uai, path]) == 0
    found = json.loads(capsys.readouterr().out)
    table = model.sample(50)
    assert found["rows"] == 50
    assert found["nlpl"] == pytest.approx(nlpl(model, table))
    assert found["nll"] == pytest.approx(nll(model, table))
    assert read_table(path).n_rows == 50


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


def test_compare_prints_common_edges_and_distances(
    model: PairwiseMRF, uai: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = random_model([(0, 1), (0, 3)], [2, 3, 2, 3], seed=1, names=list("abcd"))
    write_uai(other, tmp_path / "other.uai")
    assert main(["compare", uai, str(tmp_path / "other.uai")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["common"], found["lost"], found["gained"]) == (1, 2, 1)
    assert (found["recall"], found["precision"]) == (0.5, pytest.approx(1 / 3))
    assert found["edges"][0] == {
        "source": "a",
        "target": "b",
        "status": "common",
        "first": pytest.approx(model.edge_norms()[0]),
        "second": pytest.approx(other.edge_norms()[0]),
    }
    gaps = [
        0.5 * np.abs(mine - theirs).sum()
        for mine, theirs in zip(infer(model, "exact").node, infer(other, "exact").node, strict=True)
    ]
    assert found["marginals"]["largest_total_variation"] == pytest.approx(max(gaps))
    assert found["marginals"]["variable"] == "abcd"[int(np.argmax(gaps))]
    assert main(["compare", uai, uai]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] == 1.0


def test_infer_takes_states_by_name(
    model: PairwiseMRF, uai: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["infer", uai, "--method", "exact", "--evidence", "a=1", "--evidence", "b=2"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = infer(model, "exact", evidence={"a": "1", "b": "2"})
    assert found["marginals"]["c"] == pytest.approx(expected["c"].to_dict())


def test_score_reads_weights_gaps_and_unseen_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pd.DataFrame({"a": [1, 2, 1, 2] * 9, "b": list("xyxx") * 9})
    result = learn(rows, "chow-liu")
    write_model(result, tmp_path / "model.uai")
    new = pd.DataFrame({"a": [1, 9, None], "b": ["x", "y", "y"], "w": [1, 3, 1]})
    new.to_csv(tmp_path / "new.csv", index=False)
    options = ["--weights", "w", "--missing", "drop", "--unseen", "nearest"]
    assert main(["score", str(tmp_path / "model.uai"), str(tmp_path / "new.csv"), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    known = pd.DataFrame({"a": [1, 2, 2, 2], "b": ["x", "y", "y", "y"]})
    like = read_table(known, like=result.run.table)
    assert found["nlpl"] == pytest.approx(nlpl(result.model, like))
    with pytest.raises(InputError, match="not an object of type str"):
        write_model("model", tmp_path / "model.uai")  # type: ignore[arg-type]
