"""Files of experiments: they are found, run and judged, and their errors are named."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from graftviz.__main__ import main
from graftviz.reports.reproduction import papers
from graftviz.reports.reproduction.data import Data
from graftviz.reports.reproduction.papers import experiments

NAME = "toy-fig1"
FILE = Path(__file__).with_name("toy_trees.py").read_text(encoding="utf-8")
COMMAND = ["reproduce", NAME, "--scale", "tiny", "--out", "reproduced/toy"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder with a file of experiments, which `declare` adds to those of the papers."""
    declare(tmp_path, FILE, monkeypatch)
    yield tmp_path
    experiments.cache_clear()


def declare(folder, text, monkeypatch, name="toy_trees"):
    """Add a file of experiments to those of the papers, in place of an earlier one."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(
        papers, "PAPERS", [*(paper for paper in papers.PAPERS if paper.__name__ != name), module]
    )
    experiments.cache_clear()


@pytest.fixture
def experiment(folder):
    """Experiment of the file."""
    return experiments()[NAME]


def test_command_measures_once_and_judges_claims(experiment, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for cached in (0, 4):
        assert main(COMMAND) == 0
        folder = Path(COMMAND[-1])
        report = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
        assert (report["parts"], report["parts_kept_from_earlier"]) == (4, cached)
        assert [claim["held"] for claim in report["claims"]] == [True, True]
    assert (folder / f"{NAME}.html").exists()
    assert (folder / f"{NAME}.csv").read_text().startswith("method,rows,tree,recall\n")
    capsys.readouterr()
    assert main(["reproduce", "list"]) == 0
    assert experiment.title in capsys.readouterr().out


def test_experiments_in_different_files_do_not_share_cached_parts(folder, monkeypatch):
    declare(folder, FILE.replace(NAME, "toy-copy"), monkeypatch, "toy_copy")
    parts = [part for name in (NAME, "toy-copy") for part in experiments()[name].sweep("small", 0)]
    assert len({json.dumps(part.key(Data())) for part in parts}) == len(parts) == 18


MEASURED = '[{"recall": recall}]'


@pytest.mark.parametrize(
    ("old", "new", "code", "words", "held"),
    [
        (MEASURED, '[{"recall": np.float64(recall), "more": [np.nan]}]', 0, "", True),
        ('["recall"].mean()', '["recal"].mean()', 0, "recal was not measured", None),
        ('{"recall": "', '{"recal": "', 2, "toy-fig1 .* columns recal in .*, recall", True),
        ('{"Chow–Liu tree": ', '{"tree": ', 2, "toy-fig1 .* no look for the method Chow–Liu", True),
        (
            "            line_figure,\n",
            "            EMPTY,\n",
            2,
            "The figure of toy-fig1 is empty",
            True,
        ),
    ],
)
def test_missing_columns_are_named_and_other_files_are_written(
    old, new, code, words, held, folder, monkeypatch, capsys
):
    empty = "EMPTY = lambda *_, **__: go.Figure()\nEXPERIMENTS = ("
    text = FILE.replace(old, new).replace("EXPERIMENTS = (", empty)
    text = text.replace("import numpy", "import plotly.graph_objects as go\nimport numpy")
    declare(folder, text, monkeypatch)
    monkeypatch.chdir(folder)
    assert main(COMMAND) == code
    output = capsys.readouterr()
    assert re.search(words, output.err if code else output.out)
    results = folder / "reproduced" / "toy"
    found = json.loads((results / "measured.json").read_text(encoding="utf-8"))
    assert [claim["held"] for claim in found["claims"]] == [held] * 2
    assert (results / f"{NAME}.csv").exists()
    assert (results / f"{NAME}.html").exists() == (code == 0)


def test_names_of_experiments_are_distinct():
    names = [item.name for paper in papers.PAPERS for item in paper.EXPERIMENTS]
    assert len(names) == len(set(names)) == len(experiments())
