"""Notebooks of the documentation: they run and have no stored outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from docs.making.__main__ import DOCS

NOTEBOOKS = {path.stem: path for path in sorted(DOCS.glob("notebooks/*.ipynb"))}
SECONDS = 120  # limit of a cell on a busy machine
# A part of the output of each notebook.
SHOWN = {
    "predict": "100% of the true edges are found",
    "choose_lambda": "EBIC",
    "stability": "home – garden: true",
    "inspect_export": "replay.html",
    "class_exercise": "6 of 8 points",
}
# Answers to the exercise, except the last.
ANSWERS = (
    "answer_1 = 18",
    "answer_2 = 20",
    "answer_3 = path.best_by_ebic.lam",
    "graph = gv.learn(table, gv.BestChoice()).model.to_networkx()\n"
    "answer_4 = max(graph, key=graph.degree)",
)


def test_notebooks_have_no_outputs():
    assert set(NOTEBOOKS) == set(SHOWN)
    for path in NOTEBOOKS.values():
        cells = nbformat.read(path, as_version=4).cells
        assert [c for c in cells if c.get("outputs") or c.get("execution_count")] == [], path.name


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    content = nbformat.read(NOTEBOOKS[name], as_version=4)
    blanks = [cell for cell in content.cells if "answer" in cell.metadata.get("tags", ())]
    for cell, text in zip(blanks, ANSWERS, strict=False):
        cell.source = text
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(content, timeout=SECONDS, resources=place).execute()
    outputs = [output for cell in content.cells for output in cell.get("outputs", ())]
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    assert SHOWN[name] in "\n".join(texts)
