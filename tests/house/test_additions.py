"""The pages docs/add_a_learner.md and docs/add_a_page.md: their code runs."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_pages import is_compiling, query_of, read, run_while, sentences
from streamlit.testing.v1 import AppTest

import graftviz.app
import graftviz.learning.grafting
from graftviz.app.session import material
from graftviz.learning.registry import LEARNERS
from graftviz.reports import texts

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:<!-- \w+: (\S+) -->\n)?```(?:python|markdown)\n(.*?)```", re.DOTALL)


def blocks_of(page: str) -> list[tuple[str, str]]:
    """Return the blocks of a page as pairs: the file that the block belongs to or "", and code."""
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder whose modules are found as those of the package."""
    for package in (graftviz.learning.grafting, graftviz.app):
        folder = tmp_path.joinpath(*package.__name__.split("."))
        folder.mkdir(parents=True)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield tmp_path
    for name in ("graftviz.learning.grafting.tournament", "graftviz.app.degrees"):
        sys.modules.pop(name, None)


def test_learner_of_the_page_learns(added: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name, source), (_, use) = blocks_of("add_a_learner.md")
    (added / name).write_text(source, encoding="utf-8")
    learner = importlib.import_module(name.removesuffix(".py").replace("/", ".")).Tournament
    monkeypatch.setitem(LEARNERS, learner.name, learner)
    exec(use, {})


def test_page_of_the_page_opens(added: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "pages", added / "pages")
    shutil.copytree(
        ROOT / "graftviz" / "reports" / "texts", added / "graftviz" / "reports" / "texts"
    )
    (added / "graftviz" / "app" / "assets").symlink_to(ROOT / "graftviz" / "app" / "assets")
    monkeypatch.setattr(texts, "_FOLDER", added / "graftviz" / "reports" / "texts" / "en")
    *files, (_, line) = blocks_of("add_a_page.md")
    for name, source in files:
        (added / name).write_text(source, encoding="utf-8")
    end = "    ]\n    page = st.navigation"
    script = (ROOT / "app.py").read_text(encoding="utf-8")
    assert end in script
    script = script.replace(end, f"        {line.strip()},\n{end}")
    (added / "app.py").write_text(script, encoding="utf-8")

    app = AppTest.from_file(str(added / "app.py"), default_timeout=120)
    app.switch_page("pages/degrees.py")
    app.query_params["edges"] = "20"
    app.query_params["data"] = "nowhere"
    run_while(app, lambda: is_compiling(app))
    assert read(app.main.markdown[0].value).startswith("**Degrees** · The number of neighbours")
    assert "nowhere" in sentences(app)
    assert app.number_input(key="degrees.edges").value == 20
    app.number_input(key="degrees.edges").set_value(12).run()
    assert query_of(app) == {"edges": "12"}
    assert not sentences(app)
    job = sys.modules["graftviz.app.degrees"].degrees_job(material("karate", 0), 12)
    assert job.wait_for_end(120)
    assert job.latest.sum() == 2 * 12
