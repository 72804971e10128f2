"""Arena: every learner has its row, and a failing learner does not stop the others."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from graftviz.__main__ import main
from graftviz.experiments import arena as measured
from graftviz.experiments.arena import contest_of, entry, lab_of, measurements
from graftviz.experiments.sweep_files import arena_files, arena_markdown
from graftviz.learners.chow_liu import ChowLiu
from graftviz.learners.registry import learner_names
from graftviz.metrics import nll, nlpl
from graftviz.runs import learn
from graftviz.table import DiscreteTable


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    codes = np.cumsum(rng.random((300, 6)) < 0.3, axis=1) % 2
    return DiscreteTable.from_codes(codes)


@pytest.fixture(scope="module")
def contest(table):
    return contest_of("chain", table, None, fraction=0.2, seed=1)


@pytest.fixture(scope="module")
def results(tmp_path_factory, table):
    """Results of all learners on a small file, by the command."""
    folder = tmp_path_factory.mktemp("arena")
    np.savez(folder / "rows.npz", X=table.codes.T)
    out = folder / "out"
    given = f"chain={folder / 'rows.npz'}"
    assert main(["arena", "--data", given, "--out", str(out), "--max-edges", "7"]) == 0
    return out


def measured_rows(contest, *learners):
    lab = lab_of([contest])
    return [lab.measure(measurement) for measurement in measurements([contest], learners)]


def test_every_learner_has_row_with_same_budget(results):
    with (results / "arena.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["learner"] for row in rows] == list(learner_names())
    for row in rows:
        assert row["failure"] == ""
        assert 0 < int(row["edges"]) <= 7
        assert row["options"] == "max_edges=7"
        assert row["inference"] == "exact"
        assert all(float(row[k]) > 0.0 for k in ("nlpl", "nll", "inference_seconds"))
        assert 0 <= int(row["width"]) < 6
    page = (results / "arena.html").read_text(encoding="utf-8")
    whole = json.loads((results / "measured.json").read_text(encoding="utf-8"))
    assert whole["data"][0]["variables"] == 6
    assert "chain=PATH" in whole["command"]
    assert str(results.parent) not in json.dumps(whole) + page
    assert all(name in page for name in learner_names())


def test_entry_matches_learner_and_metrics(contest):
    (row,) = measured_rows(contest, "chow-liu")
    found = entry(row)
    alone = learn(contest.train, ChowLiu(max_edges=12), test=contest.test)
    assert found["nll"] == pytest.approx(nll(alone.model, contest.test))
    wanted = nlpl(alone.model, contest.test)
    assert found["nlpl"] == pytest.approx(wanted)
    assert (found["edges"], found["width"]) == (alone.n_edges, 1)


def test_failure_is_reported_in_its_row(contest, monkeypatch):
    def fail(self, table, *, seed=0):
        raise ArithmeticError("The weights are so large that their sums overflow.")
        yield

    monkeypatch.setattr(ChowLiu, "steps", fail)
    rows = measured_rows(contest, "chow-liu", "edge-grafting")
    entries = [entry(row) for row in rows]
    assert "overflow" in entries[0]["failure"]
    assert entries[0]["options"] == {"max_edges": 12}
    assert entries[1]["failure"] == ""
    assert entries[1]["nll"] is not None
    files = arena_files(rows, [contest], "")
    for text in (arena_markdown(rows, [contest]), *files.values()):
        assert "sums overflow" in text


def test_infeasible_inference_is_named(contest, monkeypatch):
    monkeypatch.setattr(measured, "MOST_OPERATIONS", 10)
    monkeypatch.setattr(measured, "_MOST_ENTRIES", 10)
    (row,) = measured_rows(contest, "edge-grafting")
    found = entry(row)
    assert (found["nll"], found["inference"]) == (None, "bp")
    assert found["inference_seconds"] > 0.0
    assert any("infeasible" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--learners", "chow"], "no learner 'chow'"),
        (["--data", "no-such-file"], "no-such-file"),
        (["--max-edges", "0"], "max-edges from 1 to"),
        (["--limit", "0"], "more than 0 seconds"),
    ],
)
def test_invalid_arguments_are_refused(arguments, words, capsys, tmp_path):
    assert main(["arena", "--out", str(tmp_path / "out"), *arguments]) == 2
    output = capsys.readouterr().err
    assert words in output
    assert output.count("\n") == 1
