"""Any argument of any command is used, or refused in one short sentence."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fakes import random_table

from graftviz import PairwiseMRF
from graftviz.__main__ import main
from graftviz.cli import COMMANDS, module_of
from graftviz.cli.arguments import integer, number
from graftviz.model.readwrite.uai import uai_files
from graftviz.reports.files.table_csv import table_csv

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 600  # bytes of a sentence on standard error

# Valid arguments of each command; tests replace one or add one.
BASE = {
    "app": ["--headless"],
    "sample": ["model.uai", "--rows", "3", "--out", "out.csv"],
    "convert": ["model.uai", "out.json"],
    "generate": ["mrf", "--nodes", "5", "--rows", "40", "--states", "2", "--out", "out"],
    "learn": ["table.csv", "--learner", "chow-liu", "--out", "out"],
    "infer": ["model.uai", "--out", "out"],
    "local": ["model.uai", "--query", "0"],
    "dynamics": ["series.csv", "--out", "out"],
    "reproduce": ["list", "--out", "out"],
    "warm-up": [],
    "bench": ["--only", "nothing of this name", "--out", "out"],
}
NUMBERS = {
    "digits": "9" * 5000,
    "400 digits": "9" * 400,
    "18 digits": "9" * 18,
    "negative": "-1",
    "negative digits": "-" + "9" * 400,
    "zero": "0",
    "half": "0.5",
    "nan": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "1e999": "1e999",
    "1e308": "1e308",
    "-1e308": "-1e308",
    "tiny": "1e-320",
    "empty": "",
    "text": "many",
    "NUL": "1\0",
    "surrogate": "1\ud800",
    "long text": "x" * 5000,
    "long words": "x y " * 1250,
    "control": "1\n2\x1b[31m",
    "arabic": "\u0663",
}
TEXTS = {
    "300": "x" * 300,
    "5000": "y" * 5000,
    "words": "x y " * 1250,
    "suffix": "z" * 300 + ".csv",
    "model": "z" * 5000 + ".uai",
    "deep": "a/" * 2500 + "b.csv",
    "NUL": "a\0b.csv",
    "surrogate": "a\ud800b.csv",
    "bytes": "a\udcffb.csv",
    "control": "a\n\x1b[31m\u202e.csv",
    "colon": "plants:" + "x" * 300,
    "equals": "name=" + "x" * 300,
    "empty": "",
    "null device": "/dev/null",
    "folder": "sub/",  # a subfolder of the working folder
    "blank": " ",
}


def options(command: str, numeric: bool) -> list[argparse.Action]:
    parser = argparse.ArgumentParser()
    importlib.import_module(module_of(command)).add_arguments(parser)
    return [
        action
        for action in parser._actions
        if action.option_strings and action.nargs != 0 and is_number(action) == numeric
    ]


def is_number(action: argparse.Action) -> bool:
    sizes = ("max_memory", "damping", "max_edges", "shape", "query")
    return action.type in (integer, number) or action.dest in sizes


def cases(numeric: bool) -> Iterator[tuple[str, str, str]]:
    """Yield every third value for an option, so that three options in a row cover all."""
    kinds = list(NUMBERS if numeric else TEXTS)
    for command in COMMANDS:
        for k, action in enumerate(options(command, numeric)):
            for kind in kinds[k % 3 :: 3]:
                yield command, action.option_strings[0], kind


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "sub").mkdir()
    (folder / "table.csv").write_bytes(table_csv(random_table(0, 4, 60)))
    model = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): np.eye(2)})
    (folder / "model.uai").write_text(uai_files(model)["model.uai"])
    (folder / "codes.csv").write_text("x0,x1\n0,1\n1,1\n")
    rows = np.random.default_rng(0).normal(size=(40, 3))
    lines = ["a,b,c", *(",".join(f"{x:.3f}" for x in row) for row in rows)]
    (folder / "series.csv").write_text("\n".join(lines))
    return folder


def check(code: int, error: str) -> None:
    """Check that a run succeeded or printed one short sentence."""
    assert code in (0, 2), error
    lines = error.splitlines()
    assert all(len(line) < LONGEST for line in lines), error
    assert "Traceback" not in error
    assert "Error" not in error
    assert "\x1b" not in error
    assert "\0" not in error
    if code == 2:
        assert lines
        assert lines[-1].endswith((".", "?")), error
        assert len([line for line in lines if not line.startswith("Note: ")]) == 1, error


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    check(code, capsys.readouterr().err)


@pytest.fixture(autouse=True)
def use_workshop(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workshop)
    monkeypatch.setattr("graftviz.cli.app.serve", lambda _: 0)  # would replace this process
    # These take minutes.
    monkeypatch.setattr("graftviz.cli.bench.measurements", lambda **_: ())
    for name in ("calibration", "prediction"):
        monkeypatch.setattr(f"graftviz.evaluation.benchmarks.{name}.measurements", lambda _: ())
    monkeypatch.setattr("graftviz.cli.warm_up.missing_jobs", list)


@pytest.mark.parametrize(("command", "option", "kind"), list(cases(numeric=True)))
def test_numeric_values_of_options(
    command: str, option: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run([command, *BASE[command], f"{option}={NUMBERS[kind]}"], capsys)


@pytest.mark.parametrize(("command", "option", "kind"), list(cases(numeric=False)))
def test_text_values_of_options(
    command: str, option: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run([command, *BASE[command], f"{option}={TEXTS[kind]}"], capsys)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_replaced_and_additional_arguments(
    command: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = BASE[command]
    for i, word in enumerate(words):
        if not word.startswith("-"):
            run([command, *words[:i], TEXTS[kind], *words[i + 1 :]], capsys)
    run([command, *words, TEXTS[kind]], capsys)
    run([command, *words, f"--{TEXTS[kind]}"], capsys)
    run([TEXTS[kind], *words], capsys)


def test_invalid_number_is_refused_with_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    for option, text, complaint in (
        ("--seed", "9" * 5000, "is too long for a whole number"),
        ("--seed", "1.5", "'1.5' is not a whole number"),
        ("--test-fraction", "nan", "'nan' is not a number"),
        ("--truth", "x" * 300, "is longer than the name of a file can be"),
        ("--max-memory", "9" * 400, "--max-memory needs a size such as 500M or 4G"),
        ("--max-memory", "9" * 400 + "G", "--max-memory needs a size such as 500M or 4G"),
    ):
        capsys.readouterr()
        with contextlib.suppress(SystemExit):
            assert main(["learn", *BASE["learn"], option, text]) == 2
        error = capsys.readouterr().err
        assert complaint in error
        assert option in error
        assert len(error) < 250


# Output that fails


def process(*arguments: str, output: str) -> tuple[int, str]:
    """Run a command with a redirection of the shell; return exit code and standard error."""
    quoted = " ".join(map(shlex.quote, [sys.executable, "-m", "graftviz", *arguments]))
    completed = subprocess.run(
        ["sh", "-c", f"{quoted} {output}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return completed.returncode, completed.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
@pytest.mark.parametrize(
    "arguments",
    [["--help"], *([command, *BASE[command]] for command in ("learn", "infer", "local"))],
    ids=" ".join,
)
def test_failing_output_is_reported_in_one_sentence(output: str, arguments: list[str]) -> None:
    code, error = process(*arguments, output=output)
    assert code == 1
    assert error.count("\n") == 1
    assert re.match("(The output cannot be written|Standard output is closed)", error)


def test_a_closed_pipe_ends_the_command_without_a_message() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "graftviz", "reproduce", "list"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        child.stdout.close()
        error = child.stderr.read()
    assert child.returncode == 0
    assert error == ""


@pytest.mark.parametrize("output", ["2>&-", "2>/dev/full"])
def test_unwritable_error_output_keeps_exit_code(output: str) -> None:
    assert process("local", "none.uai", "--query", "0", output=output) == (2, "")


def test_failing_disk_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error", "y" * 5000)

    monkeypatch.setattr("graftviz.cli.local.read_model_argument", fail)
    assert main(["local", *BASE["local"]]) == 2
    error = capsys.readouterr().err
    assert error.endswith("': Input/output error.\n")
    assert len(error) < 200
