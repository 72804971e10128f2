"""``graftviz dynamics``: documented files, one sentence per error, and exit codes."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.__main__ import main
from graftviz.cli import dynamics as command


@pytest.fixture(scope="module")
def truth():
    return dynamics.random_system(12, density=0.2, seed=3)


@pytest.fixture(scope="module")
def series(truth):
    return dynamics.simulate(truth, 600, seed=1)


@pytest.fixture(scope="module")
def path(series, tmp_path_factory):
    file = tmp_path_factory.mktemp("dynamics") / "series.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(series.names)
        writer.writerows(series.values.tolist())
    return file


def learned(capsys, path, out, *arguments):
    assert main(["dynamics", str(path), "--out", str(out), *map(str, arguments)]) == 0
    output = capsys.readouterr()
    record = json.loads((out / "result.json").read_text(), parse_constant=pytest.fail)
    with (out / "matrix.csv").open(newline="") as stream:
        (corner, *names), *rows = csv.reader(stream)
    assert (corner, [row[0] for row in rows]) == ("target", names)
    return record, names, np.array([row[1:] for row in rows], dtype=float), output


def test_held_out_rows_are_read_from_separate_file(path, tmp_path, capsys):
    given = ("--learner", "inducing", "--test", path)
    record, _, _, output = learned(capsys, path, tmp_path / "out", *given)
    assert record["rows"] == record["rows_test"] == 600
    assert record["pred_error_test"] == pytest.approx(record["pred_error_train"])
    assert output.err == ""


def test_unstable_system_is_reported(tmp_path, capsys):
    file = tmp_path / "grows.csv"
    file.write_text("a,b\n" + "".join(f"{1.1**t},{0.5**t}\n" for t in range(30)))
    record, _, _, output = learned(capsys, file, tmp_path / "out", "--learner", "dense")
    assert record["spectral_radius"] == pytest.approx(1.1)
    assert "1.1000, above 1" in output.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--learner", "sparse"), "the learners are dense, enforcing, inducing, scalable"),
        (("--learner", "enforcing"), "set --parents FILE"),
        (("--learner", "dense", "--parents", "x.csv"), "--parents is for --learner enforcing"),
        (("--set", "parents=13"), "only 12 series"),
        (("--set", "parents"), "--set needs OPTION=VALUE"),
        (("--set", "seeds=0"), "seeds must be greater than 0"),
        (("--learner", "dense", "--set", "parents=3"), "no option 'parents'"),
        (("--test-fraction", "1.5"), "must lie between 0 and 1"),
        (("--test-fraction", "0.99"), "at least 15 rows of training data, but there are 6 rows"),
        (("--seed", "-1"), "at least 0"),
        (("--time", "when"), "no column 'when'"),
    ],
)
def test_refusal_is_one_sentence_and_writes_no_files(path, tmp_path, capsys, arguments, sentence):
    out = tmp_path / "out"
    assert main(["dynamics", str(path), "--out", str(out), *arguments]) == 2
    output = capsys.readouterr().err
    assert sentence in output
    assert output.count("\n") == 1
    assert not out.exists()


def test_interrupted_run_writes_learned_rows(path, tmp_path, capsys, monkeypatch):
    learn = dynamics.learn

    def interrupted(*arguments, callback, **options):
        def stop(step):
            if step.index == 6:
                raise KeyboardInterrupt

        return learn(*arguments, callback=stop, **options)

    monkeypatch.setattr(dynamics, "learn", interrupted)
    monkeypatch.setattr(command, "_load_engine", lambda learner: None)
    out = tmp_path / "out"
    assert main(["dynamics", str(path), "--learner", "inducing", "--out", str(out)]) == 130
    record = json.loads((out / "result.json").read_text())
    assert record["complete"] is False
    assert "7 of 12" in capsys.readouterr().err
