"""Tutorial of docs/add_a_format.md: its file adds a format that is written and offered."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tutorials import tutorial

from graftviz import PairwiseMRF, formats
from graftviz.__main__ import main
from graftviz.formats.model_formats import ModelFormat, model_formats
from graftviz.formats.result_folder import MANIFEST

TUTORIAL = tutorial("add_a_format")
OWN = {each.file for each in model_formats()}


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelFormat]:
    """Format of the tutorial, found in a second folder of the package."""
    folder = tmp_path / "formats"
    TUTORIAL.write(folder)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    model_formats.cache_clear()
    (found,) = (each for each in model_formats() if each.file not in OWN)
    yield found
    model_formats.cache_clear()
    del sys.modules[f"graftviz.formats.{TUTORIAL.module}"]


def test_built_in_formats() -> None:
    assert {
        *("graph.gexf", "graph.graphml", "graph.json"),
        *("model.names.json", "model.uai"),
    } == OWN


def test_learn_writes_format_of_tutorial(
    dot: ModelFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = TUTORIAL.command
    assert main(words) == 0
    out = Path(words[words.index("--out") + 1])
    assert dot.title in TUTORIAL.text
    text = (out / dot.file).read_text(encoding="utf-8")
    assert text.count(" -- ") == len((out / "edges.csv").read_text().splitlines()) - 1 == 10
    assert "step=1]" in text
    assert dot.file in json.loads((out / MANIFEST).read_text())["commands"]["learn"]["files"]


def test_format_of_tutorial_escapes_names_and_writes_positions(dot: ModelFormat) -> None:
    model = PairwiseMRF.from_tables(
        [np.zeros(2)] * 2, {(0, 1): np.array([[-np.inf, 0.0], [0.0, 0.0]])}, names=['a"b', "\\"]
    )
    text = dot.write(model, None, np.array([[0.0, 10_000.0], [5.0, 0.0]]))
    assert '0 [label="a\\"b", pos="0,0"];' in text
    assert '1 [label="\\\\", pos="5,10000"];' in text
    assert "0 -- 1 [weight_norm=inf];" in text
