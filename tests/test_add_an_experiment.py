"""The walk-through of docs/add_an_experiment.md: its file is found, runs, resumes and judges."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import pytest
from tutorials import tutorial

from graftviz.__main__ import main
from graftviz.experiments.reproduction import papers
from graftviz.experiments.reproduction.experiment import experiments

TUTORIAL = tutorial("add_an_experiment")
NAME = "toy-fig1"
FILE = TUTORIAL.files["toy_trees.py"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A second folder of files of experiments, with that of the page."""
    TUTORIAL.write(tmp_path)
    modules = set(sys.modules)
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    experiments.cache_clear()
    yield tmp_path
    experiments.cache_clear()
    for name in set(sys.modules) - modules:
        if name.startswith(f"{papers.__name__}."):
            del sys.modules[name]


@pytest.fixture
def experiment(folder):
    """The experiment of the page."""
    return experiments()[NAME]


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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"toy-fig1"', '"toy/fig1"', "'toy/fig1' of an experiment has a space or a slash"),
        ("(6, 12, 30)", "(6, 12)", r"toy-fig1: sizes\['nodes'\] needs a value for each of rehear"),
        ('"above 0"', '"abov 0"', "toy-fig1: claim on gain .* rows: 'abov 0' is no comparator"),
        ('"above 0"', "0", "toy-fig1: claim on gain .* rows: "),
        ("EXPERIMENTS = (", "EXPERIMENTS = (", "bad.py and toy_trees.py both declare .*'toy-fig1'"),
        ('"toy-fig1"', '"best-choice-fig1"', "best_choice.py and bad.py both declare .*'best-"),
        ("EXPERIMENTS", "EXPERIMENT", "bad.py: AttributeError: .*EXPERIMENTS"),
        ("EXPERIMENTS = (", "EXPERIMENTS = list, (", "bad.py: TypeError: EXPERIMENTS is not a"),
        ("def tree_parts(", "def tree_parts((", "bad.py: SyntaxError: .*line"),
        ("import numpy", "import no_numpy", "bad.py: ModuleNotFoundError"),
    ],
)
def test_a_bad_file_is_named(old, new, words, folder, capsys):
    (folder / "bad.py").write_text(FILE.replace(old, new), encoding="utf-8")
    assert main(["reproduce", "list"]) == 2
    message = capsys.readouterr().err
    assert re.search(words, message)
    assert "bad.py" in message
    assert message.count("\n") == 1
