"""Tutorial of docs/add_a_page.md: its files add a page that works like the others."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_pages import is_compiling, query_of, read, run_while, sentences
from streamlit.testing.v1 import AppTest
from tutorials import tutorial

import graftviz.ui
from graftviz import texts
from graftviz.ui.built_in import material

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = tutorial("add_a_page")


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """App with the page of the documentation, in a folder of its own."""
    shutil.copytree(ROOT / "pages", tmp_path / "pages")
    shutil.copytree(ROOT / "graftviz" / "texts", tmp_path / "graftviz" / "texts")
    (tmp_path / "graftviz" / "ui").mkdir()
    (tmp_path / "graftviz" / "ui" / "assets").symlink_to(ROOT / "graftviz" / "ui" / "assets")
    TUTORIAL.write(tmp_path)
    source = (ROOT / "app.py").read_text(encoding="utf-8")
    end = "    ]\n    page = st.navigation"
    assert end in source
    line = TUTORIAL.lines["app.py"].strip()
    (tmp_path / "app.py").write_text(
        source.replace(end, f"        {line},\n{end}"), encoding="utf-8"
    )
    monkeypatch.setattr(texts, "_FOLDER", tmp_path / "graftviz" / "texts")
    monkeypatch.setattr(
        graftviz.ui, "__path__", [*graftviz.ui.__path__, str(tmp_path / "graftviz" / "ui")]
    )
    app = AppTest.from_file(str(tmp_path / "app.py"), default_timeout=120)
    yield app.switch_page("pages/degrees.py")
    for name in [name for name in sys.modules if name.startswith("graftviz.ui.degrees")]:
        del sys.modules[name]


def test_tutorial_has_five_files_and_one_line() -> None:
    assert len(TUTORIAL.files) == 5
    assert len(TUTORIAL.lines) == 1
    assert TUTORIAL.lines["app.py"].count("\n") == 1


def test_page_of_tutorial_has_controls_link_help_and_download(app: AppTest) -> None:
    app.query_params["edges"] = "20"
    app.query_params["data"] = "nowhere"
    run_while(app, lambda: is_compiling(app))
    assert read(app.main.markdown[0].value).startswith("**Degrees** · The number of neighbours")
    assert "data" in sentences(app)
    assert "nowhere" in sentences(app)
    assert app.number_input(key="degrees.edges").value == 20
    app.number_input(key="degrees.edges").set_value(12).run()
    assert query_of(app) == {"edges": "12"}
    assert not sentences(app)
    job = sys.modules["graftviz.ui.degrees.jobs"].degrees_job(material("karate", 0), 12)
    assert job.wait_for_end(120)
    assert job.latest.sum() == 2 * 12
    app.session_state["degrees.download"] = True
    app.run()
    assert any("degrees.csv" in str(button.key) for button in app.get("download_button"))
    (file,) = sys.modules["graftviz.ui.degrees.panels"].degree_files("karate", job)
    rows = str(file.build()).splitlines()
    assert rows[0] == "variable,neighbours"
    assert sum(int(row.rpartition(",")[2]) for row in rows[1:]) == 2 * 12
    app.button(key="degrees.help").click().run()
    assert any("hubs" in text.value for text in app.markdown)
