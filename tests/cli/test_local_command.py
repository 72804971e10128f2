"""Command ``graftviz local``: one JSON object on stdout, or one sentence and exit code 2."""

from __future__ import annotations

import json

import numpy as np
import pytest

import graftviz as gv
from graftviz import PairwiseMRF
from graftviz.__main__ import main
from graftviz.data.synthetic.graphs import grid_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.model.readwrite.uai import write_uai


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


def run_local(capsys, *arguments):
    assert main(["local", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""

    def refuse(constant):
        raise AssertionError(constant)  # NaN is not JSON

    return json.loads(captured.out, parse_constant=refuse)


def test_options_are_passed_to_local_marginal(model, path, capsys):
    record = run_local(
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


def test_number_is_an_index_unless_it_is_only_a_name(model, path, capsys, tmp_path):
    assert run_local(capsys, path, "--query", "7")["name"] == "v7"
    few = PairwiseMRF.from_tables([np.zeros(2)] * 2, {}, names=("10", "20"))
    write_uai(few, tmp_path / "few.uai")
    assert run_local(capsys, tmp_path / "few.uai", "--query", "20")["query"] == 1


def test_evidence_is_read_from_file(model, path, capsys, tmp_path):
    file = tmp_path / "seen.evid"
    file.write_text("2 11 1 13 2\n")
    truth = gv.infer(model, "exact", evidence={11: 1, 13: 2}).node[12]
    record = run_local(capsys, path, "--query", 12, "--evidence", file)
    assert np.abs(np.array(record["marginal"]) - truth).max() <= record["bound"]
    assert record["evidence"] == {"11": 1, "13": 2}
    assert run_local(capsys, path, "--query", 11, "--evidence", file)["marginal"] == [0.0, 1.0, 0.0]


def test_vacuous_bound_and_low_memory_are_no_errors(model, path, capsys):
    record = run_local(
        capsys, path, "--query", 12, "--max-size", 12, "--tolerance", 0, "--max-memory", "2K"
    )
    assert (record["bound"], record["certified"], record["method"]) == (1.0, False, "bp")
