"""Tutorial of docs/add_an_experiment.md: its file is found, runs, resumes and judges."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tutorials import ROOT, tutorial

from graftviz.__main__ import main
from graftviz.experiments.reproduction import papers
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import experiments

TUTORIAL = tutorial("add_an_experiment")
NAME = "toy-fig1"
FILE = TUTORIAL.files["toy_trees.py"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Second folder of files of experiments, with that of the tutorial."""
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
    """Experiment of the tutorial."""
    return experiments()[NAME]


def test_command_of_tutorial_measures_once_and_judges_claims(
    experiment, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = TUTORIAL.command
    for cached in (0, 4):
        assert main(words) == 0
        folder = Path(words[words.index("--out") + 1])
        report = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
        assert (report["parts"], report["parts_kept_from_earlier"]) == (4, cached)
        assert [claim["held"] for claim in report["claims"]] == [True, True]
    assert (folder / f"{NAME}.html").exists()
    assert (folder / f"{NAME}.csv").read_text().startswith("method,rows,tree,recall\n")
    capsys.readouterr()
    assert main(["reproduce", "list"]) == 0
    assert experiment.title in capsys.readouterr().out


def test_check_of_tutorial_passes(tmp_path):
    """Run its tests beside a copy of the rows of claims, with those of the tutorial added."""
    tests, papers_folder = tmp_path / "tests", tmp_path / "papers"
    papers_folder.mkdir()
    tests.mkdir()
    TUTORIAL.write(papers_folder)
    command = re.search(r"-m (pytest .* -k toy)\n", TUTORIAL.text)[1].split()
    found = [name for name in command if name.endswith(".py")]
    for name in (*found, "tests/claim_rows.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        text += f"\n\n{TUTORIAL.lines.get(name, '')}"
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tests / "conftest.py").write_text(
        "from graftviz.experiments.reproduction import papers\n"
        f"papers.__path__.append({str(papers_folder)!r})\n"
    )
    completed = subprocess.run(
        [sys.executable, "-m", *command, "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "4 passed" in completed.stdout


def test_experiments_in_different_files_do_not_share_cached_parts(folder):
    (folder / "copy.py").write_text(FILE.replace(NAME, "toy-copy"), encoding="utf-8")
    parts = [part for name in (NAME, "toy-copy") for part in experiments()[name].sweep("small", 0)]
    assert len({json.dumps(part.key(Data())) for part in parts}) == len(parts) == 18


MEASURED = '[{"recall": recall}]'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (MEASURED, '{"recall": recall}', "Part {.*'tree': 0} did not return a list of dict"),
        (MEASURED, "None", "Part .* did not return a list of dict"),
        (MEASURED, "[recall]", "Part .* did not return a list of dict"),
        (MEASURED, '[{"recall": recall, "rows": 1}]', "Part .* with its own columns: rows"),
        (MEASURED, '[{"recall": {1}}]', "Part .* needs JSON values: .* set"),
        ('{"nodes": nodes, "seed"', '{"nodes": {1}, "seed"', "Part .* needs JSON values: .* set"),
    ],
)
def test_rows_are_checked_before_they_are_cached(old, new, words, folder, monkeypatch, capsys):
    (folder / "toy_trees.py").write_text(FILE.replace(old, new), encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(TUTORIAL.command) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert re.search(words, message)
    assert list(folder.rglob("cache/*")) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "words", "held"),
    [
        (MEASURED, '[{"recall": np.float64(recall), "more": [np.nan]}]', 0, "", True),
        ('"recall", "rows"', '"recal", "rows"', 0, r"no column 'recal' in .* tree, recall\.", None),
        ('{"recall": "', '{"recal": "', 2, "toy-fig1 .* columns recal in .*, recall", True),
        ('{"Chow–Liu tree": ', '{"tree": ', 2, "toy-fig1 .* no look for the method Chow–Liu", True),
        ("LineFigure(\n", "EMPTY(\n", 2, "The figure of toy-fig1 is empty", True),
    ],
)
def test_missing_columns_are_named_and_other_files_are_written(
    old, new, code, words, held, folder, monkeypatch, capsys
):
    empty = "EMPTY = lambda *_, **__: lambda *_: go.Figure()\nEXPERIMENTS = ("
    text = FILE.replace(old, new).replace("EXPERIMENTS = (", empty)
    text = text.replace("import numpy", "import plotly.graph_objects as go\nimport numpy")
    (folder / "toy_trees.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(TUTORIAL.command) == code
    output = capsys.readouterr()
    assert re.search(words, output.err if code else output.out)
    results = folder / "reproduced" / "toy"
    found = json.loads((results / "measured.json").read_text(encoding="utf-8"))
    assert [claim["held"] for claim in found["claims"]] == [held] * 2
    assert (results / f"{NAME}.csv").exists()
    assert (results / f"{NAME}.html").exists() == (code == 0)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"toy-fig1"', '"toy/fig1"', "'toy/fig1' of an experiment has a space or a slash"),
        ("(6, 12, 30)", "(6, 12)", r"toy-fig1: sizes\['nodes'\] needs a value for each sc"),
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
def test_invalid_experiment_file_is_named_in_error(old, new, words, folder, capsys):
    (folder / "bad.py").write_text(FILE.replace(old, new), encoding="utf-8")
    assert main(["reproduce", "list"]) == 2
    message = capsys.readouterr().err
    assert re.search(words, message)
    assert "bad.py" in message
    assert message.count("\n") == 1
