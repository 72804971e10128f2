"""Command generate: files, messages and refusals."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graftviz import DiscreteTable, read_table
from graftviz.__main__ import main
from graftviz.cli.progress import progress
from graftviz.data.sets.files import read_truth
from graftviz.reports.files.table_csv import table_csv


def run(*words: object) -> int:
    return main(["generate", "mrf", *map(str, words)])


def small(folder: Path, *words: object) -> int:
    return run("--nodes", 9, "--states", 3, "--rows", 200, "--out", folder, *words)


@pytest.mark.parametrize(
    ("words", "nodes", "edges"),
    [
        (("--graph", "grid", "--nodes", 9), 9, 12),
        (("--graph", "grid", "--shape", "2x5"), 10, 13),
        (("--graph", "grid", "--shape", "2×5", "--nodes", 10), 10, 13),
        (("--graph", "random", "--nodes", 8), 8, 12),
        (("--graph", "random", "--nodes", 8, "--edges", 5), 8, 5),
        (("--graph", "scale-free", "--nodes", 8, "--edges", 9), 8, 9),
        (("--graph", "random", "--nodes", 8, "--probability", 1.0), 8, 28),
        (("--graph", "karate"), 34, 78),
        (("--graph", "les-miserables", "--nodes", 77), 77, 254),
    ],
)
def test_every_graph_is_generated(
    words: tuple[object, ...], nodes: int, edges: int, tmp_path: Path
) -> None:
    sampler = ("--burn-in", 5, "--thin", 1, "--chains", 20)
    assert run("--states", 2, "--rows", 60, "--out", tmp_path, *words, *sampler) == 0
    table = read_table(tmp_path / "table.csv")
    assert (table.n_variables, table.n_rows) == (nodes, 60)
    assert len(read_truth(tmp_path / "truth_edges.csv", table.names)) == edges


def test_state_that_never_occurs_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small(tmp_path, "--states", 9, "--rows", 3, "--chains", 2) == 0
    assert re.search(r"Note: State \d+ of x0 .* never occurs", capsys.readouterr().err)


REFUSED = {
    "few nodes": (("--nodes", 2), "between 3 and"),
    "many nodes": (("--nodes", 10**9), "between 3 and"),
    "no square": (("--graph", "grid", "--nodes", 10), "9 or 16"),
    "grid of what": (("--graph", "grid"), "--nodes .* or --shape"),
    "odd shape": (("--graph", "grid", "--shape", "3by4"), "look like 20x30"),
    "tiny shape": (("--graph", "grid", "--shape", "1x2"), "has 2"),
    "huge shape": (("--graph", "grid", "--shape", "9999x9999"), "between 3 and"),
    "two sizes": (("--graph", "grid", "--shape", "3x4", "--nodes", 9), "but --nodes is 9"),
    "shape of no grid": (("--shape", "3x4"), "belongs to --graph grid"),
    "edges of a grid": (("--graph", "grid", "--nodes", 9, "--edges", 4), "--graph random"),
    "too many edges": (("--graph", "random", "--nodes", 4, "--edges", 7), "between 0 and 6"),
    "edges twice": (("--graph", "random", "--edges", 4, "--probability", 0.5), "not both"),
    "no probability": (("--graph", "random", "--probability", 2), "0 … 1"),
    "other club": (("--graph", "karate", "--nodes", 20), "34 nodes, not 20"),
    "one state": (("--states", 1), "--states must be between 2"),
    "many states": (("--states", 257), "--states must be between 2"),
    "no rows": (("--rows", 0), "at least 1; got 0"),
    "negative seed": (("--seed", -1), "seed"),
    "spread": (("--edge-sigma", -0.5), "standard deviation of edge weights"),
    "burn-in": (("--burn-in", -1), "burn-in"),
    "thinning": (("--thin", 0), "thinning"),
    "chains": (("--chains", 1), "chains"),
}


@pytest.mark.parametrize(("words", "complaint"), REFUSED.values(), ids=REFUSED)
def test_invalid_arguments_are_refused_in_one_sentence(
    words: tuple[object, ...], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert run("--out", folder, *words) == 2
    output = capsys.readouterr()
    assert re.search(complaint, output.err)
    assert output.err.count("\n") == 1
    assert output.out == ""
    assert not folder.exists()


def test_output_to_pipe_has_no_progress_bar(tmp_path: Path) -> None:
    words = ["generate", "mrf", "--nodes", "5", "--rows", "50", "--out", str(tmp_path)]
    completed = subprocess.run(
        [sys.executable, "-m", "graftviz", *words], capture_output=True, text=True, check=True
    )
    assert completed.stderr == "" or completed.stderr.startswith("Note: ")
    assert "\r" not in completed.stdout
    assert len(completed.stdout.splitlines()) == 3
    assert "50 rows of 5 variables with 5 states" in completed.stdout
    assert "R-hat" in completed.stdout


# --- table.csv --------------------------------------------------------------------------------


def test_labels_are_quoted_in_csv_file(tmp_path: Path) -> None:
    labels = (("no, never", 'say "yes"'), ("a\nb", "Ω"), ("0", "10", "2"), ("007", "x"))
    codes = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    codes[0] = [0, 0, 2, 0]
    table = DiscreteTable.from_codes(codes, names=["q,1", 'q"2', "plain", "Ω"], labels=labels)
    rows = list(csv.reader(io.StringIO(table_csv(table).decode("utf-8"), newline="")))
    assert tuple(rows[0]) == table.names
    for r, row in enumerate(rows[1:]):
        assert row == [labels[i][table.codes[i, r]] for i in range(4)]


# --- progress ---------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        monkeypatch.setattr("sys.stderr", stream)
        with progress(10, "work") as bar:
            for done in range(11):
                bar.show(done)
            bar.refresh()
    assert pipe.getvalue() == ""
    shown = terminal.getvalue()
    assert "work: 100%" in shown
    assert shown.endswith("\r")  # the line is cleared at the end
    assert "\n" not in shown


def test_progress_is_drawn_at_limited_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress(10**6, "work") as bar:
        for done in range(20_000):
            bar.show(done)
    assert terminal.getvalue().count("work") < 20
