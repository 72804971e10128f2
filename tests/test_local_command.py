"""``graftviz local``: one JSON object on standard output, or one sentence and exit code 2."""

from __future__ import annotations

import json

import numpy as np
import pytest

import graftviz as gv
from graftviz import PairwiseMRF
from graftviz.__main__ import main
from graftviz.formats.uai import write_uai
from graftviz.sampling import grid_graph, random_model


@pytest.fixture(scope="module")
def model():
    names = (*(f"v{i}" for i in range(24)), "7")
    return random_model(
        grid_graph(5, 5).edges, [2, 3] * 12 + [2], edge_sigma=0.2, seed=4, names=names
    )


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    file = tmp_path_factory.mktemp("local") / "model.uai"
    write_uai(model, file)
    return file


def answered(capsys, *arguments):
    assert main(["local", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""

    def never(constant):
        raise AssertionError(constant)  # strict JSON knows no NaN

    return json.loads(captured.out, parse_constant=never)


def test_options_reach_the_engine(model, path, capsys):
    record = answered(
        capsys,
        *(path, "--query", "v12", "--cut", "mean-field", "--expansion", "random", "--seed", 3),
        *("--max-size", 6, "--tolerance", "1e-9", "--threshold", "0"),
    )
    wanted = gv.local_marginal(
        model, 12, cut="mean-field", expansion="random", seed=3, max_size=6, tolerance=1e-9
    )
    assert record["nodes"] == wanted.nodes.tolist()
    assert record["bound"] == pytest.approx(wanted.bound)
    assert (record["cut"], record["expansion"]) == ("mean-field", "random")


def test_a_number_is_an_index_unless_only_a_name_fits(model, path, capsys, tmp_path):
    assert answered(capsys, path, "--query", "7")["name"] == "v7"
    few = PairwiseMRF.from_tables([np.zeros(2)] * 2, {}, names=("10", "20"))
    write_uai(few, tmp_path / "few.uai")
    assert answered(capsys, tmp_path / "few.uai", "--query", "20")["query"] == 1


def test_evidence_comes_from_a_file(model, path, capsys, tmp_path):
    file = tmp_path / "seen.evid"
    file.write_text("2 11 1 13 2\n")
    truth = gv.infer(model, "exact", evidence={11: 1, 13: 2}).node[12]
    record = answered(capsys, path, "--query", 12, "--evidence", file)
    assert np.abs(np.array(record["marginal"]) - truth).max() <= record["bound"]
    assert record["evidence"] == {"11": 1, "13": 2}
    assert answered(capsys, path, "--query", 11, "--evidence", file)["marginal"] == [0.0, 1.0, 0.0]


def test_a_vacuous_bound_and_too_little_memory_are_no_failures(model, path, capsys):
    record = answered(
        capsys, path, "--query", 12, "--max-size", 12, "--tolerance", 0, "--max-memory", "2K"
    )
    assert (record["bound"], record["certified"], record["method"]) == (1.0, False, "bp")
