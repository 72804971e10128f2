"""Files of results: each is complete or the older one, also after interruptions."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fakes import random_table

from graftviz import InputError
from graftviz.__main__ import main
from graftviz.cli import COMMANDS
from graftviz.data.synthetic.potentials import random_model
from graftviz.evaluation.benchmarks.bench import Measurement, Repetition, Size
from graftviz.model.readwrite.uai import uai_text
from graftviz.reports.files.table_csv import table_csv
from graftviz.reports.reproduction.experiment import TINY, PartCache
from graftviz.utils.files import write_results, write_whole

EVENTS = ("open", "os.rename", "os.remove", "os.rmdir")  # events of sys.addaudithook
OLD = {"edges.csv": b"old edges", "model.uai": b"old model"}
NEW = {"edges.csv": b"new edges", "model.uai": b"new model"}
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    write_results(path, OLD)
    return path


def test_other_files_of_a_folder_stay(folder: Path) -> None:
    write_results(folder, {"edges.csv": b"new edges", "trace.csv": "é"})
    expected = {"notes.txt": b"mine", **OLD, "edges.csv": b"new edges", "trace.csv": "é".encode()}
    assert files_in(folder) == expected
    assert len(list(folder.iterdir())) == len(expected)


def test_folder_is_unchanged_if_a_file_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_in(folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(InputError, match="No space left on device"):
            write_results(folder, NEW)
    (folder / "trace.csv").mkdir()
    with pytest.raises(InputError, match=r"trace\.csv is a folder"):
        write_results(folder, {**NEW, "trace.csv": ""})
    (folder / "trace.csv").rmdir()
    assert files_in(folder) == before
    assert len(list(folder.iterdir())) == len(before)


def killed_at(event: int, work: Callable[[], object]) -> bool:
    """Run `work` in a child that is killed before its `event`-th operation on files.

    Return False if the work ended before.
    """
    child = os.fork()
    if child == 0:
        left = event

        def count(name: str, _: object) -> None:
            nonlocal left
            if name in EVENTS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


@posix
def test_every_file_is_complete_after_a_kill_at_any_point(folder: Path) -> None:
    copy, states = folder.parent / "copy", set()
    for event in range(1, 100):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        if not killed_at(event, lambda: write_results(copy, NEW)):
            break
        found = files_in(copy)
        assert found.pop("notes.txt") == b"mine"
        assert all(content in (OLD[name], NEW[name]) for name, content in found.items())
        states.add(tuple(found[name] == NEW[name] for name in NEW))
        write_results(copy, NEW)
        assert files_in(copy) == {"notes.txt": b"mine", **NEW}
    assert event > 4
    assert {(False, False), (True, True)} <= states


@posix
def test_killed_part_of_experiment_is_complete_or_measured_again(tmp_path: Path) -> None:
    parts = PartCache(tmp_path)
    parts.put({"a": 1}, [{"b": 1}])
    for event in range(1, 100):
        if not killed_at(event, lambda: parts.put({"a": 1}, [{"b": 2}])):
            break
        assert parts.get({"a": 1}) in ([{"b": 1}], [{"b": 2}])
    assert event > 2
    parts.put({"a": 1}, [{"b": 3}])
    assert parts.get({"a": 1}) == [{"b": 3}]


# All commands


def series(path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["a,b,c", *(",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(60, 3)))]
    path.write_text("\n".join(lines))
    return path


def arguments(command: str, folder: Path) -> list[str]:
    table, uai = folder / "table.csv", folder / "model.uai"
    table.write_bytes(table_csv(random_table(0, 4, 100)))
    write_whole(uai, uai_text(random_model([(0, 1)], [2, 2], seed=0)))
    return {
        "learn": [str(table), "--learner", "chow-liu"],
        "infer": [str(uai)],
        "dynamics": [str(series(folder / "series.csv"))],
        "generate": ["mrf", "--nodes", "5", "--rows", "40", "--states", "2"],
        "reproduce": ["best-choice-fig4", "--scale", TINY],
        "bench": [],
    }[command]


WITHOUT_FOLDER = ("app", "convert", "local", "sample", "warm-up")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in WITHOUT_FOLDER])
def test_every_command_writes_files_that_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    quick = Measurement("quick", Size(4, 50, 2, 3), lambda *_: Repetition(1.0, 1.0, None, {}))
    monkeypatch.setattr("graftviz.cli.bench.measurements", lambda **_: (quick,))
    out = tmp_path / "out"
    assert main([command, *arguments(command, tmp_path), "--out", str(out)]) == 0
    written = files_in(out)
    assert all(written.values())
    assert not list(out.glob(".graftviz-*"))
