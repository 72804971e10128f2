"""Unexpected errors: one sentence on the page, and one entry in the log."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import graftviz.app
from graftviz.app import boundary

UI = Path(graftviz.app.__file__).parent
EDGES = {"on_click", "on_change", "on_select", "on_dismiss"}
OF_COMPONENTS = re.compile(r"on_\w+_change")
SECRET = "the password of somebody"
REFERENCE = re.compile(r"under reference ([0-9a-f]{6})\.")


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_file(str(Path(__file__).with_name("broken_app.py")), default_timeout=60)


def texts(app: AppTest) -> list[str]:
    return [element.value for element in app.text]


def the_reference(app: AppTest, references: list[logging.LogRecord]) -> str:
    """Check that page and log have the same reference, and the page nothing more."""
    assert not app.exception
    (error,) = app.error
    shown = error.value.replace("\\", "")
    assert SECRET not in shown
    assert "Traceback" not in shown
    assert "ArithmeticError" not in shown
    reference = REFERENCE.search(shown)
    assert reference is not None, shown
    (record,) = references
    assert reference[1] in record.getMessage()
    assert SECRET in str(record.exc_info[1])
    references.clear()
    return reference[1]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("page", ["the part", "reruns pass"]),
        ("fragment", ["reruns pass", "the end"]),
    ],
)
def test_error_of_a_part_leaves_the_rest_of_the_page(
    app: AppTest, references: list[logging.LogRecord], where: str, left: list[str]
) -> None:
    app.session_state["broken"] = where
    app.run()
    assert texts(app) == left
    reference = the_reference(app, references)
    app.run()
    assert reference in app.error[0].value, "the reference of the same error changed"
    assert not references, "the same error was logged again"
    app.session_state["broken"] = ""
    app.run()
    assert texts(app) == ["the part", "reruns pass", "the end"]
    assert not app.error


def test_error_of_a_control_leaves_the_page_complete(
    app: AppTest, references: list[logging.LogRecord]
) -> None:
    app.session_state["broken"] = "callback"
    app.run()
    app.button[0].click().run()
    assert texts(app) == ["the part", "reruns pass", "the end"]
    the_reference(app, references)
    app.run()
    assert not app.error


def test_error_while_building_a_file_is_shown_by_the_next_run(
    app: AppTest, references: list[logging.LogRecord]
) -> None:
    app.run()
    with pytest.raises(ArithmeticError):
        app.session_state["build"]()
    app.run()
    the_reference(app, references)


def test_control_of_page_is_ignored_during_run_of_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[str] = []
    monkeypatch.setattr(
        boundary, "get_script_run_ctx", lambda: SimpleNamespace(fragment_ids_this_run=runs)
    )
    called: list[str] = []

    @boundary.bounded
    def part() -> None:
        controls["of a part"] = boundary.guarded(lambda: called.append("of a part"))

    controls = {"of the page": boundary.guarded(lambda: called.append("of the page"))}
    part()
    for control in controls.values():
        control()
    assert called == ["of the page", "of a part"]
    runs.append("part")
    for control in controls.values():
        control()
    assert called[2:] == ["of a part"]


def test_a_refusal_is_a_sentence_without_a_reference(app: AppTest) -> None:
    app.run()
    app.button[1].click().run()
    assert [error.value.replace("\\", "") for error in app.error] == [
        "There is <b>no</b> such thing."
    ]


def test_sentence_is_shown_for_a_while_in_its_part_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(boundary, "monotonic", lambda: clock[0])
    app = AppTest.from_file(str(Path(__file__).with_name("parts_app.py"))).run()

    def shown_texts() -> list[str]:
        texts = (element for element in app.main if element.type in ("text", "error"))
        return [element.value.replace("\\", "") for element in texts]

    app.button[0].click().run()
    assert shown_texts() == ["one", "No.", "other"]
    clock[0] += 1.0
    app.run()
    assert shown_texts() == ["one", "No.", "other"], "hidden by an early run of the part"
    clock[0] += 60.0
    app.run()
    assert shown_texts() == ["one", "other"]
    app.button[0].click().run()
    app.session_state["whole"] = True
    app.run()
    assert shown_texts() == ["No.", "page", "one", "other"], "hidden by a run of the page"
    app.run()
    assert shown_texts() == ["page", "one", "other"]


def test_rerun_exception_is_passed_on(app: AppTest) -> None:
    app.session_state["broken"] = "rerun"
    app.run()
    assert texts(app) == ["the part", "reruns pass", "the end"]
    assert not app.error


def edges() -> Iterator[tuple[str, ast.expr, str]]:
    """Yield every place where Streamlit calls our code, and the required guard."""
    for path in UI.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        named_values = {
            ast.unparse(node.targets[0]): node.value
            for node in nodes
            if isinstance(node, ast.Assign)
        }
        for node in nodes:
            place = f"{path.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.FunctionDef):
                names = [ast.unparse(decorator) for decorator in node.decorator_list]
                for k, name in enumerate(names):
                    if name.startswith(("st.fragment", "st.dialog")):
                        yield place, node.decorator_list[min(k + 1, len(names) - 1)], "bounded"
            elif isinstance(node, ast.Call):
                is_control = ast.unparse(node.func).startswith("st.")
                for keyword in node.keywords:
                    named = keyword.arg or ""
                    is_edge = named in EDGES if is_control else OF_COMPONENTS.fullmatch(named)
                    if is_edge and not isinstance(keyword.value, ast.Constant):
                        value = named_values.get(ast.unparse(keyword.value), keyword.value)
                        yield place, value, "guarded("
                if ast.unparse(node.func) == "st.download_button":
                    yield place, node.args[1], "file_builder("


def test_every_callback_of_the_app_is_guarded() -> None:
    found = list(edges())
    assert len(found) > 10
    bare = [place for place, value, guard in found if not ast.unparse(value).startswith(guard)]
    assert not bare
    assert "guarded(" in (UI / "view.py").read_text(encoding="utf-8")
    assert "page_boundary()" in (UI.parent.parent / "app.py").read_text(encoding="utf-8")
