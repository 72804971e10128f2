"""Faults during a session: learners, clocks, files; other sessions are not affected."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fakes import random_pairs, random_table
from hostile_files import BAD_NAMES, csv_of
from table_cases import upload
from test_ui_grow_state import load

import graftviz
from graftviz import BestChoice, DiscreteTable, InputError, Step, learn
from graftviz.datasets import DataSet
from graftviz.formats.graphml import model_graphml
from graftviz.formats.uploads import read_uploaded_model
from graftviz.learners import registry
from graftviz.learners.base import Learner
from graftviz.material import Upload, prepare
from graftviz.serving.scheduler import Scheduler
from graftviz.serving.session_run import SessionRun
from graftviz.table import TableOptions
from graftviz.trace import Outcome
from graftviz.ui.dynamics.panels import read_series_files
from graftviz.ui.grow.state import GrowState
from graftviz.ui.upload import read_upload
from graftviz.ui.url_state import default_values

PACKAGE = Path(graftviz.__file__).parent
READING = default_values(TableOptions)


@dataclass(frozen=True)
class StumblingLearner(BestChoice):
    """Learns three steps and then falls over a bug, as long as its seed is zero."""

    name: ClassVar[str] = "stumbling"

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        made = random_pairs(max_edges=8).steps(table, seed=seed)
        for _ in range(3):
            yield next(made)
        if seed == 0:
            raise ZeroDivisionError("in somebody/learner.py")
        return (yield from made)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[GrowState]:
    monkeypatch.setitem(registry._classes(), "best-choice", StumblingLearner)
    pool = Scheduler(threads=1)
    yield GrowState(load, pool.share())
    pool.close()


def finished(state: GrowState) -> SessionRun:
    state.refresh()
    run = state.run
    run.grant()
    assert run.wait_for_end(60)
    return run


def test_a_learner_that_raises_keeps_its_steps_and_the_next_run_works(
    state: GrowState, caplog: pytest.LogCaptureFixture
) -> None:
    run = finished(state)
    assert run.computed == 3
    assert len(json.loads(run.feed_json(1, 10))["records"]) == 3
    reference = re.search(r"reference ([0-9a-f]{6})", run.failure)
    assert "somebody" not in run.failure
    assert f"reference {reference[1]}" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert len(run.result().trace.steps) == 3, "what was learned can be saved"
    state.choose("seed", 1)
    again = finished(state)
    assert again is not run
    assert not again.failure
    assert again.recorder.outcome_json is not None


def test_a_question_that_cannot_be_answered_leaves_the_run(
    state: GrowState, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    state.choose("seed", 1)
    run = finished(state)

    def broken(question: Any) -> None:
        raise IndexError("in somebody/answers.py")

    monkeypatch.setattr(run.recorder, "answer", broken)
    told = json.loads(run.answer_json({"kind": "node", "i": 0, "t": 1}))["answer"]["error"]
    assert re.search(r"reference [0-9a-f]{6}", told)
    assert "somebody" not in told
    assert "IndexError" in caplog.text
    assert run.recorder.outcome_json is not None


def test_nothing_is_timed_by_the_clock_on_the_wall() -> None:
    allowed = {
        PACKAGE / "experiments" / "reproduction" / "report.py",  # the date of a report
        PACKAGE / "_numba_cache.py",  # the age of files
    }
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if name in ("time.time", "time.time_ns", "datetime.now", "datetime.today"):
                assert path in allowed, f"{path}:{node.lineno}"
    for path in PACKAGE.rglob("*.js"):
        assert not re.search(r"Date\.now|new Date\b", path.read_text(encoding="utf-8")), path


_written: list[str] | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _written is None or event not in ("open", "os.mkdir", "os.rename", "os.link"):
        return
    writes = event != "open" or (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"))
    writes = writes or (event == "open" and arguments[1] is None and arguments[2] & 0o1103)
    if writes and isinstance(arguments[0], (str, Path)):
        _written.append(str(arguments[0]))


sys.addaudithook(_hear)


@contextmanager
def what_is_written() -> Iterator[list[str]]:
    """Give the paths of what this process writes meanwhile."""
    global _written  # noqa: PLW0603 (an audit hook cannot be taken back)
    _written = found = []
    try:
        yield found
    finally:
        _written = None


def test_an_upload_is_written_nowhere(tmp_path: Path) -> None:
    with what_is_written() as found:
        (tmp_path / "heard").write_text("")
    assert found == [str(tmp_path / "heard")], "writing is heard of"
    series = b"a,b\n" + b"".join(b"%d,%d\n" % (k % 3, k % 5) for k in range(30))
    with what_is_written() as found:
        read_upload([("table", upload("../../t.csv", csv_of(BAD_NAMES)))], READING)
        read_series_files([("series", upload("/etc/s.csv", series))], {})
        with pytest.raises(InputError):
            read_upload([("table", upload("t.csv", b"a,b\n1\n"))], READING)
    # What the process that reads prints goes to the null device; it cannot write files itself. A
    # thread of an earlier test may still record that kernels are compiled.
    kernels = os.environ["NUMBA_CACHE_DIR"]
    assert {path for path in found if not path.startswith(kernels)} <= {os.devnull}


def test_a_model_is_read_in_memory() -> None:
    model = learn(random_table(0, 4, 100), graftviz.ChowLiu(), seed=0).model
    with what_is_written() as found:
        read_uploaded_model({"../../evil.graphml": model_graphml(model)})
        with pytest.raises(InputError):
            read_uploaded_model({"../../evil.graphml": b"<graphml>"})
    assert found == []


def test_what_is_brought_belongs_to_one_session() -> None:
    table = random_table(0, 4, 100)
    kept = Upload(
        table.fingerprint, partial(prepare, DataSet("upload", "t", table, None, None, ""))
    )
    pool = Scheduler(threads=1)
    first, second = (GrowState(load, pool.share()) for _ in range(2))
    first.choose("data", "upload")
    first.accept(kept)
    first.refresh()
    second.follow({"data": "upload", "fingerprint": table.fingerprint[:16]})
    second.refresh()
    assert first.run is not None
    assert second.uploaded is None
    assert second.run is None, "a fingerprint opens no door"
    pool.close()
