"""Command ``infer``: result files, a summary, and refusals that write nothing."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from inference_cases import read_mar, read_pr

from graftviz import PairwiseMRF
from graftviz.__main__ import main
from graftviz.inference.methods import METHODS
from graftviz.model.readwrite.uai import write_uai


def random_tables(pairs, sizes, *, seed=0, strength=1.0, zeros=0.0):
    """Return a model of given edges with random weights, some of them −inf."""
    rng = np.random.default_rng(seed)
    tables = {pair: rng.normal(0, strength, [sizes[i] for i in pair]) for pair in pairs}
    nodes = [rng.normal(0, strength, size) for size in sizes]
    for table in (*nodes, *tables.values()):
        table[rng.random(table.shape) < zeros] = -np.inf
    return PairwiseMRF.from_tables(nodes, tables)


def torus(rows, columns):
    """Return the edges of a grid with wrap-around."""
    found = set()
    for r, c in itertools.product(range(rows), range(columns)):
        for other in (((r + 1) % rows) * columns + c, r * columns + (c + 1) % columns):
            found.add(tuple(sorted((r * columns + c, other))))
    return sorted(found)


def infer(model, folder, *options):
    """Write a model, run the command on it, and return its exit code."""
    write_uai(model, folder / "model.uai")
    return main(["infer", str(folder / "model.uai"), "--out", str(folder / "out"), *options])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_writes_its_results(tmp_path, method, capsys):
    model = random_tables([(0, 1), (1, 2)], [2, 3, 2])
    assert infer(model, tmp_path, "--method", method) == 0
    marginals = read_mar(tmp_path / "out" / "marginals.MAR")
    assert [len(marginal) for marginal in marginals] == [2, 3, 2]
    assert math.isfinite(read_pr(tmp_path / "out" / "partition.PR"))
    output = capsys.readouterr().out
    assert f"{method}: " in output
    assert "marginals.MAR, partition.PR in " in output


def test_missing_convergence_is_reported_and_results_are_written(tmp_path, capsys):
    model = random_tables(torus(4, 4), [2] * 16, strength=3.0)
    options = ["--max-sweeps", "2", "--damping", "0", "--tolerance", "1e-12"]
    assert infer(model, tmp_path, *options) == 0
    assert "did not converge" in capsys.readouterr().out
    assert len(read_mar(tmp_path / "out" / "marginals.MAR")) == 16


def refusal(capsys):
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "Traceback" not in output.err
    return output.err


@pytest.mark.parametrize("method", METHODS)
def test_contradictory_evidence_is_refused_and_writes_nothing(tmp_path, method, capsys):
    equal = np.where(np.eye(2), 0.0, -np.inf)
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 1): equal, (1, 2): equal})
    (tmp_path / "e.evid").write_text("2 0 1 2 0")
    options = ["--method", method, "--evidence", str(tmp_path / "e.evid")]
    assert infer(model, tmp_path, *options) == 2
    assert "probability zero" in refusal(capsys)
    assert not (tmp_path / "out").exists()


def test_impossible_model_is_refused(tmp_path, capsys):
    model = PairwiseMRF.from_tables([[-np.inf, -np.inf], [0.0, 0.0]], {})
    assert infer(model, tmp_path, "--method", "exact") == 2
    assert "Every joint state" in refusal(capsys)
    assert not (tmp_path / "out").exists()


def test_model_of_large_width_is_refused_with_required_memory(tmp_path, capsys):
    model = random_tables(torus(20, 20), [2] * 400)
    assert infer(model, tmp_path, "--method", "exact", "--max-memory", "4G") == 2
    output = refusal(capsys)
    assert "at width " in output
    assert " entries (" in output
    assert "(--max-memory); try --method bp" in output
    assert not (tmp_path / "out").exists()


def test_evidence_that_is_neither_a_pair_nor_a_file_is_refused(tmp_path, capsys):
    model = random_tables([(0, 1)], [2, 3])
    assert infer(model, tmp_path, "--evidence", "home") == 2
    assert "VARIABLE=STATE or a file .evid; 'home' is neither" in refusal(capsys)
