"""Folders of results: files of one run are read together, also after interruptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fakes import random_table
from hostile_files import deflated

from graftviz import InputError, PairwiseMRF, read_model
from graftviz.__main__ import main
from graftviz.commands import COMMANDS
from graftviz.experiments.bench import Measurement, Repetition, Size
from graftviz.experiments.reproduction.data import read_data
from graftviz.experiments.reproduction.experiment import REHEARSAL, PartCache
from graftviz.formats.files import write_whole
from graftviz.formats.graphml import model_graphml
from graftviz.formats.result_folder import MANIFEST, check_results, write_results
from graftviz.formats.table_csv import table_csv
from graftviz.formats.uai import uai_files
from graftviz.formats.uploads import read_uploaded_model

ROOT = Path(__file__).resolve().parent.parent
EVENTS = ("open", "os.rename", "os.remove")  # events of sys.addaudithook
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def model(kind: str) -> PairwiseMRF:
    """Return a model whose names and weights both identify its run."""
    weight = {"old": 1.0, "new": 2.0, "other": 3.0}[kind]
    return PairwiseMRF.from_tables(
        [np.full(2, weight), np.zeros(2)],
        {(0, 1): weight * np.eye(2)},
        names=(f"{kind} a", f"{kind} b"),
    )


def contents(kind: str) -> dict[str, str | bytes]:
    return {
        "result.json": f'{{"run": "{kind}"}}',
        "edges.csv": f"{kind}\n",
        "graph.graphml": model_graphml(model(kind)),
        **uai_files(model(kind)),
    }


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def as_bytes(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    return {
        name: content.encode() if isinstance(content, str) else content
        for name, content in files.items()
    }


def run_of(found: PairwiseMRF) -> str:
    """Return the run of a model; fail if its names and weights are of different runs."""
    kind = found.names[0].split()[0]
    assert found.edge_norms()[0] == pytest.approx(model(kind).edge_norms()[0])
    return kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    (path / ".hidden").write_text("mine too")
    write_results(path, "learn", contents("old"))
    return path


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


def read(path: Path) -> str:
    """Return the run of the model in a file or folder, or the sentence that refuses it."""
    try:
        return run_of(read_model(path))
    except InputError as error:
        return str(error)


@posix
@pytest.mark.parametrize("first", [True, False], ids=["first run", "second run"])
def test_kill_at_any_point_never_mixes_two_runs(folder: Path, first: bool) -> None:
    if first:
        for name in (*contents("old"), MANIFEST):
            (folder / name).unlink()
    copy = folder.parent / "copy"
    states = set()
    for event in range(1, 500):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        if not killed_at(event, lambda: write_results(copy, "learn", contents("new"))):
            break
        found = files_in(copy)
        assert (found["notes.txt"], found[".hidden"]) == (b"mine", b"mine too")
        answer = read(copy)
        if answer in ("old", "new"):
            expected = as_bytes(contents(answer))
            assert {name: found[name] for name in expected} == expected
        else:
            assert re.search(r"learn|needs model\.uai", answer), answer
        states.add(answer if answer in ("old", "new") else "refused")
        assert read(copy / "graph.graphml") in ("old", "new") or first
        alone = read(copy / "model.uai")  # never with the names of another run
        assert alone in ("old", "new") or re.search("learn|cannot be read", alone), alone
        write_results(copy, "learn", contents("new"))
        assert read(copy) == read(copy / "model.uai") == "new"
        assert set(files_in(copy)) == {*contents("new"), MANIFEST, "notes.txt", ".hidden"}
    else:
        pytest.fail("the work never ended")
    assert event > 20
    assert states == ({"refused"} if first else {"old", "refused"}) | (states & {"new"})


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
    assert len(files_in(tmp_path)) == 1
    assert parts.get({"a": 1}) == [{"b": 3}]


KILLED = """
import os, signal, sys
replace, left = os.replace, int(sys.argv[1])

def count(*arguments):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*arguments)

os.replace = count
from graftviz.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


@posix
def test_infer_refuses_folder_of_killed_learn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "table.csv", tmp_path / "out"
    table.write_bytes(table_csv(random_table(0, 4, 100)))
    command = ["learn", str(table), "--learner", "chow-liu", "--out", str(out)]
    assert main(command) == 0
    table.write_bytes(table_csv(random_table(1, 5, 100)))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "4", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    for source in (out, out / "model.uai"):
        capsys.readouterr()
        assert main(["infer", str(source), "--out", str(tmp_path / "inferred")]) == 2
        sentence = capsys.readouterr().err
        assert "is not from the last run of learn" in sentence
        assert sentence.count("\n") == 1
        assert main(["local", str(source), "--query", "0"]) == 2
    assert main(command) == 0
    assert main(["infer", str(out), "--out", str(tmp_path / "inferred")]) == 0
    assert not list(out.glob(".graftviz-*"))
    check_results(out)
    check_results(tmp_path / "inferred")


def test_edited_file_is_named_in_error_and_deleted_file_is_ignored(folder: Path) -> None:
    (folder / "edges.csv").write_text("edited\n")
    with pytest.raises(InputError, match=r"edges\.csv is not from the last run of learn"):
        read_model(folder)
    assert run_of(read_model(folder / "model.uai")) == "old", "a single file is not readable"
    (folder / "edges.csv").unlink()
    assert run_of(read_model(folder)) == "old"
    (folder / MANIFEST).unlink()
    (folder / "edges.csv").write_text("edited\n")
    assert run_of(read_model(folder)) == "old", "a folder without a manifest is not readable"


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b"{}", b"{", b"\xff", b"[" * 100_000, b'{"commands": []}'),
        *(b'{"commands": {"learn": 1}}', b'{"commands": {"learn": {"files": {"a": {}}}}}'),
        b'{"commands": {"learn": {"files": {"a": {"bytes": 1e999, "sha256": 0}}}}}',
        b'{"commands": {"learn": {"files": {"a": {"bytes": ' + b"9" * 5000 + b"}}}}}",
        b" " * 1_000_001 + b'{"commands": {}}',
    ],
)
def test_a_damaged_manifest_is_refused_and_replaced_by_the_next_run(
    folder: Path, content: bytes
) -> None:
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match="is damaged"):
        read_model(folder)
    write_results(folder, "learn", contents("new"))
    assert run_of(read_model(folder)) == "new"


def test_a_manifest_cannot_name_files_elsewhere(folder: Path) -> None:
    (folder.parent / "secret").write_text("secret")
    manifest = json.loads((folder / MANIFEST).read_text())
    for name in ("../secret", str(folder.parent / "secret"), "a\0b", "\ud800", "x" * 300):
        manifest["commands"]["learn"]["files"][name] = {"bytes": 1, "sha256": ""}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert run_of(read_model(folder)) == "old", "they should count as deleted"


def test_commands_share_a_folder(folder: Path) -> None:
    write_results(folder, "infer", {"marginals.MAR": "MAR"})
    assert run_of(read_model(folder)) == "old"
    (folder / "marginals.MAR").write_text("edited")
    with pytest.raises(InputError, match="from the last run of infer"):
        read_model(folder)
    write_results(folder, "generate", {**uai_files(model("new")), "marginals.MAR": "MAR"})
    assert run_of(read_model(folder)) == "new", "the file should belong to the last command"
    (folder / "edges.csv").write_text("edited")
    with pytest.raises(InputError, match="from the last run of learn"):
        read_model(folder)


def test_files_of_an_earlier_run_stay_but_no_longer_count(folder: Path) -> None:
    files = contents("new")
    del files["edges.csv"]
    write_results(folder, "learn", files)
    assert (folder / "edges.csv").read_text() == "old\n"
    (folder / "edges.csv").write_text("edited")
    assert run_of(read_model(folder)) == "new"


def test_folder_is_unchanged_if_a_file_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_in(folder)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="No space left on device"):
            write_results(folder, "learn", contents("new"))
    assert files_in(folder) == before
    (folder / "trace.csv").mkdir()
    with pytest.raises(InputError, match=r"trace\.csv is a folder"):
        write_results(folder, "learn", {**contents("new"), "trace.csv": ""})
    (folder / "trace.csv").rmdir()
    assert files_in(folder) == before


def test_concurrent_runs_leave_results_of_one_run(folder: Path) -> None:
    def write(kind: str) -> None:
        for _ in range(20):
            write_results(folder, "learn", contents(kind))
            write_whole(folder / "notes.txt", "mine")
            assert run_of(read_model(folder)) in ("new", "other")

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write, kind) for kind in ("new", "other")]:
            done.result()
    assert not list(folder.glob(".graftviz-*"))


# Uploads


def packed(folder: Path, *names: str, inside: str = "") -> dict[str, bytes]:
    found = files_in(folder)
    return {"r.zip": deflated({inside + name: found[name] for name in names or found})}


def test_uploaded_results_are_checked_by_their_manifest(folder: Path) -> None:
    chosen = ("model.uai", "model.names.json", MANIFEST)
    files = files_in(folder)
    for good in (
        files,
        {name: files[name] for name in chosen},
        packed(folder),
        packed(folder, *chosen, inside="a/b/"),
        packed(folder, "model.uai", "model.names.json"),
    ):
        assert run_of(read_uploaded_model(good).model) == "old"
    (folder / "model.uai").write_bytes(as_bytes(contents("new"))["model.uai"])
    for bad in (files_in(folder), packed(folder), packed(folder, *chosen, inside="a/b/")):
        with pytest.raises(InputError, match=r"model\.uai is not from the last run"):
            read_uploaded_model(bad)


def test_an_incomplete_upload_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["commands"]["learn"]["complete"] = False
    (folder / MANIFEST).write_text(json.dumps(manifest))
    for files in (files_in(folder), packed(folder)):
        with pytest.raises(InputError, match="incomplete: learn was interrupted"):
            read_uploaded_model(files)
    with pytest.raises(InputError, match="incomplete: learn was interrupted"):
        read_model(folder)


def test_folders_of_archive_have_separate_manifests(folder: Path) -> None:
    inferred = folder.parent / "inferred"
    inferred.mkdir()
    write_results(inferred, "infer", {"marginals.MAR": "MAR"})
    both = {f"results/{name}": data for name, data in files_in(folder).items()}
    both |= {f"inferred/{name}": data for name, data in files_in(inferred).items()}
    assert run_of(read_uploaded_model({"all.zip": deflated(both)}).model) == "old"


# All commands


def series(path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["a,b,c", *(",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(60, 3)))]
    path.write_text("\n".join(lines))
    return path


def arguments(command: str, folder: Path) -> list[str]:
    table, uai = folder / "table.csv", folder / "model.uai"
    table.write_bytes(table_csv(random_table(0, 4, 100)))
    write_whole(uai, uai_files(model("old"))["model.uai"])
    return {
        "learn": [str(table), "--learner", "chow-liu"],
        "infer": [str(uai)],
        "dynamics": [str(series(folder / "series.csv"))],
        "generate": ["mrf", "--nodes", "5", "--rows", "40", "--states", "2"],
        "arena": ["--data", f"t={table}", "--learners", "chow-liu", "--repeats", "1"],
        "reproduce": ["best-choice-fig4", "--scale", REHEARSAL],
        "bench": [],
    }[command]


WITHOUT_FOLDER = ("app", "compare", "convert", "gallery", "local", "sample", "score", "warm-up")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in WITHOUT_FOLDER])
def test_every_command_lists_its_files_in_a_complete_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    quick = Measurement("quick", Size(4, 50, 2, 3), lambda *_: Repetition(1.0, 1.0, None, {}))
    monkeypatch.setattr("graftviz.commands.bench.measurements", lambda **_: (quick,))
    out = tmp_path / "out"
    assert main([command, *arguments(command, tmp_path), "--out", str(out)]) == 0
    manifest = json.loads((out / MANIFEST).read_text())["commands"]
    written = {path.name for path in out.iterdir() if path.is_file()}
    assert set(manifest) == {command}
    assert manifest[command]["complete"] is True
    assert {*manifest[command]["files"], MANIFEST} == written
    check_results(out)
    name = min(written - {MANIFEST})
    with (out / name).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(InputError, match=f"{re.escape(name)} is not from the last run"):
        check_results(out)


def test_data_of_mixed_folder_are_refused(tmp_path: Path) -> None:
    write_results(tmp_path, "generate", {"table.csv": table_csv(random_table(0, 4, 100))})
    assert read_data(tmp_path)[0].n_variables == 4
    (tmp_path / "table.csv").write_bytes(table_csv(random_table(1, 5, 100)))
    with pytest.raises(InputError, match=r"table\.csv is not from the last run"):
        read_data(tmp_path)
