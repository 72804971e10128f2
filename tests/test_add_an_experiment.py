"""The walk-through of docs/add_an_experiment.md: its file is found, runs, resumes and judges."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
from tutorials import tutorial

from graftviz.__main__ import main
from graftviz.experiments.reproduction import papers
from graftviz.experiments.reproduction.experiment import experiments

TUTORIAL = tutorial("add_an_experiment")
NAME = "toy-fig1"


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """The experiment of the page, found in a folder of its own."""
    TUTORIAL.write(tmp_path)
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    experiments.cache_clear()
    yield experiments()[NAME]
    experiments.cache_clear()
    del sys.modules[f"{papers.__name__}.{TUTORIAL.module}"]


def test_the_command_of_the_page_measures_once_and_judges(
    experiment, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = TUTORIAL.command
    for kept in (0, 4):
        assert main(words) == 0
        folder = Path(words[words.index("--out") + 1])
        found = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
        assert (found["parts"], found["parts_kept_from_earlier"]) == (4, kept)
        assert [claim["held"] for claim in found["claims"]] == [True, True]
    assert (folder / f"{NAME}.html").exists()
    assert (folder / f"{NAME}.csv").read_text().startswith("method,rows,tree,recall\n")
    capsys.readouterr()
    assert main(["reproduce", "list"]) == 0
    assert experiment.title in capsys.readouterr().out


def test_its_claims_do_not_hold_for_rows_that_contradict_them(experiment):
    rows = [
        {"method": "Chow–Liu tree", "rows": count, "tree": 0, "recall": recall}
        for count, recall in ((20, 0.5), (2_000, 0.4))
    ]
    assert [claim.judge(rows).held for claim in experiment.claims] == [False, False]
