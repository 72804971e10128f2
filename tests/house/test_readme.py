"""Examples of the README and of the pages run and print the shown output."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
CODE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def command(name: str) -> str:
    found = re.search(
        rf"<!-- command: {name} -->\n```sh\n(.*?)\n```\n<!-- end -->", README, re.DOTALL
    )
    assert found, f"the README lost the marks around its {name} command"
    return found.group(1)


def test_the_readme_is_short() -> None:
    assert len(README.encode()) <= 12_000


@pytest.mark.parametrize(
    ("name", "last"), [("app", "-m streamlit run app.py"), ("test", "-m pytest -n 2")]
)
def test_install_commands_are_one_line_each(name: str, last: str) -> None:
    line = command(name)
    assert "\n" not in line
    assert line.startswith("python3 -m venv .venv && .venv/bin/python -m pip install ")
    assert line.endswith(last)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/recipes.md"])
def test_python_examples_run_in_order(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)  # the examples write files
    # Examples with scikit-learn run in test_cluster.py.
    text, _, beyond = (ROOT / page).read_text(encoding="utf-8").partition("## With scikit-learn")
    assert len(CODE.findall(beyond)) == (2 if page == "docs/python.md" else 0)
    examples = CODE.findall(text)
    assert examples
    names: dict[str, Any] = {}
    for source, shown in examples:
        exec(compile(source, f"<{page}>", "exec"), names)  # the project's own text
        printed = capsys.readouterr().out
        if shown:
            assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()
    assert names["result"].model.n_edges > 0


@pytest.mark.slow
def test_the_command_line_example_runs(tmp_path: Path) -> None:
    lines = re.findall(r"^\.venv/bin/python (-m graftviz .*)$", COMMANDS, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        done = subprocess.run(
            [sys.executable, *shlex.split(line)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    section = COMMANDS.split("`learned/` then contains")[1].split("## Marginals")[0]
    promised = re.findall(r"`(\w[\w.]*\.\w+)`", section)
    assert promised
    assert [name for name in promised if not (tmp_path / "learned" / name).exists()] == []
    inferred = sorted(path.name for path in (tmp_path / "inferred").iterdir())
    assert inferred == ["marginals.MAR", "partition.PR"]
