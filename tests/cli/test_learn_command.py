"""Command ``graftviz learn``: files, messages, exit codes, Ctrl-C."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from graftviz.__main__ import main
from graftviz.cli import resources
from graftviz.learning.registry import learner_names
from graftviz.model.readwrite.uai import read_uai

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    *("result.json", "trace.csv", "edges.csv", "model.uai", "model.names.json"),
    *("graph.graphml", "replay.html"),
}


def chain_frame(seed: int, n: int, rows: int) -> pd.DataFrame:
    """Return a Markov chain x0 – x1 – … with strong dependences."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, size=rows)]
    for _ in range(n - 1):
        keep = rng.random(rows) < 0.7
        columns.append(np.where(keep, columns[-1], rng.integers(0, 3, size=rows)))
    return pd.DataFrame(dict(zip((f"v{i}" for i in range(n)), columns, strict=True)))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    chain_frame(0, 8, 400).to_csv(path, index=False)
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.csv"
    path.write_text("source,target\n" + "".join(f"v{i},v{i + 1}\n" for i in range(7)))
    return path


def learn(*arguments: object) -> int:
    return main(["learn", *map(str, arguments)])


def result_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("learner", learner_names())
def test_every_learner_writes_every_file(tmp_path, table, truth, learner, capsys):
    out = tmp_path / "deep" / "out"
    code = learn(
        *(table, "--learner", learner, "--max-edges", 7, "--test-fraction", 0.2),
        *("--truth", truth, "--seed", 3, "--out", out),
    )
    assert code == 0
    assert {path.name for path in out.iterdir()} == FILES
    result = result_of(out)
    assert result["learner"] == learner
    assert result["options"]["max_edges"] == result["edges"] == 7
    assert (result["rows"], result["rows_test"]) == (320, 80)
    assert result["nlpl_test"] < 8 * np.log(3)
    edges = pd.read_csv(out / "edges.csv")
    found = {frozenset(row) for row in edges[["source", "target"]].to_numpy().tolist()}
    hits = sum(frozenset((f"v{i}", f"v{i + 1}")) in found for i in range(7))
    assert result["recall"] == result["precision"] == pytest.approx(hits / 7)
    assert hits == 7 or learner != "edge-grafting"
    trace = pd.read_csv(out / "trace.csv")
    assert trace["edges"].iloc[-1] == 7
    assert nx.read_graphml(out / "graph.graphml").number_of_edges() == 7
    assert read_uai(out / "model.uai").n_edges == 7
    assert "<script" in (out / "replay.html").read_text(encoding="utf-8")
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "7 edges" in shown.out
    assert result["stop_reason"] in shown.out
    assert "result.json" in shown.out


def test_test_rows_are_read_from_file_in_any_column_order(tmp_path, table):
    frame = chain_frame(1, 8, 50)
    frame[frame.columns[::-1]].to_csv(tmp_path / "test.csv", index=False)
    assert learn(table, "--test", tmp_path / "test.csv", "--out", tmp_path / "o") == 0
    result = result_of(tmp_path / "o")
    assert (result["rows"], result["rows_test"]) == (400, 50)
    assert result["nlpl_test"] == pytest.approx(result["nlpl_train"], rel=0.2)


def test_constant_columns_are_reported(tmp_path, table, capsys):
    frame = pd.read_csv(table)
    frame["same"] = 1
    frame.to_csv(table, index=False)
    assert learn(table, "--out", tmp_path / "o") == 0
    assert "'same'" in capsys.readouterr().err


REFUSED = {
    "unknown learner": (["--learner", "guess"], "There is no learner 'guess'"),
    "unknown option": (["--set", "beta=1"], "There is no option 'beta'"),
    "no value": (["--set", "alpha"], "--set needs OPTION=VALUE"),
    "out of range": (["--set", "alpha=2"], "Option alpha must be"),
    "no number": (["--max-edges", "many"], "Option max_edges must be a whole number"),
    "budget twice": (["--max-edges", "3", "--set", "max_edges=4"], "set twice"),
    "too many edges": (["--max-edges", "29"], "only 28 pairs"),
    "negative seed": (["--seed", "-1"], "seed must be at least 0"),
    "test fraction": (["--test-fraction", "1.5"], "test fraction must lie between 0 and 1"),
    "no such test file": (["--test", "nowhere.csv"], "nowhere.csv"),
    "no such truth file": (["--truth", "nowhere.csv"], "nowhere.csv"),
    "bins": (["--bins", "1"], "bins"),
}


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_invalid_options_are_refused_in_one_sentence(tmp_path, table, capsys, arguments, sentence):
    assert learn(table, "--out", tmp_path / "o", *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1


def test_unknown_table_is_refused_before_folder_is_created(tmp_path, capsys):
    assert learn("nowhere", "--out", tmp_path / "o") == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_unwritable_folder_is_refused_before_learning(tmp_path, table, capsys):
    assert learn(table, "--out", table / "o") == 2
    assert "Nothing can be written to" in capsys.readouterr().err


def test_help_lists_all_learners_and_options(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["learn", "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in learner_names())
    assert "alpha=" in shown


def start(*arguments: object, **streams: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "graftviz", *map(str, arguments)]
    # Children of a background shell would ignore SIGINT.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, cwd=ROOT, text=True, **streams)
    finally:
        signal.signal(signal.SIGINT, ignored)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_closed_reader_of_output_is_no_error(tmp_path, table):
    ours, theirs = os.pipe()
    os.close(ours)
    process = start(
        *("learn", table, "--out", tmp_path / "o"), stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    error = process.communicate()[1]
    assert (process.returncode, error) == (0, "")
    assert {path.name for path in (tmp_path / "o").iterdir()} == FILES


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals")
def test_ctrl_c_writes_learned_edges(tmp_path):
    # Independent columns and a threshold near 0 give thousands of steps.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, size=(300, 150))).add_prefix("v")
    frame.to_csv(tmp_path / "table.csv", index=False)
    ours, theirs = os.openpty()
    out = tmp_path / "o"
    process = start(
        *("learn", tmp_path / "table.csv", "--learner", "edge-grafting", "--set", "lam=1e-9"),
        *("--set", "preset=paper", "--out", out),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    deadline = time.monotonic() + 120
    while not re.search(rb"learning edges: [1-9]", seen) and time.monotonic() < deadline:
        seen += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    summary = process.communicate(timeout=60)[0]
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.returncode == 130
    assert {path.name for path in out.iterdir()} == FILES
    result = result_of(out)
    step = int(re.fullmatch(r"Interrupted after step (\d+)\.", result["stop_reason"])[1])
    assert result["converged"] is False
    assert result["certificate"]["scored"] == 0
    assert len(pd.read_csv(out / "trace.csv")) == step
    assert result["edges"] == len(pd.read_csv(out / "edges.csv")) == step
    assert result["stop_reason"] in summary
    message = seen.decode().splitlines()[-1]
    assert str(out) in message
    assert "Traceback" not in seen.decode()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_before_first_step_is_reported_without_files(tmp_path, table, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("graftviz.cli.learn.Run.advance", interrupted)
    assert learn(table, "--out", tmp_path / "o") == 130
    assert "before the first step" in capsys.readouterr().err
    assert list((tmp_path / "o").iterdir()) == []


def test_file_larger_than_memory_is_refused(tmp_path, table, monkeypatch, capsys):
    monkeypatch.setattr("graftviz.cli.resources.loading_bytes", lambda path: 10**15)
    assert learn(table.rename(tmp_path / "t.csv"), "--max-edges", 3, "--out", tmp_path / "o") == 2
    assert "Reading t.csv would take about 1,000 TB of memory" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


ASKED = {
    "seconds": (["--max-seconds", "1e-9"], "more than --max-seconds 1e-09", "--yes"),
    "memory": (
        ["--max-memory", "10M"],
        "more than the 10.0 MB --max-memory allows",
        "program alone",
    ),
}


@pytest.mark.parametrize(("arguments", "reason", "way_out"), ASKED.values(), ids=ASKED)
def test_large_run_is_refused_in_a_pipe_with_numbers_and_option(
    tmp_path, table, capsys, arguments, reason, way_out
):
    assert learn(table, "--max-edges", 7, *arguments, "--out", tmp_path / "o") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(r"will take about [\d.]+ [MG]B of memory and .* of engine time", error)
    assert reason in error
    assert way_out in error
    assert not (tmp_path / "o").exists()


def test_yes_overrides_limit_of_seconds_and_not_of_memory(tmp_path, table):
    given = (table, "--max-edges", 7, "--max-seconds", 1e-9, "--yes", "--out", tmp_path / "o")
    assert learn(*given) == 0
    assert learn(*given, "--max-memory", "10M") == 2


class Terminal(io.StringIO):
    """Stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2), ("", 2)])
def test_large_run_needs_confirmation_in_a_terminal(tmp_path, table, monkeypatch, answer, code):
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown)
    given = ("--max-edges", 3, "--max-seconds", 1e-9, "--out", tmp_path / "o")
    assert learn(table, *given) == code
    assert "Continue? [y/N]" in shown.getvalue()
    assert (tmp_path / "o").exists() == (code == 0)


def test_max_memory_limits_cache(tmp_path, table, monkeypatch):
    seen = []
    fit_cache = resources._fit_cache

    def recording_fit_cache(*arguments):
        seen.append(fit_cache(*arguments))
        return seen[-1]

    monkeypatch.setattr("graftviz.cli.resources._fit_cache", recording_fit_cache)
    monkeypatch.setattr("graftviz.cli.resources.DEFAULT_CACHE_BYTES", 10**12)
    assert learn(table, "--max-memory", "100G", "--yes", "--max-edges", 3, "--out", tmp_path) == 0
    assert seen[0][0] == 10**12


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-memory", "much"], "--max-memory needs a size such as 500M or 4G, not 'much'"),
        (["--max-seconds", "0"], "--max-seconds must be above 0, not 0"),
    ],
)
def test_invalid_limits_are_refused(tmp_path, table, capsys, arguments, sentence):
    assert learn(table, "--out", tmp_path / "o", *arguments) == 2
    assert capsys.readouterr().err == f"{sentence}.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--jobs", 2], "--jobs has no effect without --choose-lam or --stability"),
        (["--lam-values", 5], "--lam-values has no effect without --choose-lam"),
        (["--stability-method", "stars"], "--stability-method has no effect without --stability"),
    ],
)
def test_options_without_required_option_are_refused(tmp_path, table, capsys, arguments, words):
    assert learn(table, *arguments, "--out", tmp_path / "o") == 2
    assert words in capsys.readouterr().err


def test_misspelt_data_set_is_refused_with_suggestion(tmp_path, capsys):
    assert learn("karat", "--out", tmp_path / "o") == 2
    assert "did you mean karate?" in capsys.readouterr().err


def test_compressed_table_is_read(tmp_path, table):
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(Path(table).read_bytes()))
    assert learn(packed, "--out", tmp_path / "o") == 0
    assert result_of(tmp_path / "o")["rows"] == 400
