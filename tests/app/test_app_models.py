"""Menu Model and files of the model, on every page that shows a learned model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from app_pages import QUICK, open_page
from streamlit.testing.v1 import AppTest
from waiting import wait_until

from graftviz import BestChoice, read_model
from graftviz.__main__ import main
from graftviz.learning.run import Branch
from graftviz.model.readwrite.reading import MODEL_FORMATS
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import learn_code

PAGES = [page for page in QUICK if page != "lessons"]
FORMATS = {each.file for each in MODEL_FORMATS}
# Page → files of edges, and the table or model that its code reads from the menu Download.
EDGES = {"dynamics": "parents.csv", "grow": "edges.csv", "race": "edges.csv"}
EDGES |= {"prune": "edges.csv", "inspect": "edges.csv"}


def opened(page: str, **query: str) -> AppTest:
    """Return a page with its menus open, once it has a model."""
    app = open_page(page, **{**QUICK[page], **query})
    for menu in ("model", "download"):
        app.session_state[f"{page}.{menu}"] = True
    app.run()
    wait_until(lambda: code_blocks(app) and files(app), 60, pause=app.run)
    return app


def code_blocks(app: AppTest) -> dict[str, str]:
    """Return the code in the menu by its language."""
    return {block.language: block.value for block in app.code}


def files(app: AppTest) -> set[str]:
    keys = [button.key or "" for button in app.get("download_button")]
    return {key.split(".download.")[1] for key in keys if ".download." in key}


@pytest.mark.parametrize("page", PAGES)
def test_model_is_exported_opened_in_inspect_and_given_as_code(page: str) -> None:
    app = opened(page)
    words = catalogue("labels")["header"]
    found = code_blocks(app)
    assert {words["python"], words["bash"]} <= {caption.value for caption in app.caption}
    compile(found["python"], page, "exec")
    assert found["bash"].startswith("python -m graftviz ")
    assert EDGES.get(page, "model_edges.csv") in files(app)
    for name in re.findall(r"[\w]+\.(?:json|csv|evid)", found["python"]):
        assert name in files(app)
    if page == "dynamics":  # a linear system is no Markov network
        assert {"matrix.csv", "result.json"} <= files(app)
        return
    assert files(app) >= FORMATS
    if page == "inspect":
        return
    button = app.button(key=f"{page}.model.inspect")
    assert button.label == words["inspect"]
    button.click().run()
    wait_until(lambda: app.session_state["inspect"].loaded is not None, 60, pause=app.run)
    loaded = app.session_state["inspect"].loaded
    assert loaded.model.n_edges > 0
    assert app.markdown[0].value.startswith("**Inspect** · ")


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("grow", {"data": "karate", "rows": "500", "held_out": "0.3", "seed": "2"}),
        ("reservoir", {}),
    ],
)
def test_code_and_command_reproduce_model_of_page(
    page: str, query: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(page, **query)
    app.button(key=f"{page}.model.inspect").click().run()
    wait_until(lambda: app.session_state["inspect"].loaded is not None, 60, pause=app.run)
    edges = app.session_state["inspect"].loaded.model.edges.tolist()
    app = opened(page, **query)
    monkeypatch.chdir(tmp_path)
    exec(compile(code_blocks(app)["python"], page, "exec"), {})
    assert read_model(tmp_path / "results").edges.tolist() == edges
    assert main(code_blocks(app)["bash"].split()[3:]) == 0
    assert read_model(tmp_path / "results").edges.tolist() == edges


def test_code_of_a_branch_and_of_uploads() -> None:
    branch = Branch(2, BestChoice(max_edges=4))
    space: dict[str, Any] = {}
    code = learn_code("survey", BestChoice(max_edges=9), 3, {}, branch=branch)
    exec(code.replace("result.save", "str"), space)
    assert space["result"].model.n_edges == 4
    reading = {"missing": "drop", "header": "no"}
    assert "gv.read_table('TABLE.csv', missing='drop', header=False)" in learn_code(
        "upload", BestChoice(), 0, reading
    )
    assert "gv.read_public('plants', 'PATH').table" in learn_code("plants", BestChoice(), 0, {})
    assert "gv.load_dataset('generated').table" in learn_code("generated", BestChoice(), 0, {})
