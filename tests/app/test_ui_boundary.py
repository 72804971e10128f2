"""Unexpected errors: one sentence on the page, one entry in the log, and runs that remain."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from fakes import random_pairs, random_table
from hostile_files import BAD_NAMES, csv_of
from streamlit.testing.v1 import AppTest
from table_cases import upload
from test_ui_grow import load

import graftviz
import graftviz.app
from graftviz import BestChoice, DiscreteTable, InputError, Step, learn
from graftviz.app import boundary
from graftviz.app.dynamics_panels import read_series_files
from graftviz.app.grow import GrowState
from graftviz.app.jobs import Executor
from graftviz.app.material import Upload, prepare
from graftviz.app.runs import SessionRun
from graftviz.app.upload import read_upload
from graftviz.app.url import default_values
from graftviz.data.coding import TableOptions
from graftviz.data.sets.dataset import DataSet
from graftviz.learning import registry
from graftviz.learning.base import Learner
from graftviz.learning.trace import Outcome
from graftviz.model.readwrite.graphml import model_graphml
from graftviz.reports.files.uploads import read_uploaded_model

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


PACKAGE = Path(graftviz.__file__).parent
READING = default_values(TableOptions)


@dataclass(frozen=True)
class StumblingLearner(BestChoice):
    """Learner that raises an error after three steps if its seed is zero."""

    name: ClassVar[str] = "stumbling"

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        run_steps = random_pairs(max_edges=8).steps(table, seed=seed)
        for _ in range(3):
            yield next(run_steps)
        if seed == 0:
            raise ZeroDivisionError("in somebody/learner.py")
        return (yield from run_steps)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[GrowState]:
    monkeypatch.setitem(registry.LEARNERS, "best-choice", StumblingLearner)
    pool = Executor(threads=1)
    yield GrowState(load, pool.queue())
    pool.close()


def finished(state: GrowState) -> SessionRun:
    state.refresh()
    run = state.run
    run.grant()
    assert run.wait_for_end(60)
    return run


def test_failed_run_keeps_its_steps_and_next_run_works(
    state: GrowState, caplog: pytest.LogCaptureFixture
) -> None:
    run = finished(state)
    assert run.computed == 3
    assert len(json.loads(run.feed_json(1, 10))["records"]) == 3
    reference = re.search(r"reference ([0-9a-f]{6})", run.failure)
    assert "somebody" not in run.failure
    assert f"reference {reference[1]}" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert len(run.result().trace.steps) == 3, "the learned steps cannot be saved"
    state.choose("seed", 1)
    next_run = finished(state)
    assert next_run is not run
    assert not next_run.failure
    assert next_run.outcome_json is not None


def test_error_of_a_question_leaves_the_run(
    state: GrowState, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    state.choose("seed", 1)
    run = finished(state)

    def broken(question: Any) -> None:
        raise IndexError("in somebody/answers.py")

    monkeypatch.setattr(run, "answer", broken)
    error = json.loads(run.answer_json({"kind": "node", "i": 0, "t": 1}))["answer"]["error"]
    assert re.search(r"reference [0-9a-f]{6}", error)
    assert "somebody" not in error
    assert "IndexError" in caplog.text
    assert run.outcome_json is not None


def test_package_does_not_use_wall_clock_time() -> None:
    allowed = {
        PACKAGE / "reports" / "reproduction" / "report.py",  # the date of a report
    }
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if name in ("time.time", "time.time_ns", "datetime.now", "datetime.today"):
                assert path in allowed, f"{path}:{node.lineno}"
    for path in PACKAGE.rglob("*.js"):
        assert not re.search(r"Date\.now|new Date\b", path.read_text(encoding="utf-8")), path


_written: list[str] | None = None


def _record_write(event: str, arguments: tuple[Any, ...]) -> None:
    if _written is None or event not in ("open", "os.mkdir", "os.rename", "os.link"):
        return
    writes = event != "open" or (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"))
    writes = writes or (event == "open" and arguments[1] is None and arguments[2] & 0o1103)
    if writes and isinstance(arguments[0], (str, Path)):
        _written.append(str(arguments[0]))


sys.addaudithook(_record_write)


@contextmanager
def recorded_writes() -> Iterator[list[str]]:
    """Yield the list of paths that this process writes within the block."""
    global _written  # noqa: PLW0603 (an audit hook cannot be taken back)
    _written = found = []
    try:
        yield found
    finally:
        _written = None


def test_upload_is_not_written_to_disk(tmp_path: Path) -> None:
    with recorded_writes() as found:
        (tmp_path / "heard").write_text("")
    assert found == [str(tmp_path / "heard")], "writing was not recorded"
    series = b"a,b\n" + b"".join(b"%d,%d\n" % (k % 3, k % 5) for k in range(30))
    with recorded_writes() as found:
        read_upload([("table", upload("../../t.csv", csv_of(BAD_NAMES)))], READING)
        read_series_files([("series", upload("/etc/s.csv", series))], {})
        with pytest.raises(InputError):
            read_upload([("table", upload("t.csv", b"a,b\n1\n"))], READING)
    # Output of the reading process goes to the null device; it cannot write files itself. A
    # thread of an earlier test may still record that kernels are compiled.
    kernels = os.environ["NUMBA_CACHE_DIR"]
    assert {path for path in found if not path.startswith(kernels)} <= {os.devnull}


def test_a_model_is_read_in_memory() -> None:
    model = learn(random_table(0, 4, 100), graftviz.ChowLiu(), seed=0).model
    with recorded_writes() as found:
        read_uploaded_model({"../../evil.graphml": model_graphml(model)})
        with pytest.raises(InputError):
            read_uploaded_model({"../../evil.graphml": b"<graphml>"})
    assert found == []


def test_upload_is_not_available_to_another_session() -> None:
    table = random_table(0, 4, 100)
    stored = Upload(
        table.fingerprint, partial(prepare, DataSet("upload", "t", table, None, None, ""))
    )
    pool = Executor(threads=1)
    first, second = (GrowState(load, pool.queue()) for _ in range(2))
    first.choose("data", "upload")
    first.accept(stored)
    first.refresh()
    second.follow({"data": "upload", "fingerprint": table.fingerprint[:16]})
    second.refresh()
    assert first.run is not None
    assert second.uploaded is None
    assert second.run is None, "the fingerprint gave access to the upload"
    pool.close()
